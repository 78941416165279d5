package gitlab

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"forge/internal/gitlabapi"
	"forge/internal/text"
	"forge/internal/work"
)

// A project with merge trains merges what its train has proven, in the order of the
// train. A merge beside it would throw away what the train has proven by then.

// car is how a merge request stands in the merge train of its target.
type car struct {
	Status string `json:"status"` // idle, fresh, stale, merging, merged, skip_merged
}

// ride leaves a merge to the project's merge train, with the head that was proven: a
// push takes it out. That it waits there passes by itself; what the train took out is
// not put in again before somebody pushes, since the same would come of it.
func (h *Host) ride(ctx context.Context, do string, m work.PullMerge) *work.HostTrouble {
	at := fmt.Sprintf("/merge_trains/merge_requests/%d", m.Number)
	var now car
	a, err := h.merging.Ask(ctx, "ask how "+do[len("merge "):]+" stands in the merge train", http.MethodGet, at, nil, &now)
	switch {
	case a.Status == http.StatusNotFound:
		out, err := h.takenOut(ctx, m)
		if err != nil {
			return asTrouble(do, err)
		}
		if out != "" {
			return &work.HostTrouble{Kind: work.HostProtected, Do: do, What: "GitLab " + out, Fix: "push what mends it, or put it into the train again"}
		}
		var cars []car
		if err := h.ask(ctx, h.merging, do, http.MethodPost, at, map[string]any{"sha": m.Head, "squash": true}, &cars); err != nil {
			t := asTrouble(do, err)
			switch t.Status {
			case http.StatusConflict:
				t.Kind, t.What, t.Fix = work.HostHeadMoved, "the branch has moved since the review", ""
			case http.StatusBadRequest, http.StatusForbidden, http.StatusMethodNotAllowed, http.StatusUnprocessableEntity:
				t.Kind, t.Fix = work.HostProtected, "the merge train of "+m.Base+" does not take it yet; it is tried again"
			}
			return t
		}
		now.Status = "put in"
	case err != nil:
		return asTrouble(do, err)
	}
	return &work.HostTrouble{Kind: work.HostNotYet, Do: do, What: "it waits in the merge train of " + m.Base + ": " + text.OneLine(now.Status, 40)}
}

// takenOut is what GitLab says of why the merge request left the train since its branch
// moved last; "" = it did not.
func (h *Host) takenOut(ctx context.Context, m work.PullMerge) (string, error) {
	const left = "removed this merge request from the merge train"
	notes, err := gitlabapi.List[note](ctx, h.api, fmt.Sprintf("read what became of merge request %d", m.Number), path(m.Number)+"/notes", url.Values{"sort": {"asc"}, "order_by": {"created_at"}})
	if err != nil {
		return "", err
	}
	states, err := gitlabapi.List[version](ctx, h.api, fmt.Sprintf("read the states of merge request %d", m.Number), path(m.Number)+"/versions", nil)
	if err != nil {
		return "", err
	}
	for _, n := range slices.Backward(notes) {
		if !n.System || !strings.HasPrefix(n.Body, left) {
			continue
		}
		if slices.ContainsFunc(states, func(v version) bool { return v.Head == m.Head && v.At.After(n.At) }) {
			return "", nil // of an earlier state
		}
		return text.OneLine(n.Body, 300), nil
	}
	return "", nil
}

// asTrouble is an error of a request, which is one of the host's.
func asTrouble(do string, err error) *work.HostTrouble {
	var t *work.HostTrouble
	if errors.As(err, &t) {
		return t
	}
	return &work.HostTrouble{Kind: work.HostWrong, Do: do, What: err.Error()}
}
