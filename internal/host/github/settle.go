package github

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"

	"forge/internal/host"
	"forge/internal/text"
	"forge/internal/work"
)

const resolveQuery = `mutation($thread:ID!){resolveReviewThread(input:{threadId:$thread}){thread{isResolved}}}`

// Settle says in a thread why it is over, and resolves it, which only the other API
// of GitHub can.
func (h *Host) Settle(ctx context.Context, number int64, t work.PullThread, key string, why text.Markdown) error {
	if err := h.Reply(ctx, number, t, key, why); err != nil || t.Resolved {
		return err
	}
	all, err := h.graphThreads(ctx, number)
	if err != nil {
		return err
	}
	root, err := strconv.ParseInt(t.ID, 10, 64)
	if err != nil {
		return fmt.Errorf("resolve the thread %q: %w", t.ID, err)
	}
	at, there := all[root]
	if !there || at.resolved || at.id == "" {
		return nil
	}
	do := fmt.Sprintf("resolve a thread of pull request %d", number)
	a, err := h.client.Ask(ctx, http.MethodPost, h.graph, h.asks.headers(), map[string]any{"query": resolveQuery, "variables": map[string]any{"thread": at.id}})
	if err != nil || a.Status != http.StatusOK {
		return h.client.Trouble(do, a.Status, a.Header, a.Message(), err)
	}
	var said struct {
		Errors []struct{ Message string }
		Data   struct {
			Resolve struct{ Thread struct{ IsResolved bool } } `json:"resolveReviewThread"`
		}
	}
	if json.Unmarshal(a.Body, &said) != nil || !said.Data.Resolve.Thread.IsResolved {
		t := &work.HostTrouble{Kind: work.HostRefused, Do: do, What: "the host does not resolve it"}
		for _, e := range said.Errors {
			t.What += "; " + e.Message
		}
		return t
	}
	return nil
}

// Issue reads an issue.
func (h *Host) Issue(ctx context.Context, number int64) (work.HostIssue, error) {
	var i struct {
		Title string `json:"title"`
		Body  string `json:"body"`
	}
	if _, t := h.ask(ctx, request{do: fmt.Sprintf("read issue %d", number), path: issuePath(number)}, &i); t != nil {
		return work.HostIssue{}, t
	}
	out := work.HostIssue{Number: number, Title: i.Title}
	out.Body, _ = host.Clip(i.Body)
	return out, nil
}
