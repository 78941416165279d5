package runs

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"forge/gates"
	"forge/internal/notify"
	"forge/internal/proc"
	"forge/internal/project"
	"forge/internal/redact"
	"forge/internal/text"
	"forge/internal/work"
	"forge/orchestrator"
)

// Notify tells of a run that froze or is over whoever the user's configuration
// names. It breaks nothing: what fails is a line in the log.
func Notify(ctx context.Context, p *project.Checkout, s *orchestrator.State, end work.RunFinishedData) {
	if p.Config == nil {
		return
	}
	if n, ok := NoticeOf(p, s, end); ok {
		SendNotice(ctx, p, n)
	}
}

// SendNotice tells whoever the user's configuration names.
func SendNotice(ctx context.Context, p *project.Checkout, n notify.Notice) {
	set := p.Config.File.Notify
	if !slices.Contains(set.On, n.Event) {
		return
	}
	sender := notify.Sender{Environ: p.Environ, Dir: p.State, Timeout: 10 * time.Second}
	if set.TimeoutSecs != nil {
		sender.Timeout = time.Duration(*set.TimeoutSecs) * time.Second
	}
	if set.Webhook != nil {
		sender.Webhook = *set.Webhook
	}
	if len(set.Command) > 0 {
		sender.Command = slices.Clone(set.Command)
		if rest, ok := strings.CutPrefix(sender.Command[0], "~/"); ok {
			sender.Command[0] = filepath.Join(p.Getenv("HOME"), rest)
		}
	}
	if sender.Command == nil && sender.Webhook == "" {
		return
	}
	clean := redact.New(redact.FromEnv(p.Environ, proc.SecretName))
	for _, err := range sender.Send(context.WithoutCancel(ctx), n.Redacted(clean.String)) {
		p.Log.Warn("nobody was told that the run is "+n.Outcome, "err", clean.String(err.Error()))
	}
}

// NoticeOf is what there is to tell; ok is false for an end that nobody is told
// of: whoever interrupted a run knows, and what belongs to the list alone is
// not pushed.
func NoticeOf(p *project.Checkout, s *orchestrator.State, end work.RunFinishedData) (n notify.Notice, ok bool) {
	n = notify.Notice{
		V: notify.Version, Event: notify.Finished, Time: p.Now().UTC(), Project: text.Line(s.Spec.Settings.Project), Run: s.Run,
		Outcome: string(end.Outcome), Reason: text.Line(end.Reason), Level: s.Spec.Policy.Preset, Checkpoints: []notify.Question{},
	}
	if s.Delivery != nil {
		n.Branch = s.Delivery.Branch
	}
	switch end.Outcome {
	case work.RunCompleted, work.RunCancelled:
		n.PostReview = end.Outcome == work.RunCompleted && s.Spec.Issue != nil && s.Spec.Issue.LookAfter
		return n, true
	case work.RunFailed, work.RunLimit:
		n.Next = "forge resume " + s.Run
		return n, true
	case work.RunFrozen:
	default:
		return n, false
	}
	if n.Event, n.Next = notify.Frozen, "forge checkpoints"; len(s.Open) == 0 {
		n.Next = "forge resume " + s.Run // its pull requests wait
	}
	for _, cp := range s.Open {
		points := []gates.Point{gates.Point(cp.Kind)}
		for _, pt := range cp.Points {
			points = append(points, gates.Point(pt))
		}
		if gates.Pushes(points, false) {
			n.Checkpoints = append(n.Checkpoints, notify.Question{
				ID: cp.ID, Points: cp.Points, Phase: cp.Phase, Revision: cp.Revision, Question: text.Line(cp.Question),
			})
		}
	}
	slices.SortFunc(n.Checkpoints, func(a, b notify.Question) int {
		if len(a.ID) != len(b.ID) {
			return len(a.ID) - len(b.ID) // they end in a number
		}
		return strings.Compare(a.ID, b.ID)
	})
	return n, len(n.Checkpoints) > 0
}
