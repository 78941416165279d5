package worker

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"forge/factory"
	"forge/factory/triage"
	"forge/gates"
	"forge/internal/journal"
	"forge/internal/notify"
	"forge/internal/project"
	"forge/internal/runs"
	"forge/internal/text"
	"forge/internal/work"
)

// threadBoard is the board as a thread of one project sees it.
type threadBoard struct {
	triager *triager
	p       *project.Checkout // with the configuration as it was when the thread was taken up
}

// Accounts are those of the issue and of its parents, the issue's own first:
// what the policy of each lets it spend, and what it and all below it have
// spent, this thread left out.
func (b *threadBoard) Accounts(ctx context.Context, s *triage.State) ([]gates.InferenceAccount, error) {
	i, err := b.triager.worker.Journal.Issue(ctx, b.triager.worker.Project, s.Spec.Issue)
	if err != nil {
		return nil, err
	}
	line, err := b.triager.lineage(ctx, i)
	if err != nil {
		return nil, err
	}
	chain, err := policiesOf(b.p, line)
	if err != nil {
		return nil, err
	}
	var out []gates.InferenceAccount
	for n := len(line) - 1; n >= 0; n-- {
		policy := gates.MeetAll(chain[:n+1]...)
		if n == len(line)-1 {
			policy = s.Policy
		}
		account := gates.NewInferenceAccount(policy)
		if account.Spent, err = b.triager.spent(ctx, line[n].ID, s.Thread); err != nil {
			return nil, err
		}
		out = append(out, account)
	}
	return out, nil
}

// spent is what an issue's threads and those of its parts consumed, in
// millionths of a dollar, except by one thread. What was set aside counts.
func (d *triager) spent(ctx context.Context, issue int64, except string) (total int64, err error) {
	return d.spentBelow(ctx, issue, except, map[int64]bool{})
}

func (d *triager) spentBelow(ctx context.Context, issue int64, except string, seen map[int64]bool) (total int64, err error) {
	if seen[issue] {
		return 0, nil
	}
	seen[issue] = true
	for n := 1; ; n++ {
		id := triage.ThreadID(issue, n)
		row, err := d.worker.Journal.RunOf(ctx, id)
		if errors.Is(err, journal.ErrNoRun) {
			return total, nil
		}
		if err != nil {
			return 0, err
		}
		if row.Project != d.worker.Project || row.Events == 0 {
			continue
		}
		s, err := d.worker.TriageRun(ctx, id)
		if err != nil {
			return 0, err
		}
		if id != except {
			usd := s.SpentUSD
			if s.Call != nil {
				usd += s.Call.USD
			}
			total += int64(math.Ceil(usd*1e6 - 1e-3))
		}
		for _, child := range s.Children {
			below, err := d.spentBelow(ctx, child, except, seen)
			if err != nil {
				return 0, err
			}
			total += below
		}
	}
}

// risk is what the work on an issue has gathered.
func (d *triager) risk(ctx context.Context, i work.Issue) (gates.RiskProfile, error) {
	r, err := d.result(ctx, i)
	return r.Risk, err
}

// result is what came of an issue's newest thread; of none, the zero value.
func (d *triager) result(ctx context.Context, i work.Issue) (triage.Result, error) {
	row, _, ok, err := d.newest(ctx, i.ID)
	if err != nil || !ok {
		return triage.Result{}, err
	}
	s, err := d.worker.TriageRun(ctx, row.ID)
	if err != nil {
		return triage.Result{}, err
	}
	return s.Result(), nil
}

// Levels are the policies of these names.
func (b *threadBoard) Levels(_ context.Context, names []string) (map[string]gates.Policy, error) {
	out := map[string]gates.Policy{}
	if b.p.Config == nil {
		return out, nil // whoever only closes a thread knows no policies
	}
	for _, name := range names {
		if p, err := project.Preset(b.p.Config, name); err == nil {
			out[name] = p
		}
	}
	return out, nil
}

// Spawn makes a part an issue, or finds the one that was made before.
func (b *threadBoard) Spawn(ctx context.Context, s *triage.State, c triage.Command) (int64, string, error) {
	worker := b.triager.worker
	parent, err := worker.Journal.Issue(ctx, worker.Project, s.Spec.Issue)
	if err != nil {
		return 0, "", err
	}
	if id, err := b.made(ctx, parent.ID, c.Key); err != nil || id != 0 {
		return id, "", err
	}
	i := work.Issue{
		Title: c.Sub.Title, Description: c.Sub.Description, Priority: parent.Priority, Labels: parent.Labels, Level: c.Sub.Level, Target: parent.Target,
		Column: work.ColumnReady, Parent: parent.ID, Origin: c.Key,
	}
	if i.Level == "" {
		i.Level = parent.Level
	}
	for n, text := range c.Sub.Criteria {
		i.Criteria = append(i.Criteria, work.Criterion{ID: "c" + strconv.Itoa(n+1), Text: text})
	}
	for _, need := range c.Sub.Needs {
		if need < 1 || need > len(s.Children) {
			return 0, fmt.Sprintf("it needs part %d, which is not there", need), nil
		}
		i.Needs = append(i.Needs, s.Children[need-1])
	}
	if parent.State == work.IssueCancelled {
		return 0, "the issue was cancelled", nil
	}
	stored, err := worker.Add(ctx, i, factory.Place{At: factory.Bottom}, factory.By{
		Name: "factory", Door: "factory", Note: fmt.Sprintf("part %d of issue %d", c.Part, parent.ID),
	})
	var rule *factory.Refusal
	var problems *factory.ProblemsError
	if errors.As(err, &rule) || errors.As(err, &problems) {
		return 0, err.Error(), nil
	}
	if err != nil {
		return 0, "", err
	}
	// Whoever cancelled the issue meanwhile did not see this part.
	if now, err := worker.Journal.Issue(ctx, worker.Project, parent.ID); err != nil || now.State == work.IssueCancelled {
		if err == nil {
			_, err = worker.Cancel(ctx, stored.ID, factory.By{Name: "factory", Door: "factory", Note: fmt.Sprintf("issue %d, which it is part of, was cancelled", parent.ID)})
		}
		return stored.ID, "", err
	}
	return stored.ID, "", nil
}

// made is the part that was made under a key, 0 = none. Parts are younger than
// what they are part of.
func (b *threadBoard) made(ctx context.Context, parent int64, key string) (int64, error) {
	parts, err := b.triager.worker.Parts(ctx, parent)
	for _, i := range parts {
		if i.Origin == key {
			return i.ID, nil
		}
	}
	return 0, err
}

// Cleanup cancels the parts that nobody has begun.
func (b *threadBoard) Cleanup(ctx context.Context, s *triage.State) (cancelled []int64, problem string, err error) {
	worker := b.triager.worker
	for _, id := range s.Children {
		i, err := worker.Journal.Issue(ctx, worker.Project, id)
		if err != nil {
			return cancelled, "", err
		}
		if i.Column != work.ColumnBacklog && i.Column != work.ColumnReady || i.State == work.IssueCancelled {
			continue
		}
		_, err = worker.Cancel(ctx, id, factory.By{Name: "factory", Door: "factory", Note: fmt.Sprintf("issue %d, which it is part of, was dismissed", s.Spec.Issue)})
		var rule *factory.Refusal
		switch {
		case errors.As(err, &rule):
			return cancelled, rule.Error(), nil
		case err != nil:
			return cancelled, "", err
		}
		cancelled = append(cancelled, id)
	}
	return cancelled, "", nil
}

// notify tells of a thread that waits whoever the user's configuration names,
// unless what it asks belongs to the list of checkpoints alone.
func (d *triager) notify(ctx context.Context, p *project.Checkout, s *triage.State) {
	cp := s.Open
	if s.Outcome != work.RunFrozen || cp == nil {
		return
	}
	points := []gates.Point{gates.Point(cp.Kind)}
	for _, pt := range cp.Points {
		points = append(points, gates.Point(pt))
	}
	asks := slices.ContainsFunc(cp.Choices, func(c work.Choice) bool { return c.Name == triage.ChoiceAnswer })
	if !gates.Pushes(points, asks) {
		return
	}
	runs.SendNotice(ctx, p, notify.Notice{
		V: notify.Version, Event: notify.Frozen, Time: d.worker.Now().UTC(), Project: d.worker.Project, Run: s.Thread, Outcome: string(s.Outcome), Reason: s.Reason,
		Level: s.Policy.Preset, Next: "forge checkpoints",
		Checkpoints: []notify.Question{{ID: cp.ID, Points: cp.Points, Phase: cp.Phase, Revision: cp.Revision, Question: text.Harmless(cp.Question)}},
	})
}
