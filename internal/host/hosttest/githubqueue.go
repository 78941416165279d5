package hosttest

import (
	"fmt"
	"net/http"
	"slices"
)

// QueueMerges lets nothing be merged but by the merge queue.
func (g *GitHub) QueueMerges() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.queues = true
}

// Queued are the pull requests in the merge queue.
func (g *GitHub) Queued() []int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.queue)
}

// RunQueue merges what is in the merge queue and meets the rules; what was pushed to
// since is dropped.
func (g *GitHub) RunQueue() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, n := range g.queue {
		if p := g.pulls[n-1]; p.state == "open" && g.queuedAt[n] == p.headSHA && g.blocked(p) == "" && g.squash(p, p.title) {
			g.touch(p)
		}
	}
	g.queue = nil
}

// enqueue takes a pull request, named by its node, into the merge queue.
func (g *GitHub) enqueue(w http.ResponseWriter, node, head string) {
	refuses := func(message string) {
		say(w, http.StatusOK, map[string]any{"data": map[string]any{"enqueuePullRequest": nil}, "errors": []any{map[string]any{"message": message}}})
	}
	n := 0
	if _, err := fmt.Sscanf(node, "PR_%d", &n); err != nil || n < 1 || n > len(g.pulls) {
		refuses("Could not resolve to a node with the global id of '" + node + "'.")
		return
	}
	p := g.pulls[n-1]
	switch {
	case slices.Contains(g.queue, n):
		refuses("Pull request is already in the queue")
		return
	case p.state != "open" || head != p.headSHA:
		refuses("The head of the pull request is not at the expected commit")
		return
	case g.blocked(p) != "":
		refuses(g.blocked(p))
		return
	}
	if g.queuedAt == nil {
		g.queuedAt = map[int]string{}
	}
	g.queue, g.queuedAt[n] = append(g.queue, n), head
	say(w, http.StatusOK, map[string]any{"data": map[string]any{"enqueuePullRequest": map[string]any{"mergeQueueEntry": g.entry(n)}}})
}

func (g *GitHub) entry(n int) any {
	at := slices.Index(g.queue, n)
	if at < 0 {
		return nil
	}
	return map[string]any{"position": at + 1, "state": "AWAITING_CHECKS"}
}

func (g *GitHub) sayQueue(w http.ResponseWriter, p *ghPull) {
	say(w, http.StatusOK, map[string]any{"data": map[string]any{"repository": map[string]any{"pullRequest": map[string]any{
		"id": fmt.Sprintf("PR_%d", p.number), "isMergeQueueEnabled": g.queues, "isInMergeQueue": slices.Contains(g.queue, p.number), "mergeQueueEntry": g.entry(p.number),
	}}}})
}
