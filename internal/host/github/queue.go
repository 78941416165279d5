package github

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"forge/internal/work"
)

// queuePlace is how a pull request stands with the merge queue of its base.
type queuePlace struct {
	ID                  string
	IsMergeQueueEnabled bool // nothing is merged there but by the queue
	IsInMergeQueue      bool
	MergeQueueEntry     *struct {
		Position int
		State    string
	}
}

const queueQuery = `query($owner:String!,$repo:String!,$number:Int!){repository(owner:$owner,name:$repo){pullRequest(number:$number){
id isMergeQueueEnabled isInMergeQueue mergeQueueEntry{position state}}}}`

const enqueueQuery = `mutation($pull:ID!,$head:GitObjectID!){enqueuePullRequest(input:{pullRequestId:$pull,expectedHeadOid:$head}){mergeQueueEntry{position state}}}`

// queue reads how a pull request stands with the merge queue. Only the other API of
// GitHub tells.
func (h *Host) queue(ctx context.Context, do string, number int64) (queuePlace, *work.HostTrouble) {
	var said struct {
		Repository struct{ PullRequest *queuePlace }
	}
	t := h.askGraph(ctx, do, h.asks, queueQuery, map[string]any{"owner": h.cfg.Owner, "repo": h.cfg.Repo, "number": number}, &said)
	if t != nil {
		return queuePlace{}, t
	}
	if said.Repository.PullRequest == nil {
		return queuePlace{}, &work.HostTrouble{Kind: work.HostRefused, Do: do, What: "the host does not say how it stands with the merge queue"}
	}
	return *said.Repository.PullRequest, nil
}

// askGraph asks the other API, which says with status 200 what it refuses.
func (h *Host) askGraph(ctx context.Context, do string, as account, query string, variables map[string]any, into any) *work.HostTrouble {
	a, err := h.client.Ask(ctx, http.MethodPost, h.graph, as.headers(), map[string]any{"query": query, "variables": variables})
	if err != nil || a.Status != http.StatusOK {
		return h.client.Trouble(do, a.Status, a.Header, a.Message(), err)
	}
	var said struct {
		Errors []struct{ Message string }
		Data   json.RawMessage
	}
	if err := json.Unmarshal(a.Body, &said); err != nil {
		return &work.HostTrouble{Kind: work.HostWrong, Do: do, What: "the answer is no JSON"}
	}
	if len(said.Errors) > 0 {
		return &work.HostTrouble{Kind: work.HostRefused, Do: do, What: said.Errors[0].Message}
	}
	if err := json.Unmarshal(said.Data, into); err != nil {
		return &work.HostTrouble{Kind: work.HostWrong, Do: do, What: "the answer is another than was asked for"}
	}
	return nil
}

// refersToQueue says that a merge was refused since the base has a merge queue.
func refersToQueue(t *work.HostTrouble) bool {
	return t.Status == http.StatusMethodNotAllowed && strings.Contains(strings.ToLower(t.What), "merge queue")
}

// enqueue leaves a merge to the host's own queue, with the head that was proven: the
// queue drops it when somebody pushes. That it waits there passes by itself.
func (h *Host) enqueue(ctx context.Context, do string, m work.PullMerge) *work.HostTrouble {
	at, t := h.queue(ctx, do, m.Number)
	if t != nil {
		return t
	}
	if !at.IsInMergeQueue {
		var said struct{}
		if t := h.askGraph(ctx, do, h.merges, enqueueQuery, map[string]any{"pull": at.ID, "head": m.Head}, &said); t != nil {
			if t.Kind == work.HostRefused {
				t.Kind, t.Fix = work.HostProtected, "the merge queue of "+m.Base+" does not take it yet; it is tried again"
			}
			return t
		}
	}
	waits := "it waits in the merge queue of " + m.Base
	if e := at.MergeQueueEntry; e != nil {
		waits += fmt.Sprintf(", place %d: %s", e.Position, strings.ToLower(e.State))
	}
	return &work.HostTrouble{Kind: work.HostNotYet, Do: do, What: waits}
}
