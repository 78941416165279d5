package gitlab

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"forge/internal/gitlabapi"
	"forge/internal/work"
)

// cursor is what Changed was told the last time: when the newest change was, and which
// merge requests were changed then.
type cursor struct {
	At   time.Time `json:"at"`
	Seen []int64   `json:"seen,omitempty"`
	// Votes are who approved and who asked for changes, by the number of an open
	// merge request of Forge's: nobody says whether a vote changes its time.
	Votes map[int64]string `json:"votes,omitempty"`
}

// mostVotes is of how many open merge requests votes are asked for, the newest.
const mostVotes = 20

// votes are those of the open merge requests of Forge's.
func (h *Host) votes(ctx context.Context) (map[int64]string, error) {
	own, err := h.ours(ctx)
	if err != nil {
		return nil, err
	}
	all, err := gitlabapi.List[mergeRequest](ctx, h.api, "list merge requests", "/merge_requests", url.Values{"state": {"opened"}, "scope": {"all"}, "order_by": {"created_at"}, "sort": {"desc"}})
	if err != nil {
		return nil, err
	}
	out := map[int64]string{}
	for _, m := range all {
		if m.State != "opened" || !own[strings.ToLower(m.Author.Login())] || len(out) == mostVotes {
			continue
		}
		approved, requested, err := h.standing(ctx, m.Number, &said{people: map[string]gitlabapi.User{}})
		if err != nil {
			return nil, err
		}
		out[m.Number] = fmt.Sprint(slices.Sorted(maps.Keys(approved)), slices.Sorted(maps.Keys(requested)))
	}
	return out, nil
}

// Changed are the merge requests that were touched since the cursor ("" begins now, and
// names none).
func (h *Host) Changed(ctx context.Context, last string) (work.PullHints, error) {
	const do = "list merge requests"
	var since cursor
	if last != "" {
		if err := json.Unmarshal([]byte(last), &since); err != nil || since.At.IsZero() {
			return work.PullHints{}, fmt.Errorf("%s: the cursor %q is not one", do, last)
		}
	}
	query := url.Values{"state": {"all"}, "scope": {"all"}, "order_by": {"updated_at"}, "sort": {"desc"}}
	votes, err := h.votes(ctx)
	if err != nil {
		return work.PullHints{}, err
	}
	if last == "" {
		query.Set("per_page", "1")
		var newest []mergeRequest
		a, err := h.api.Ask(ctx, do, http.MethodGet, "/merge_requests?"+query.Encode(), nil, &newest)
		if err != nil {
			return work.PullHints{}, err
		}
		// By the server's clock, whatever it is; of the project's own where it tells none.
		if at, err := http.ParseTime(a.Header.Get("Date")); err == nil {
			since.At = at.UTC()
		} else {
			return work.PullHints{}, &work.HostTrouble{Kind: work.HostWrong, Do: do, What: "the host does not say what time it is"}
		}
		for _, m := range newest {
			if !m.Updated.Before(since.At) {
				since.At = m.Updated.UTC()
				since.Seen = append(since.Seen, m.Number)
			}
		}
		since.Votes = votes
		return hints(nil, since)
	}
	query.Set("updated_after", since.At.Format(time.RFC3339Nano))
	all, err := gitlabapi.List[mergeRequest](ctx, h.api, do, "/merge_requests", query)
	if err != nil {
		return work.PullHints{}, err
	}
	next := since
	var numbers []int64
	for _, m := range all {
		switch at := m.Updated.UTC(); {
		case at.Before(since.At) || at.Equal(since.At) && slices.Contains(since.Seen, m.Number):
			continue
		case at.After(next.At):
			next = cursor{At: at, Seen: []int64{m.Number}}
		case at.Equal(next.At):
			next.Seen = append(slices.Clone(next.Seen), m.Number)
		}
		numbers = append(numbers, m.Number)
	}
	next.Votes = votes
	for n, now := range votes {
		if was, known := since.Votes[n]; known && was != now {
			numbers = append(numbers, n)
		}
	}
	return hints(numbers, next)
}

func hints(numbers []int64, next cursor) (work.PullHints, error) {
	slices.Sort(numbers)
	slices.Sort(next.Seen)
	data, err := json.Marshal(next)
	return work.PullHints{Numbers: slices.Compact(numbers), Cursor: string(data)}, err
}

// EnsureHook makes sure that the project sends its events to address, with secret, and
// returns the webhook's id.
func (h *Host) EnsureHook(ctx context.Context, address, secret string) (int64, error) {
	const do = "set up the webhook"
	if secret == "" {
		return 0, fmt.Errorf("%s: without a secret nobody could tell whose it is", do)
	}
	type hook struct {
		ID  int64  `json:"id"`
		URL string `json:"url"`
	}
	body := map[string]any{
		"url": address, "token": secret, "push_events": true, "merge_requests_events": true, "note_events": true, "pipeline_events": true, "enable_ssl_verification": true,
	}
	all, err := gitlabapi.List[hook](ctx, h.api, do, "/hooks", nil)
	if err != nil {
		return 0, err
	}
	for _, k := range all {
		if k.URL == address { // what its secret is nobody tells: it is set again
			return k.ID, h.ask(ctx, h.api, do, http.MethodPut, fmt.Sprintf("/hooks/%d", k.ID), body, nil)
		}
	}
	var made hook
	err = h.ask(ctx, h.api, do, http.MethodPost, "/hooks", body, &made)
	return made.ID, err
}

// TestHook asks the host to send a webhook now.
func (h *Host) TestHook(ctx context.Context, id int64) error {
	return h.ask(ctx, h.api, "test the webhook", http.MethodPost, fmt.Sprintf("/hooks/%d/test/push_events", id), nil, nil)
}
