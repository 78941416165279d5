package pullrequest

import (
	"context"
	"errors"

	"forge/internal/project"
	"forge/internal/work"
	"forge/orchestrator"
)

// Shown is where people see what waits for them on the code host, or why
// they do not: with Trouble, URL is where they see an earlier state, "" = nowhere.
type Shown struct {
	Number  int64             `json:"number,omitempty"`
	URL     string            `json:"url,omitempty"`
	Trouble *work.PullTrouble `json:"trouble,omitempty"`
	// News is why what people say there is not heard, or answers nothing yet; ""
	// = it is heard.
	News string `json:"news,omitempty"`
}

// ShownAt is that of a checkpoint; nil where it is answered, or not meant for
// a host.
func ShownAt(ctx context.Context, p *project.Checkout, cp work.Checkpoint) (*Shown, error) {
	if cp.Status != work.CheckpointPending {
		return nil, nil
	}
	s, _, err := p.LoadRun(ctx, cp.Run)
	if err != nil {
		return nil, err
	}
	if cp.Phase == "" {
		return resultShown(ctx, p, s, cp)
	}
	ph := s.View(cp.Phase)
	switch {
	case ph == nil || ph.Pull == nil:
	case ph.Pull.Checkpoint == cp.ID:
		return &Shown{Number: ph.Pull.Number, URL: ph.Pull.URL, News: whyUnheard(p, s.Spec.Pulls, cp.ID)}, nil
	case ph.Pull.Trouble != nil, ph.Pull.Lost != "":
		return ShownOf(ph), nil
	}
	return nil, nil
}

// resultShown is that of a question about the result of an issue.
func resultShown(ctx context.Context, p *project.Checkout, s *orchestrator.State, cp work.Checkpoint) (*Shown, error) {
	if s.Spec.Issue == nil || !s.Spec.Pulls.Remote() {
		return nil, nil
	}
	i, err := p.Journal.Issue(ctx, s.Spec.Issue.Project, s.Spec.Issue.ID)
	if errors.Is(err, work.ErrNoIssue) || err == nil && !Shows(i, s) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return &Shown{Number: i.Pull.Number, URL: i.Pull.URL, News: whyUnheard(p, s.Spec.Pulls, cp.ID)}, nil
}

// Shows says that people see a result as it is now.
func Shows(i work.Issue, s *orchestrator.State) bool {
	return i.Pull != nil && i.Run == s.Run && i.Pull.Shown == s.Head
}

// ShownOf is where people see a phase on the code host, or why they do not; nil
// where nothing of it is to be seen there.
func ShownOf(p *orchestrator.View) *Shown {
	switch {
	case p.Pull == nil || p.Stage == orchestrator.StageFinished:
		return nil
	case p.Pull.Lost != "":
		return &Shown{Number: p.Pull.Number, URL: p.Pull.URL, Trouble: &work.PullTrouble{Kind: work.HostPullClosed, What: p.Pull.Lost, Fix: "an answer here goes on with it where that was put right, else without it"}}
	case p.Pull.Trouble != nil:
		return &Shown{Number: p.Pull.Number, URL: p.Pull.URL, Trouble: p.Pull.Trouble}
	case p.Pull.Number == 0:
		return nil
	}
	return &Shown{Number: p.Pull.Number, URL: p.Pull.URL}
}
