package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"forge/internal/project"
	"forge/internal/work"
	"forge/orchestrator"
)

// pullShown is where people see what waits for them on the code host, or why
// they do not: with Trouble, URL is where they see an earlier state, "" = nowhere.
type pullShown struct {
	Number  int64             `json:"number,omitempty"`
	URL     string            `json:"url,omitempty"`
	Trouble *work.PullTrouble `json:"trouble,omitempty"`
	// News is why what people say there is not heard, or answers nothing yet; ""
	// = it is heard.
	News string `json:"news,omitempty"`
}

// pullShownOf is that of a checkpoint; nil where it is answered, or not meant for
// a host.
func pullShownOf(ctx context.Context, p *project.Checkout, cp work.Checkpoint) (*pullShown, error) {
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
	ph := s.Phases[cp.Phase]
	switch {
	case ph == nil || ph.Pull == nil:
	case ph.Pull.Checkpoint == cp.ID:
		return &pullShown{Number: ph.Pull.Number, URL: ph.Pull.URL, News: whyUnheard(p, s.Spec.Pulls, cp.ID)}, nil
	case ph.Pull.Trouble != nil, ph.Pull.Lost != "":
		return pullOf(ph), nil
	}
	return nil, nil
}

// resultShown is that of a question about the result of an issue.
func resultShown(ctx context.Context, p *project.Checkout, s *orchestrator.State, cp work.Checkpoint) (*pullShown, error) {
	if s.Spec.Issue == nil || !s.Spec.Pulls.Remote() {
		return nil, nil
	}
	i, err := p.Journal.Issue(ctx, s.Spec.Issue.Project, s.Spec.Issue.ID)
	if errors.Is(err, work.ErrNoIssue) || err == nil && !shows(i, s) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return &pullShown{Number: i.Pull.Number, URL: i.Pull.URL, News: whyUnheard(p, s.Spec.Pulls, cp.ID)}, nil
}

// shows says that people see a result as it is now.
func shows(i work.Issue, s *orchestrator.State) bool {
	return i.Pull != nil && i.Run == s.Run && i.Pull.Shown == s.Head
}

// line is what forge show says of it, "" = nothing.
func (s *pullShown) line() string {
	switch {
	case s == nil:
		return ""
	case s.Trouble == nil:
		return s.URL
	}
	text := "people do not see this on " + cmp.Or(s.URL, "the host") + ": " + s.Trouble.What
	if s.Trouble.Fix != "" {
		text += fmt.Sprintf("; %s, then forge resume", s.Trouble.Fix)
	}
	return text
}
