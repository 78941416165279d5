package door

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"slices"
	"strings"

	"forge/factory/triage"
	"forge/factory/web"
	"forge/gates"
	"forge/internal/approval"
	"forge/internal/handoff"
	"forge/internal/journal"
	"forge/internal/project"
	"forge/internal/refusal"
	"forge/internal/text"
	"forge/internal/work"
)

// unknownSubject is under which is remembered that somebody was told that nobody
// knows them.
const unknownSubject = "stranger "

// mostTold bounds the messages of which is remembered that their senders know what
// became of them. Who is forgotten is told twice at worst.
const mostTold = 1000

// Hear takes what somebody said at the place: as an answer, or as words to an
// agent. What cannot be taken changes nothing, and the reply says why.
func (d *Door) Hear(ctx context.Context, s Said) Reply {
	d.hearing.Lock()
	defer d.hearing.Unlock()
	if d.shut {
		return said("That was not taken: this Forge is ending. Try again when it works again.")
	}
	r, err := d.hear(ctx, s)
	if err != nil {
		d.p.Log.Warn("what was said there is not taken", "place", d.Place.Key(), "err", text.OneLine(d.clean(err.Error()), 300))
		return said("That was not taken: Forge could not write it down. Try again.")
	}
	r.Text = text.Clip(text.Harmless(d.clean(r.Text)), mostPart)
	return r
}

func (d *Door) hear(ctx context.Context, s Said) (Reply, error) {
	who, ok, err := d.People(s.By)
	if err != nil {
		return Reply{}, err
	}
	if !ok {
		return d.unknown(ctx, s.By)
	}
	if s.Press != nil {
		return d.pressed(ctx, who, s)
	}
	post, ok, err := d.postAt(ctx, s.Ref)
	if err != nil || !ok {
		return Reply{}, err
	}
	if run, ok := strings.CutPrefix(post.Subject, runSubject); ok {
		return d.tell(ctx, who, s, run, "")
	}
	id, ok := strings.CutPrefix(post.Subject, questionSubject)
	if !ok {
		return Reply{}, nil
	}
	cp, err := approval.Exact(ctx, d.p, id)
	if err != nil {
		return d.refused(err)
	}
	if cp.AnswerDue && cp.Status == work.CheckpointPending {
		return d.answer(ctx, who, cp, Press{Checkpoint: cp.ID, Revision: cp.Revision, Status: work.CheckpointApproved}, s.Words)
	}
	if cp.AnswerDue && d.sameAnswer(cp, who, work.CheckpointApproved, "", s.Words) {
		return Reply{}, nil // told a second time
	}
	if early := !s.At.IsZero() && cp.AnsweredAt != nil && s.At.Before(*cp.AnsweredAt); cp.AnswerDue && (early || !post.Over) {
		// They saw a question that waits, and meant to answer it.
		return said("This was answered before: %s. Write again if its agent is to be told all the same.", d.answered(cp)), nil
	}
	if triage.IsThread(cp.Run) {
		return said("Nobody works on this issue yet: answer by the buttons, or on the page."), nil
	}
	return d.tell(ctx, who, s, cp.Run, cp.Phase)
}

// postAt is the message that somebody spoke below. People are quick: one that was
// just posted, or by a process that died, may be there and not be written down.
func (d *Door) postAt(ctx context.Context, ref string) (post work.Post, ok bool, err error) {
	if post, ok, err = d.p.Journal.PostAt(ctx, d.Place.Key(), ref); err != nil || ok {
		return post, ok, err
	}
	open, err := d.p.Journal.OpenPosts(ctx, d.Place.Key())
	if err != nil {
		return post, false, err
	}
	for _, p := range open {
		if p.Ref != "" {
			continue
		}
		at, err := d.Place.Find(ctx, p.Subject, p.At.Add(-clocksApart))
		if err != nil {
			return post, false, err
		}
		if at == ref {
			return p, true, nil
		}
	}
	// It may have been written down meanwhile.
	return d.p.Journal.PostAt(ctx, d.Place.Key(), ref)
}

// unknown tells somebody whom nobody named, once, that their word does not count.
func (d *Door) unknown(ctx context.Context, id string) (Reply, error) {
	post, first, err := d.p.Journal.BeginPost(ctx, d.Place.Key(), unknownSubject+text.Clip(id, 60))
	if err != nil || !first {
		return Reply{}, err
	}
	post.Over = true
	if err := d.p.Journal.KeepPost(ctx, post); err != nil {
		return Reply{}, err
	}
	d.p.Log.Warn("somebody said something there whom the configuration does not name", "place", d.Place.Key(), "id", text.OneLine(id, 60))
	return said("Forge does not know who you are, so nothing follows from what you say or press here. "+
		"Whoever runs it can name you in its configuration, under %s.users, by your id %s. You are told this once.", d.Name, text.OneLine(id, 60)), nil
}

// may says what keeps somebody from answering and telling here; "" = nothing.
func (d *Door) may(ctx context.Context, who web.Person, run string) (in string, why string, err error) {
	in = d.Project
	row, err := d.p.Journal.RunOf(ctx, run)
	if err == nil && row.Project != "" {
		in = row.Project
	}
	if errors.Is(err, journal.ErrNoRun) {
		err = nil // a thread of an issue
	}
	if !who.May(in, web.RoleReviewer) {
		why = who.Name + " may look at " + in + ", and no more than that: forge factory user add gives a role."
	}
	return in, why, err
}

// pressed is a button, or the words that one asked for.
func (d *Door) pressed(ctx context.Context, who web.Person, s Said) (Reply, error) {
	press := *s.Press
	cp, err := approval.Exact(ctx, d.p, press.Checkpoint)
	if err != nil {
		return d.refused(err)
	}
	// A message may be older than what it shows; a button of another one is none.
	post, ok, err := d.p.Journal.PostOf(ctx, d.Place.Key(), questionSubject+cp.ID)
	if err != nil {
		return Reply{}, err
	}
	if !ok || post.Ref != "" && post.Ref != s.Ref {
		return said("This message is not where the question %s is asked. Look for the one that is, or answer on the page.", cp.ID), nil
	}
	// What a button means is held against what the question offers now. It is always
	// about what was shown then, never about whatever is there.
	if press.Revision < 1 || !slices.ContainsFunc(d.buttons(cp), func(b Button) bool {
		return b.Press.Status == press.Status && b.Press.Choice == press.Choice && b.Press.Words == press.Words
	}) {
		return said("The question %s offers no such answer.", cp.ID), nil
	}
	if press.Words != NoWords && !s.Asked {
		in, why, err := d.may(ctx, who, cp.Run)
		switch {
		case err != nil:
			return Reply{}, err
		case why != "":
			return said("%s", why), nil
		case !gates.MayAnswer(cp, who.Role(in).Gate()):
			return said("This question is the owner's to answer."), nil
		case cp.Status != work.CheckpointPending:
			return said("This was answered before: %s.", d.answered(cp)), nil
		case cp.Revision != press.Revision:
			return d.refused(work.ErrConflict)
		}
		return Reply{Ask: d.line(cp.Question, mostTitle), Due: press.Words == DueWords}, nil
	}
	return d.answer(ctx, who, cp, press, s.Words)
}

// answer gives an answer, as every door does.
func (d *Door) answer(ctx context.Context, who web.Person, cp work.Checkpoint, press Press, words string) (Reply, error) {
	in, why, err := d.may(ctx, who, cp.Run)
	if err != nil || why != "" {
		return said("%s", why), err
	}
	words = strings.TrimSpace(strings.ToValidUTF8(words, "\uFFFD"))
	if len(words) > approval.MaxComment {
		return said("That has %d bytes, and at most %d are taken. Shorten it.", len(words), approval.MaxComment), nil
	}
	now, row, err := approval.Give(ctx, d.p, work.Answer{
		Checkpoint: cp.ID, Revision: press.Revision, Status: press.Status, Choice: press.Choice, Comment: words,
		By: who.Name, Role: who.Role(in).Gate(), Door: d.Name, At: d.p.Now(),
	}, approval.Options{Away: handoff.AnswerAway})
	switch {
	case errors.Is(err, work.ErrAlreadyResolved) && d.sameAnswer(now, who, press.Status, press.Choice, words):
		return Reply{Done: true}, nil // the same was told twice
	case errors.Is(err, work.ErrAlreadyResolved):
		return said("This was answered before: %s. The first answer counts.", d.answered(now)), nil
	case err != nil:
		return d.refused(err)
	}
	d.p.Log.Info("answered", "checkpoint", cp.ID, "status", press.Status, "by", text.Harmless(who.Name), "door", d.Name)
	if row.Issue == 0 && !project.Driven(row) && row.ID != "" {
		return Reply{Done: true, Text: "Your answer counts. Nobody drives this run now: forge resume " + row.ID + " goes on with it."}, nil
	}
	return Reply{Done: true}, nil
}

// sameAnswer says that a question has just the answer that somebody gave here.
func (d *Door) sameAnswer(cp work.Checkpoint, who web.Person, status work.CheckpointStatus, choice, words string) bool {
	return cp.Door == d.Name && cp.AnsweredBy == who.Name && cp.Status == status && cp.Choice == choice && strings.TrimSpace(cp.Comment) == strings.TrimSpace(words)
}

// refused is a reply to what a person can mend; other errors stay what they are.
func (d *Door) refused(err error) (Reply, error) {
	var usage *refusal.Error
	switch {
	case errors.As(err, &usage):
		return said("%s.", text.UpperFirst(strings.TrimRight(usage.What, "."))), nil
	case errors.Is(err, work.ErrExpired):
		return said("The time of this question is over. It still waits, and is asked again when its run is resumed."), nil
	case errors.Is(err, work.ErrConflict):
		return said("What is asked has changed since this was shown, or parts of it were sent back. Look again, and answer what is there now."), nil
	case errors.Is(err, work.ErrEmptyFeedback):
		return said("There is nothing said: write what has to change, or why."), nil
	case errors.Is(err, work.ErrUnknown):
		return said("Forge does not know this question. It is of a run that was reset, or of another Forge."), nil
	case approval.Code(err) != "":
		return said("That does not count: %s.", err), nil
	}
	return Reply{}, err
}

// tell hands words to the agent of a phase, "" = the one that works. The same words,
// told again, are the same message.
func (d *Door) tell(ctx context.Context, who web.Person, s Said, run, phase string) (Reply, error) {
	_, why, err := d.may(ctx, who, run)
	if err != nil || why != "" {
		return said("%s", why), err
	}
	sum := sha256.Sum256([]byte(d.Place.Key() + "\n" + s.ID))
	m := work.Message{ID: d.Name + "-" + hex.EncodeToString(sum[:8]), Phase: phase, Text: strings.ToValidUTF8(s.Words, "\uFFFD")}
	if s.ID == "" {
		m.ID = "" // it cannot be known again
	}
	told, row, err := approval.Tell(ctx, d.p, run, m, who.Name, d.Name)
	if err != nil {
		return d.refused(err)
	}
	if told.Taken || d.told[told.ID] {
		return Reply{Done: true}, nil // the same was told twice
	}
	if len(d.told) >= mostTold {
		clear(d.told)
	}
	d.told[told.ID] = true
	r := said("Told to the agent of phase %s. %s.", told.Phase, text.UpperFirst(told.How(project.Driven(row))))
	r.Done = true
	return r, nil
}
