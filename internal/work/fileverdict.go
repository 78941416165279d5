package work

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// MaxFileVerdicts bounds the files that are judged one by one at a checkpoint.
const MaxFileVerdicts = 200

// FileVerdict is what a person says of one file of a change. It answers
// nothing: it is kept with the checkpoint until that is answered as a whole.
type FileVerdict struct {
	Path string `json:"path"`
	// Status: approved; changes_requested, with a comment; or rejected, which
	// asks for the file as it was before.
	Status  CheckpointStatus `json:"status"`
	Comment string           `json:"comment,omitempty"`
	By      string           `json:"by"`
	At      time.Time        `json:"at"`
}

// JudgeFiles is c with further verdicts; a later one on the same file takes the
// place of an earlier one. It refuses as an answer is refused: a checkpoint
// that is answered (ErrAlreadyResolved) or expired (ErrExpired), another
// revision (ErrConflict; 0 is whatever is current), changes requested without a
// word (ErrEmptyFeedback).
func (c Checkpoint) JudgeFiles(revision int, verdicts []FileVerdict, now time.Time) (Checkpoint, error) {
	if err := c.open(revision, now); err != nil {
		return c, err
	}
	c.Verdicts = slices.Clone(c.Verdicts)
	for _, v := range verdicts {
		switch v.Status {
		case CheckpointApproved, CheckpointRejected:
		case CheckpointChangesRequested:
			if strings.TrimSpace(v.Comment) == "" {
				return c, ErrEmptyFeedback
			}
		default:
			return c, fmt.Errorf("judge %s: %q is no verdict", v.Path, v.Status)
		}
		v.At = v.At.UTC()
		at := slices.IndexFunc(c.Verdicts, func(old FileVerdict) bool { return old.Path == v.Path })
		if at < 0 {
			c.Verdicts = append(c.Verdicts, v)
			continue
		}
		c.Verdicts[at] = v
	}
	if len(c.Verdicts) > MaxFileVerdicts {
		return c, fmt.Errorf("%w: at most %d files are judged one by one", ErrConflict, MaxFileVerdicts)
	}
	return c, nil
}

// SentBack are the files that were judged and not approved, and those that a
// person edited, which nobody has proven yet. While there are any, c as a whole is not approved.
func (c Checkpoint) SentBack() []string {
	var out []string
	for _, v := range c.Verdicts {
		if v.Status != CheckpointApproved {
			out = append(out, v.Path)
		}
	}
	for _, e := range c.Edits {
		out = append(out, e.Path)
	}
	return out
}

// Feedback is what the agent is told where changes are requested: the comment
// on the whole, those on lines, then each judged file by name.
func (c Checkpoint) Feedback(comment string) string {
	parts := []string{}
	if comment = strings.TrimSpace(comment); comment != "" {
		parts = append(parts, comment)
	}
	parts = append(parts, c.lineFeedback()...)
	var fine []string
	for _, v := range c.Verdicts {
		said := strings.TrimSpace(v.Comment)
		switch v.Status {
		case CheckpointApproved:
			fine = append(fine, v.Path)
		case CheckpointRejected:
			parts = append(parts, strings.TrimSuffix(v.Path+": leave it as it was before. "+said, " "))
		default:
			parts = append(parts, v.Path+": "+said)
		}
	}
	for _, e := range c.Edits {
		if e.Delete {
			parts = append(parts, e.Path+": "+e.By+" deleted this file. Leave it deleted.")
			continue
		}
		parts = append(parts, e.Path+": "+e.By+" "+e.Did()+" this file; it is in your folder as it is to be. Keep it so.")
	}
	if len(parts) > 0 && len(fine) > 0 {
		parts = append(parts, "Fine as they are: "+strings.Join(fine, ", "))
	}
	return strings.Join(parts, "\n")
}
