package cli

import (
	"context"
	"fmt"

	"forge/internal/work"
)

// pullShown is where people see what waits for them on the code host, or why
// they do not. At most one of URL and Trouble is set.
type pullShown struct {
	Number  int64             `json:"number,omitempty"`
	URL     string            `json:"url,omitempty"`
	Trouble *work.PullTrouble `json:"trouble,omitempty"`
}

// pullShown is that of a checkpoint; nil where it is answered, or not meant for
// a host.
func (p *project) pullShown(ctx context.Context, cp work.Checkpoint) (*pullShown, error) {
	if cp.Status != work.CheckpointPending || cp.Phase == "" {
		return nil, nil
	}
	s, _, err := p.load(ctx, cp.Run)
	if err != nil {
		return nil, err
	}
	ph := s.Phases[cp.Phase]
	switch {
	case ph == nil || ph.Pull == nil:
	case ph.Pull.Checkpoint == cp.ID:
		return &pullShown{Number: ph.Pull.Number, URL: ph.Pull.URL}, nil
	case ph.Pull.Trouble != nil:
		return &pullShown{Number: ph.Pull.Number, Trouble: ph.Pull.Trouble}, nil
	}
	return nil, nil
}

// line is what forge show says of it, "" = nothing.
func (s *pullShown) line() string {
	switch {
	case s == nil:
		return ""
	case s.Trouble == nil:
		return s.URL
	}
	text := "people do not see this on the host: " + s.Trouble.What
	if s.Trouble.Fix != "" {
		text += fmt.Sprintf("; %s, then forge resume", s.Trouble.Fix)
	}
	return text
}
