package github

import (
	"context"
	"fmt"

	sdk "github.com/google/go-github/v88/github"
)

// EnsureHook makes sure that the repository sends its events to address, signed
// with secret, and returns the webhook's id.
func (h *Host) EnsureHook(ctx context.Context, address, secret string) (int64, error) {
	const do = "set up the webhook"
	if secret == "" {
		return 0, fmt.Errorf("%s: without a secret nobody could tell whose it is", do)
	}
	form, active := "json", true
	hook := &sdk.Hook{
		Active: &active, Config: &sdk.HookConfig{URL: &address, ContentType: &form, Secret: &secret},
		Events: []string{"pull_request", "pull_request_review", "pull_request_review_comment", "pull_request_review_thread", "issue_comment", "push", "delete"},
	}
	options := &sdk.ListOptions{PerPage: pageSize}
	for range maxPages {
		all, res, err := h.api.Repositories.ListHooks(ctx, h.cfg.Owner, h.cfg.Repo, options)
		if err != nil {
			return 0, h.trouble(do, res, err)
		}
		for _, k := range all {
			if k.GetConfig().GetURL() != address {
				continue
			}
			// What its secret is nobody tells: it is set again.
			if _, res, err := h.api.Repositories.EditHook(ctx, h.cfg.Owner, h.cfg.Repo, k.GetID(), hook); err != nil {
				return 0, h.trouble(do, res, err)
			}
			return k.GetID(), nil
		}
		if options.Page = res.NextPage; res.NextPage == 0 {
			break
		}
	}
	k, res, err := h.api.Repositories.CreateHook(ctx, h.cfg.Owner, h.cfg.Repo, hook)
	if err != nil {
		return 0, h.trouble(do, res, err)
	}
	return k.GetID(), nil
}

// TestHook asks the host to send a webhook now.
func (h *Host) TestHook(ctx context.Context, id int64) error {
	if res, err := h.api.Repositories.PingHook(ctx, h.cfg.Owner, h.cfg.Repo, id); err != nil {
		return h.trouble("test the webhook", res, err)
	}
	return nil
}
