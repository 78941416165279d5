package github

import (
	"context"
	"fmt"
	"net/http"
	"slices"
)

// EnsureHook makes sure that the repository sends its events to address, signed
// with secret, and returns the webhook's id.
func (h *Host) EnsureHook(ctx context.Context, address, secret string) (int64, error) {
	const do = "set up the webhook"
	if secret == "" {
		return 0, fmt.Errorf("%s: without a secret nobody could tell whose it is", do)
	}
	wanted := map[string]any{
		"name": "web", "active": true, "config": map[string]any{"url": address, "content_type": "json", "secret": secret},
		"events": []string{"pull_request", "pull_request_review", "pull_request_review_comment", "pull_request_review_thread", "issue_comment", "push", "delete"},
	}
	var is hook
	t := eachPage(ctx, h, request{do: do, path: "/hooks"}, func(page []hook) bool {
		i := slices.IndexFunc(page, func(k hook) bool { return k.Config.URL == address })
		if i >= 0 {
			is = page[i]
		}
		return i >= 0
	})
	if t != nil {
		return 0, t
	}
	r := request{do: do, method: http.MethodPost, path: "/hooks", body: wanted}
	if is.ID != 0 { // what its secret is nobody tells: it is set again
		r.method, r.path = http.MethodPatch, fmt.Sprintf("/hooks/%d", is.ID)
	}
	if _, t := h.ask(ctx, r, &is); t != nil {
		return 0, t
	}
	return is.ID, nil
}

// TestHook asks the host to send a webhook now.
func (h *Host) TestHook(ctx context.Context, id int64) error {
	if _, t := h.ask(ctx, request{do: "test the webhook", method: http.MethodPost, path: fmt.Sprintf("/hooks/%d/pings", id)}, nil); t != nil {
		return t
	}
	return nil
}
