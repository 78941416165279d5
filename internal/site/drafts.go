package site

import (
	"context"
	"errors"
	"slices"

	pages "forge/factory/web"
	"forge/internal/draft"
	"forge/internal/journal"
	"forge/internal/planrun"
	"forge/internal/project"
	"forge/internal/refusal"
	"forge/internal/work"
)

// readDraft is a draft by its record, with what has become of it.
func (s Starts) readDraft(state, id string) (draft.Record, error) {
	d, err := draft.ReadRecord(state, id, s.Jobs.p.Now())
	if errors.Is(err, draft.ErrNone) {
		return d, pages.ErrNoDraft
	}
	return s.asHere(d), err
}

// asHere is a draft as this process knows it: what it does not work on any more
// itself has ended.
func (s Starts) asHere(d draft.Record) draft.Record {
	self := journal.Self()
	self.ID = d.Owner.ID
	if d.State == draft.UnderWay && d.Owner == self && !s.Jobs.has(d.ID) {
		d.State = draft.Interrupted
	}
	return d
}

// draftForPages is a draft as pages show it.
func draftForPages(d draft.Record) pages.Draft {
	return pages.Draft{
		ID: d.ID, Kind: "plan", Text: d.Text, Tries: d.Tries, By: d.By, Began: d.Began, Ended: d.Ended, State: string(d.State), Problem: d.Problem, Fix: d.Fix,
	}
}

// Draft has the agent draft the plan of a text beside the request that asked.
func (s Starts) Draft(ctx context.Context, o pages.RunOrder) (string, error) {
	id, err := s.draft(ctx, o)
	return id, forPages(err)
}

func (s Starts) draft(ctx context.Context, o pages.RunOrder) (string, error) {
	if err := planrun.CheckText(o.Text); err != nil {
		return "", err
	}
	o.Draft = ""
	p, spec, err := s.resolve(ctx, o, true)
	if err != nil {
		return "", err
	}
	// Nothing is spent on a plan that could not be run.
	if err := planrun.Ready(ctx, p, spec); err != nil {
		return "", err
	}
	if err := unfinished(p.CheckUnfinished(ctx, false, "forge run")); err != nil {
		return "", err
	}
	all, err := s.Drafts(ctx)
	if err != nil {
		return "", err
	}
	if slices.ContainsFunc(all, func(d pages.Draft) bool { return d.State == pages.DraftUnderWay }) {
		return "", refusal.New("wait for it, or drop it", "a plan is drafted in this project already")
	}

	d := draft.Record{ID: draft.RecordPrefix + p.NewRunID(), Text: o.Text, Tries: o.Tries, By: o.By, Began: p.Now(), State: draft.UnderWay, Owner: journal.Self()}
	if err := draft.KeepRecord(p.State, d); err != nil {
		return "", err
	}
	s.Jobs.beside(ctx, d.ID, func(ctx context.Context) { s.finishDraft(ctx, p, d) })
	return d.ID, nil
}

// finishDraft drafts, and records what came of it. A server that ends meanwhile
// leaves the record as it is: the draft was interrupted.
func (s Starts) finishDraft(ctx context.Context, p *project.Checkout, d draft.Record) {
	plan, err := draft.OfText(ctx, p, d.Text, d.Tries)
	if ctx.Err() != nil {
		return
	}
	if d.Ended, d.State = p.Now(), draft.Ready; err != nil {
		d.State, d.Problem = draft.Failed, err.Error()
		if refused := (*refusal.Error)(nil); errors.As(err, &refused) {
			d.Problem, d.Fix = refused.What, refused.Fix
		}
	} else {
		d.Plan = &plan
	}
	if _, err := draft.ReadRecord(p.State, d.ID, p.Now()); errors.Is(err, draft.ErrNone) {
		return // another process dropped it
	}
	if err := draft.KeepRecord(p.State, d); err != nil {
		p.Log.Error("a draft is lost", "err", err)
	}
}

// Drafts are the drafts that no run was begun with, the newest first, and
// whatever else drafted waits.
func (s Starts) Drafts(context.Context) ([]pages.Draft, error) {
	p := s.Jobs.p
	records, err := draft.Records(p.State, p.Now())
	if err != nil {
		return nil, err
	}
	var out []pages.Draft
	for _, d := range records {
		out = append(out, draftForPages(s.asHere(d)))
	}
	others, err := draft.Others(p)
	others = slices.DeleteFunc(others, func(w draft.Waiting) bool { return s.Jobs.has(w.ID) })
	for _, w := range append(others, draft.Thinking(p, s.Jobs.has)...) {
		out = append(out, pages.Draft{
			ID: w.ID, Kind: w.Kind, Text: w.About, Began: w.Since, State: string(w.State), Question: w.Question, Choices: w.Choices, Problem: w.Problem, Fix: w.Way,
		})
	}
	slices.SortStableFunc(out, func(a, b pages.Draft) int { return b.Began.Compare(a.Began) })
	return out, err
}

// Drafted is one draft.
func (s Starts) Drafted(ctx context.Context, id string) (pages.Draft, error) {
	d, err := s.readDraft(s.Jobs.p.State, id)
	if err == nil || !errors.Is(err, pages.ErrNoDraft) {
		return draftForPages(d), err
	}
	all, err := s.Drafts(ctx)
	if err != nil {
		return pages.Draft{}, err
	}
	if n := slices.IndexFunc(all, func(d pages.Draft) bool { return d.ID == id }); n >= 0 {
		return all[n], nil
	}
	return pages.Draft{}, pages.ErrNoDraft
}

// AnswerDraft answers what an interview asks, and has the agent go on beside the
// request that answered.
func (s Starts) AnswerDraft(ctx context.Context, id, question, words string) error {
	return forPages(s.answerDraft(ctx, id, question, words))
}

func (s Starts) answerDraft(ctx context.Context, id, question, words string) error {
	p, err := s.Fresh(ctx)
	if err != nil {
		return err
	}

	// Of two who answer at once one is heard.
	s.Jobs.answering.Lock()
	defer s.Jobs.answering.Unlock()
	if s.Jobs.has(id) {
		return work.ErrStale
	}
	i, err := draft.Reply(p, id, question, words)
	if errors.Is(err, draft.ErrNone) {
		return pages.ErrNoDraft
	}
	if err != nil {
		return err
	}
	s.Jobs.beside(ctx, id, func(ctx context.Context) {
		if err := i.GoOn(ctx); err != nil {
			p.Log.Error("what came of an interview is lost", "err", err)
		}
	})
	return nil
}

// DropDraft ends a draft, and forgets it.
func (s Starts) DropDraft(_ context.Context, id string) error {
	s.Jobs.end(id)
	err := draft.Drop(s.Jobs.p, id)
	if errors.Is(err, draft.ErrNone) {
		return pages.ErrNoDraft
	}
	return err
}

// planOf is the plan of a draft, with the text that it is for.
func (s Starts) planOf(state, id string) (d draft.Record, err error) {
	if d, err = s.readDraft(state, id); err != nil {
		return d, err
	}
	if d.Plan == nil {
		return d, refusal.New("wait for it, or draft another", "there is no plan yet in this draft")
	}
	return d, nil
}
