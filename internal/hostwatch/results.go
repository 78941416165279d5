package hostwatch

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"forge/factory"
	"forge/internal/journal"
	"forge/internal/pullrequest"
	"forge/internal/work"
	"forge/orchestrator"
)

// Results are the results of one project's issues that wait on the code host.
type Results struct {
	Project string
	// Stands is told how the pull request of a result stands, each time it was
	// looked at.
	Stands func(q Question, look work.PullLook)
}

// resultsList are the projects whose results a watch reads. More of them may come
// while it does.
type resultsList struct {
	sync.Mutex
	list []Results
}

// AddResults watches the results of one more project.
func (w *Watch) AddResults(r Results) {
	w.results.Lock()
	defer w.results.Unlock()
	w.results.list = append(w.results.list, r)
}

// allResults are those of every project.
func (w *Watch) allResults() []Results {
	w.results.Lock()
	defer w.results.Unlock()
	return slices.Clone(w.results.list)
}

// ofResult is an open question about the result of an issue, when its pull
// request shows what is asked about.
func (w *Watch) ofResult(ctx context.Context, s *orchestrator.State, cp work.Checkpoint) ([]Question, error) {
	brief := s.Spec.Issue
	if brief == nil || cp.Kind == orchestrator.PointBaseline {
		return nil, nil
	}
	i, err := w.p.Journal.Issue(ctx, brief.Project, brief.ID)
	if err != nil || !pullrequest.Shows(i, s) {
		return nil, err
	}
	pull := orchestrator.Pull{Branch: s.Spec.Branch, Number: i.Pull.Number, URL: i.Pull.URL, Checkpoint: cp.ID, Heard: s.Final.Heard}
	return []Question{{Checkpoint: cp, Pull: pull, Issue: &i, Fixes: s.Spec.Pulls.Fixes}}, nil
}

// overResults are the results that are decided to be done and wait on the host;
// asked are the runs that ask something.
func (w *Watch) overResults(ctx context.Context, asked map[string]bool) ([]Question, error) {
	var out []Question
	for _, r := range w.allResults() {
		for after := ""; ; {
			page, err := w.p.Journal.Issues(ctx, work.IssueFilter{Project: r.Project, Column: work.ColumnInReview}, journal.MaxIssuePage, after)
			if err != nil {
				return nil, err
			}
			for _, i := range page {
				after = i.Rank
				if i.Pull == nil || i.Pull.Host != w.At.String() || asked[i.Run] || i.State != "" && i.State != work.IssueWaits {
					continue
				}
				id := fmt.Sprintf("issue %d of %s", i.ID, i.Project)
				out = append(out, Question{Checkpoint: work.Checkpoint{ID: id, Run: i.Run}, Pull: orchestrator.Pull{Branch: i.Branch, Number: i.Pull.Number, URL: i.Pull.URL}, Issue: &i, Over: true, Fixes: w.Fixes})
			}
			if len(page) < journal.MaxIssuePage {
				break
			}
		}
	}
	return out, nil
}

// standsOpen says that a pull request is to be looked at without news: what the
// host computes, checks and other people's merges into the target end so.
func standsOpen(q Question, look work.PullLook) bool {
	held := func(why string) bool { return slices.Contains(q.Issue.Hold, why) }
	return look.State == work.PullOpen && (look.Mergeable != work.Mergeable || held(factory.HoldLandingRed) || held(factory.HoldPullChecks) || held(factory.HoldLandingConflict))
}

// tell has an issue looked at again whose pull request stands differently.
func (w *Watch) tell(q Question, look work.PullLook) {
	for _, r := range w.allResults() {
		if r.Project == q.Issue.Project {
			r.Stands(q, look)
		}
	}
}
