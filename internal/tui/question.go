package tui

import (
	"strings"
	"time"

	"forge/gates"
	"forge/internal/text"
	"forge/internal/work"
	"forge/orchestrator"
)

// The terminal's door: what a person may choose at an open checkpoint, and the
// answer that comes of it. It is the same as any other door would write.

// deed is what choosing an option does.
type deed int

const (
	deedAnswer deed = iota
	deedAll         // answers yes, and to all further questions of these sorts
	deedLook        // shows the change that the question is about
	deedAbort       // cancels the run, once the person is sure
)

// wording says whether an answer takes a comment.
type wording int

const (
	noComment wording = iota
	mayComment
	mustComment
)

// option is one way to go on from a question.
type option struct {
	key     string // chooses it at once
	Label   string
	deed    deed
	status  work.CheckpointStatus
	choice  string
	comment wording
}

// yesToAll is the reason that an answer given by deedAll has.
const yesToAll = "yes to all"

// OptionsOf are the ways to go on from q. The cursor stands on the first one,
// which answers nothing: an Enter that was meant for something else must not
// say yes.
func OptionsOf(q question) []option {
	look := option{key: "d", Label: "look at all of it first", deed: deedLook}
	if q.changed() {
		look.Label = "look at the change first (" + q.About + ")"
	}
	out := []option{look}
	abort := option{key: "x", Label: "abort the run", deed: deedAbort, status: work.CheckpointRejected, choice: orchestrator.ChoiceAbort}
	answers := choicesOf(q.Checkpoint)
	if len(answers) == 0 {
		answers = usualAnswers(gates.Point(q.Checkpoint.Kind))
	}
	for i, o := range answers {
		if o.status == work.CheckpointApproved && q.Checkpoint.ReasonDue {
			answers[i].comment, answers[i].Label = mustComment, o.Label+", with your reason"
		}
	}
	for _, o := range answers {
		out = append(out, o)
		if o.status == work.CheckpointApproved && gates.AnsweredByYes(gates.Point(q.Checkpoint.Kind)) {
			out = append(out, option{key: "a", Label: "yes, and to all start, iteration and sub-phase questions of this run", deed: deedAll, status: o.status, choice: o.choice})
		}
	}
	return distinctKeys(append(out, abort))
}

// choicesOf are the choices that the checkpoint itself names, but abort.
func choicesOf(cp work.Checkpoint) []option {
	var out []option
	for _, c := range cp.Choices {
		if c.Name == orchestrator.ChoiceAbort || c.Name == "" {
			continue
		}
		o := option{key: strings.ToLower(c.Name[:1]), Label: text.OneLine(c.Label, work.MaxChoiceBytes), status: c.Answer, choice: c.Name}
		switch c.Answer {
		case work.CheckpointApproved:
			if c.Name == "approve" {
				o.key = "y"
			}
		case work.CheckpointChangesRequested:
			o.comment = mustComment
		default:
			o.comment = mayComment
		}
		out = append(out, o)
	}
	return out
}

// usualAnswers are the answers at a point that names no choices.
func usualAnswers(at gates.Point) []option {
	words := map[gates.Point][3]string{
		gates.PointPhaseStart:      {"yes, start it", "start it with a comment for the agent", "no, skip this phase"},
		gates.PointIteration:       {"yes, run it", "run it with a comment for the agent", "no, the phase fails"},
		gates.PointPhaseTransition: {"yes, merge it", "not yet: one more iteration with a comment", "no, the phase fails"},
		gates.PointFinal:           {"yes, land it", "not yet: one more iteration with a comment", "no, keep it on its branch; the run fails"},
		gates.PointPromote:         {"yes, it is done: land it", "not yet: one more iteration with a comment", "no, it stays in review; the run ends"},
		gates.PointEvidence:        {"yes, land it, and trust the evidence as it is now", "not yet: one more iteration with a comment", "no, keep it on its branch; the run fails"},
		gates.PointFindings:        {"yes, go on with these findings", "fix it, with a comment for the agent", "no, the phase fails"},
		gates.PointDecompose:       {"yes, do it in these parts", "other parts, with a comment for the agent", "no, go on with it as one"},
		orchestrator.PointBaseline: {"yes, go on all the same", "", "no, stop here"},
	}
	if at == gates.PointBlocker {
		return []option{
			{key: "y", Label: "say what helps", status: work.CheckpointApproved, comment: mustComment},
			{key: "n", Label: "no, the phase fails", status: work.CheckpointRejected, comment: mayComment},
		}
	}
	w, ok := words[at]
	if !ok {
		w = [3]string{"approve", "request changes with a comment", "reject"}
	}
	out := []option{{key: "y", Label: w[0], status: work.CheckpointApproved}}
	if w[1] != "" {
		out = append(out, option{key: "c", Label: w[1], status: work.CheckpointChangesRequested, comment: mustComment})
	}
	return append(out, option{key: "n", Label: w[2], status: work.CheckpointRejected, comment: mayComment})
}

// distinctKeys gives options whose key is taken another one of their name.
func distinctKeys(all []option) []option {
	taken := map[string]bool{"j": true, "k": true, "g": true} // they move the cursor
	for i, o := range all {
		for _, r := range o.key + o.choice + "123456789" {
			if k := string(r); !taken[k] && k != "_" {
				all[i].key, taken[k] = k, true
				break
			}
		}
	}
	return all
}

// answer is what the door writes when o was chosen.
func (o option) answer(cp work.Checkpoint, comment, by string, at time.Time) work.Answer {
	a := work.Answer{
		Checkpoint: cp.ID, Revision: cp.Revision, Status: o.status, Choice: o.choice,
		By: by, Door: DoorTerminal, At: at,
	}
	switch {
	case o.deed == deedAll:
		a.Comment = yesToAll
	case o.comment != noComment:
		a.Comment = strings.TrimSpace(strings.ToValidUTF8(comment, "\uFFFD"))
	}
	return a
}

// DoorTerminal says of an answer that it was given here.
const DoorTerminal = "terminal"

// yesTo is the answer to cp that an earlier "yes to all" gives, if it covers
// questions of that sort. It never covers a stale phase, a merge, the result or
// a red baseline.
func yesTo(q question, by string, at time.Time) (work.Answer, bool) {
	for _, o := range OptionsOf(q) {
		if o.deed == deedAll {
			return o.answer(q.Checkpoint, "", by, at), true
		}
	}
	return work.Answer{}, false
}

// said is an answer in words, for who sees it from elsewhere.
func said(status work.CheckpointStatus, choice string) string {
	switch {
	case choice != "" && choice != "approve":
		return strings.ReplaceAll(choice, "_", " ")
	case status == work.CheckpointChangesRequested:
		return "changes requested"
	}
	return string(status)
}
