package triage

import (
	"cmp"
	"slices"
	"strings"

	"forge/gates"
	"forge/internal/text"
	"forge/internal/work"
	"forge/orchestrator"
)

// answered turns a person's answer into what follows from it. What is no answer
// to what is open changes nothing, and is recorded as such.
func (d *decision) answered(f Answered) {
	s, a := d.s, f.Answer
	a.By, a.Door, a.Comment = text.Clip(a.By, 200), text.Clip(a.Door, 40), text.Clip(a.Comment, 4000)
	if len(a.Policy) > 0 && s.Live {
		if d.changePolicy(a); a.Checkpoint == "" {
			return
		}
	}
	data := orchestrator.CheckpointAnsweredData{
		ID: text.Clip(a.Checkpoint, 200), Status: work.CheckpointStatus(text.Clip(string(a.Status), 40)), Choice: text.Clip(a.Choice, 40), Reason: a.Comment, By: a.By, Door: a.Door,
	}
	choice := ""
	if cp := s.Open; cp == nil || cp.ID != a.Checkpoint || !s.Live {
		data.Refused = work.ErrAlreadyResolved.Error()
	} else if a.Revision != 0 && a.Revision != cp.Revision {
		data.Refused = work.ErrConflict.Error()
	} else if a.Status == work.CheckpointChangesRequested && strings.TrimSpace(a.Comment) == "" {
		data.Refused = work.ErrEmptyFeedback.Error()
	} else if choice = meant(*cp, a); choice == "" {
		data.Refused = "not an answer: " + text.Clip(string(a.Status), 40) + " " + text.Clip(a.Choice, 40)
	}
	if data.Refused != "" {
		d.add(work.CheckpointAnswered, "", data)
		return
	}
	cp := s.Open
	d.add(work.CheckpointAnswered, gates.Point(cp.Phase), data)
	by := "person:" + a.By
	switch cp.Kind {
	case KindStuck, KindCleanup:
		d.answeredTrouble(cp.Kind, choice, by, a)
	default:
		d.answeredStage(cp, choice, by, f)
	}
}

// meant is the choice that an answer means, "" when it means none. A plain
// approval means the first way to approve that there is, as the question asks.
func meant(cp work.Checkpoint, a work.Answer) string {
	for _, c := range cp.Choices {
		if c.Answer == a.Status && (a.Choice == "" || a.Choice == c.Name) {
			return c.Name
		}
	}
	// Where nothing else can be asked for, changes are a wish to be heard.
	if a.Choice == "" && a.Status == work.CheckpointChangesRequested && cp.Kind != KindStuck && cp.Kind != KindCleanup {
		return ChoiceRedirect
	}
	return ""
}

func (d *decision) answeredTrouble(kind, choice, by string, a work.Answer) {
	gate, decision := gateSpawn, decideRetry
	if kind == KindCleanup {
		gate = gateCleanup
	}
	switch choice {
	case ChoiceAccept:
		decision = decideAccept
	case ChoiceDismiss:
		decision = decideDismiss
	}
	d.gate(gates.Point(kind), work.GateDecidedData{Gate: gate, Decision: decision, By: by, Reason: reasonOf(decision, a), Comment: a.Comment})
}

func reasonOf(decision string, a work.Answer) string {
	if decision == decideDismiss {
		return "dismissed by " + a.By + said(a.Comment)
	}
	return line(a.Comment, 500)
}

func (d *decision) answeredStage(cp *work.Checkpoint, choice, by string, f Answered) {
	s, a, target := d.s, f.Answer, gates.Point(cp.Kind)
	say := func(at gates.Point, decision, reason, comment string) {
		d.gate(at, work.GateDecidedData{Gate: string(at), Decision: decision, By: by, Policy: cp.Policy, Reason: reason, Comment: comment})
	}
	st := s.stage(target)
	if st == nil || st != &s.Stages[min(s.At(), len(s.Stages)-1)] {
		return // held: the question is not about what is worked on
	}
	switch choice {
	case ChoiceConfirm:
		say(target, string(gates.Advance), cmp.Or(line(a.Comment, 500), "confirmed"), a.Comment)
	case ChoiceAccept:
		for i, point := range cp.Points {
			at := gates.Point(point)
			d.inferred(at, by, s.ownWords(at))
			comment := ""
			if i == 0 {
				comment = a.Comment
			}
			say(at, string(gates.Advance), "the issue's own words hold", comment)
		}
	case ChoiceEdit:
		if d.edit(target, st, by, f, say) {
			for _, point := range cp.Points[min(1, len(cp.Points)):] {
				d.inferred(gates.Point(point), by, s.ownWords(gates.Point(point)))
				say(gates.Point(point), string(gates.Advance), "the issue's own words hold", "")
			}
		}
	case ChoiceRedirect, ChoiceAnswer:
		decision := decideRedirect
		if choice == ChoiceAnswer {
			decision = decideAnswer
		}
		say(target, decision, line(a.Comment, 500), a.Comment)
	case ChoiceRetry:
		say(target, decideRetry, line(a.Comment, 500), "")
	case ChoiceDismiss:
		say(target, decideDismiss, reasonOf(decideDismiss, a), "")
	}
}

// edit lets a person's words hold. Words that cannot be used are held: the
// question is put again, and says why.
func (d *decision) edit(target gates.Point, st *Stage, by string, f Answered, say func(at gates.Point, decision, reason, comment string)) (ok bool) {
	was := d.s.ownWords(target)
	if st.Value != nil {
		was = *st.Value
	}
	now, err := was.edited(target, f.Comment)
	problems := now.Problems(target, d.s.Spec.Depth)
	if err != nil {
		problems = []string{err.Error()}
	}
	for _, sub := range now.SubIssues {
		if policy, known := f.Levels[sub.Level]; len(problems) == 0 && sub.Level != "" {
			if check := gates.CheckSpawn(policy, d.s.Policy); !known || !check.Allowed() {
				problems = append(problems, "level "+text.Clip(sub.Level, 64)+" is none, or asks for more than this issue has: "+strings.Join(slices.Concat(check.Violations, check.Others), ", "))
			}
		}
	}
	if len(problems) > 0 {
		say(target, decideHold, strings.Join(problems, "; "), "")
		return false
	}
	d.proposed(target, by, now, f.Levels)
	say(target, string(gates.Advance), "edited", "")
	return true
}

func (d *decision) changePolicy(a work.Answer) {
	p, bounded, err := d.s.policyOf(a.Policy)
	if err != nil {
		d.add(work.Warned, "", orchestrator.WarnedData{What: "a change of level was not understood, and changes nothing", Detail: text.Clip(err.Error(), 300)})
		return
	}
	d.add(work.PolicyChanged, "", orchestrator.PolicyChangedData{
		Policy: p, Version: p.Version(), Level: p.Preset, Bounded: bounded, By: a.By, Door: a.Door,
	})
}
