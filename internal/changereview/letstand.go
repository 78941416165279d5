package changereview

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"forge/internal/ignored"
	"forge/internal/project"
	"forge/internal/refusal"
	"forge/internal/text"
	"forge/internal/work"
	"forge/review"
)

// Ignored is a finding that people let stand.
type Ignored struct {
	ignored.Entry
	Issue string `json:"issue,omitempty"` // what was found now
}

// readIgnored reads which findings are let stand, from the head of the base: what a
// change says of its own findings counts for nothing.
func (r *ongoing) readIgnored(ctx context.Context) error {
	files, err := r.repo.Files(ctx, r.base.Tip)
	if err != nil || !slices.Contains(files, ignored.File) {
		return err
	}
	body, err := r.repo.Show(ctx, r.base.Tip, ignored.File)
	if err != nil {
		return err
	}
	all, problems := ignored.Parse(string(body))
	if len(problems) > 0 {
		p := problems[0]
		return refusal.New(p.Fix, "%s:%d in the base, %s at %s: %s", ignored.File, p.Line, r.base.Ref, text.Short(r.base.Tip), p.What)
	}
	r.entries = all
	return nil
}

// letStand says that a finding is let stand now, and notes that it was looked for.
func (r *ongoing) letStand(t review.Trace) bool {
	e, expired, found := ignored.Of(r.entries, t, r.Now())
	if found {
		r.noteIgnored(e, expired, "")
	}
	return found && !expired
}

// noteIgnored notes an entry that a finding was held against.
func (r *ongoing) noteIgnored(e ignored.Entry, expired bool, issue string) {
	to := &r.ignored
	if expired {
		to = &r.expired
	}
	if !slices.ContainsFunc(*to, func(i Ignored) bool { return i.ID == e.ID }) {
		*to = append(*to, Ignored{e, r.clean(issue)})
	}
}

// ignore takes findings that are let stand out of reports. A verdict that rested on
// them alone is a warning; one that is unknown stays so.
func (r *ongoing) ignore(all []reviewed) {
	if len(r.entries) == 0 {
		return
	}
	for i := range all {
		s := &all[i]
		out := 0
		keep := func(f work.Finding) bool {
			e, expired, found := ignored.Of(r.entries, review.TraceOf(f, s.Gating, r.whole), r.Now())
			if found {
				r.noteIgnored(e, expired, f.Issue)
			}
			if found && !expired {
				out++
				return false
			}
			return true
		}
		s.ReviewReport.Findings, s.Notes = kept(s.ReviewReport.Findings, keep), kept(s.Notes, keep)
		if out == 0 || s.Verdict == work.VerdictUnknown || s.Verdict == work.VerdictPass {
			continue
		}
		s.Verdict = work.VerdictWarn
		if slices.ContainsFunc(slices.Concat(s.ReviewReport.Findings, s.Notes), func(f work.Finding) bool { return f.Severity != work.SeverityMinor }) {
			s.Verdict = work.VerdictFail
		}
		s.Why = strings.TrimPrefix(s.Why+"; "+text.Number(out, "finding")+" let stand by "+ignored.File, "; ")
	}
}

func kept(all []work.Finding, keep func(work.Finding) bool) (out []work.Finding) {
	for _, f := range all {
		if keep(f) {
			out = append(out, f)
		}
	}
	return out
}

// LetStand is what forge review ignored shows.
type LetStand struct {
	Ignored []Standing `json:"ignored"`
}

// Standing is one finding that is let stand.
type Standing struct {
	ignored.Entry
	Expired bool `json:"expired"`
}

// ReadLetStand reads which findings the checkout's own file lets stand.
func ReadLetStand(p *project.Checkout) (LetStand, error) {
	out := LetStand{Ignored: []Standing{}}
	body, err := os.ReadFile(filepath.Join(p.Base.RepoRoot, ignored.File))
	if os.IsNotExist(err) {
		return out, nil
	}
	if err != nil {
		return out, fmt.Errorf("read %s: %w", ignored.File, err)
	}
	all, problems := ignored.Parse(string(body))
	if len(problems) > 0 {
		return out, refusal.New(problems[0].Fix, "%s:%d: %s", ignored.File, problems[0].Line, problems[0].What)
	}
	for _, e := range all {
		out.Ignored = append(out.Ignored, Standing{e, e.Expired(p.Now())})
	}
	return out, nil
}

// LetStandAs is what the checkout's own file lets stand, as text or json.
func LetStandAs(p *project.Checkout, output string) (string, error) {
	all, err := ReadLetStand(p)
	if err != nil || output != "json" {
		return all.String(), err
	}
	data, err := json.MarshalIndent(all, "", "  ")
	return string(data) + "\n", err
}

// String is for a person.
func (l LetStand) String() string {
	if len(l.Ignored) == 0 {
		return "No finding is let stand. /forge ignore on a pull request proposes to.\n"
	}
	var b strings.Builder
	for _, e := range l.Ignored {
		until := "until " + e.Until
		if e.Expired {
			until = "expired on " + e.Until + ", counts no more"
		}
		fmt.Fprintf(&b, "%s  %s, %s\n            %s: %s\n", e.ID, e.File, until, e.By, e.Reason)
	}
	return text.Harmless(b.String())
}
