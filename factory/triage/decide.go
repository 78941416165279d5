package triage

import (
	"encoding/json"
	"fmt"
	"strings"

	"forge/gates"
	"forge/internal/text"
	"forge/internal/work"
	"forge/orchestrator"
)

// Decide says which events follow from an input, one step at a time. It
// changes nothing; Feed goes on until nothing follows.
func Decide(s *State, in Input) []work.Event {
	d := &decision{s: s, now: in.Now}
	switch f := in.Fact.(type) {
	case Opened:
		if s.Seq == 0 {
			d.add(Started, "", StartedData{Spec: f.Inline, Blob: f.Blob, Issue: s.Spec.Issue, Policy: s.version, Level: s.Policy.Preset})
		}
	case Resumed:
		if !s.Live && !s.Outcome.Final() || s.Live {
			d.add(work.RunResumed, "", orchestrator.RunResumedData{By: f.By})
			if p := f.Policy; p != nil && p.Version() != s.version {
				d.add(work.PolicyChanged, "", orchestrator.PolicyChangedData{Policy: *p, Version: p.Version(), Level: p.Preset, By: f.By, Door: "factory"})
			}
		}
	case Began:
		d.began(f)
	case Answer:
		d.answer(f)
	case Spawned:
		if s.Live && s.Spawning == f.Command.Part {
			d.add(SpawnFinished, gates.PointAction, SpawnFinishedData{Command: f.Command.ID, Part: f.Command.Part, Issue: f.Issue, Problem: text.Clip(f.Problem, 1000)})
		}
	case Cleaned:
		if s.Live && s.Cleanup.Under {
			d.add(CleanupFinished, "", CleanupFinishedData{Command: f.Command.ID, Cancelled: f.Cancelled, Problem: text.Clip(f.Problem, 1000)})
		}
	case Answered:
		d.answered(f)
	case Overdue:
		d.overdue(f)
	case Dismissed:
		if s.Live && s.Dismissed == "" && s.At() < len(s.Stages) {
			d.gate(s.target(), work.GateDecidedData{Gate: string(s.target()), Decision: decideDismiss, By: "person:" + text.Clip(f.By, 200), Reason: "dismissed by " + text.Clip(f.By, 200) + said(f.Why)})
		}
	case Drained:
		if s.Live {
			d.end(f.Outcome, f.Reason)
		}
	case settled:
		d.settle()
	}
	return d.out
}

// Feed decides, applies, and settles until nothing follows; it returns the
// events in order.
func Feed(s *State, in Input) ([]work.Event, error) {
	var all []work.Event
	for evs := Decide(s, in); len(evs) > 0; evs = Decide(s, Input{Now: in.Now, Fact: settled{}}) {
		for _, e := range evs {
			if err := Apply(s, e); err != nil {
				return nil, err
			}
		}
		if all = append(all, evs...); len(all) > 200 {
			return nil, fmt.Errorf("decide %s: the same decisions follow each other without end", s.Thread)
		}
	}
	return all, nil
}

// target is the one that is worked on.
func (s *State) target() gates.Point {
	if at := s.At(); at < len(s.Stages) {
		return gates.Targets()[at]
	}
	return gates.PointAction
}

func (d *decision) end(outcome work.RunOutcome, reason string) {
	data := work.RunFinishedData{Outcome: outcome, Reason: text.Clip(reason, 500)}
	if spent := d.s.SpentUSD; !d.s.Silent {
		data.CostUSD = &spent
	}
	d.add(work.RunFinished, "", data)
}

// began decides whether a call may be made, and opens every effect.
func (d *decision) began(f Began) {
	s, c := d.s, f.Command
	due, ok := Pending(s)
	if !ok || due.ID != c.ID {
		return
	}
	switch c.Step {
	case StepSpawn:
		d.add(SpawnStarted, gates.PointAction, SpawnData{Command: c.ID, Part: c.Part, Key: c.Key})
	case StepCleanup:
		d.add(CleanupStarted, "", CleanupData{Command: c.ID})
	case StepInfer:
		d.beganCall(f)
	}
}

func (d *decision) beganCall(f Began) {
	s, c := d.s, f.Command
	tier := s.Policy.MayAsk(s.Spec.Tier).Record(gateTier, s.version)
	if tier.Decision != decideGo {
		// Whatever word it is that does not go on: nobody is asked.
		tier.Decision = decideReject
		d.gate(s.target(), tier)
		return
	}
	_, may := gates.MaySpend(s.accounts(f.Accounts), s.Spec.CallUSD)
	budget := may.Record(gateBudget, s.version)
	if may.Verdict != gates.Go {
		budget.Decision = decideReject
		d.gate(s.target(), tier)
		d.gate(s.target(), budget)
		return
	}
	d.gate(s.target(), tier)
	d.gate(s.target(), budget)
	d.add(InferenceStarted, c.Target, InferenceStartedData{Command: c.ID, Target: c.Target, By: s.Spec.Inferrer, Model: s.Spec.Model, Tier: s.Spec.Tier, ReservedUSD: s.Spec.CallUSD})
}

// accounts are those of the issue and its parents with what this thread
// consumed. None may spend nothing.
func (s *State) accounts(others []gates.InferenceAccount) []gates.InferenceAccount {
	spent := s.SpentUSD
	settled := make([]gates.InferenceAccount, 0, len(others))
	for _, a := range gates.Settle(others, 0, &spent) {
		a.Spent = max(a.Spent, 0)
		settled = append(settled, a)
	}
	return settled
}

// answer turns what came back into values, or into the reason why it cannot be
// used.
func (d *decision) answer(f Answer) {
	s := d.s
	if !s.Live || s.Call == nil || s.Call.Command != f.Command.ID {
		return
	}
	q := Question{Target: s.Call.Target, Depth: s.Spec.Depth}
	problem := f.Problem
	var values []Value
	if problem == "" {
		if list := q.Problems(f.JSON); len(list) > 0 {
			problem = strings.Join(list, "; ")
		} else {
			values, _ = q.Values(f.JSON) // Problems has read them
		}
	}
	until, waits := d.outage(f)
	gaveUp := f.Passing && f.Problem != "" && !waits
	d.add(InferenceFinished, s.Call.Target, InferenceFinishedData{
		Passing: waits, GaveUp: gaveUp,
		Command: f.Command.ID, OK: problem == "", Problem: text.Clip(problem, 1500), Tries: f.Tries, Model: text.Clip(f.Model, 200), Usage: f.Usage.Clean(), Request: f.Request, Answer: f.Answer,
	})
	if waits {
		d.outageBegan(until, problem)
		return
	}
	by := "model:" + text.Clip(f.Model, 200)
	if f.Model == "" {
		by = "model:" + s.Spec.Inferrer
	}
	if q.Target == Combined && len(values) > 0 {
		meta := CombinedData{Command: f.Command.ID, Targets: gates.Targets(), Confidences: map[string]*float64{}, Usage: f.Usage.Clean()}
		for i, target := range gates.Targets() {
			meta.Confidences[string(target)] = values[i].tidy().Confidence
		}
		d.add(CombinedInferred, "", meta)
	}
	for i, v := range values {
		d.proposed(q.targets()[i], by, v, f.Levels)
	}
}

// proposed records a value, and refuses one whose parts ask for more than
// their parent has.
func (d *decision) proposed(target gates.Point, by string, v Value, levels map[string]gates.Policy) (refused string) {
	d.inferred(target, by, v)
	for i, sub := range v.SubIssues {
		if sub.Level == "" {
			continue
		}
		child := fmt.Sprintf("part %d (%s)", i+1, text.Clip(sub.Level, 64))
		policy, known := levels[sub.Level]
		check := gates.CheckSpawn(policy, d.s.Policy)
		record := check.Decision(child, fmt.Sprintf("issue %d", d.s.Spec.Issue)).Record(gateSpawn, d.s.version)
		if !known {
			record.Decision, record.Passed, record.Failed = decideReject, nil, []string{"level"}
			record.Reason = fmt.Sprintf("%q is no policy", text.Clip(sub.Level, 64))
		}
		if !known || !check.Allowed() {
			record.Decision, record.Reason = decideReject, child+": "+record.Reason
			d.gate(target, record)
			return record.Reason
		}
		d.gate(target, record)
	}
	return ""
}

// settle says what follows from the state alone.
func (d *decision) settle() {
	s := d.s
	if !s.Live || s.Open != nil || s.Call != nil || s.Spawning != 0 || s.Cleanup.Under {
		return
	}
	at := s.At()
	switch {
	case s.Dismissed != "" && s.Cleanup.Problem != "" && !s.Cleanup.Done:
		d.openCleanup()
	case s.Dismissed != "":
		if _, due := Pending(s); !due {
			d.end(work.RunCancelled, s.Dismissed)
		}
	case s.Outage != nil && d.now.Before(s.Outage.Until):
		d.end(work.RunLimit, "the model is away: "+s.Outage.Detail)
	case at == len(s.Stages) && s.Stuck != "":
		d.openStuck()
	case at == len(s.Stages):
		if _, due := Pending(s); !due {
			d.end(work.RunCompleted, "")
		}
	default:
		d.settleStage(at)
	}
}

func (d *decision) settleStage(at int) {
	s, st, target := d.s, &d.s.Stages[at], gates.Targets()[at]
	switch {
	case s.Spec.Who == ByNobody:
		if st.Value == nil {
			d.inferred(target, "config:factory.triage", s.ownWords(target))
			return
		}
		d.gate(target, work.GateDecidedData{
			Gate: string(target), Decision: string(gates.Advance), By: "config:factory.triage", Reason: "triage is off: the owner's word",
		})
	case st.Value != nil && st.Judged == "":
		d.judge(target, st)
	case st.Judged != "":
		d.openStage(at)
	case s.Spec.Who != ByModel || s.Nobody != "" || st.Unusable >= maxUnusable:
		why := s.unasked(st)
		for _, t := range d.covered(at) {
			d.gate(t, work.GateDecidedData{Gate: string(t), Decision: decideAsk, By: "rule:confirmation", Failed: []string{"state"}, Reason: why})
		}
	}
}

// judge asks the policy about a value.
func (d *decision) judge(target gates.Point, st *Stage) {
	s := d.s
	pr := st.Value.Proposal(target, s.Spec.Risk)
	c := s.Policy.Confirm(target, pr)
	record := c.Record(pr, s.version)
	if may := s.Policy.MayAct(occasion); target == gates.PointAction && c.Verdict == gates.Advance && may.Verdict != gates.Go {
		record = may.Record(target, s.version)
		record.Decision = string(gates.Surface)
	}
	d.gate(target, record)
}

// occasion is on what an action of triage begins: one of gates.Contexts.
const occasion = "action_proposal"

// covered are the targets that a checkpoint at a stage without a value is
// about: all that are left. Who could not say the first would be paid for the
// others as well, and a person asked the same three times.
func (d *decision) covered(at int) []gates.Point {
	end := at + 1
	for end < len(d.s.Stages) && d.s.Stages[end].Value == nil {
		end++
	}
	return gates.Targets()[at:end]
}

func (s *State) unasked(st *Stage) string {
	switch {
	case s.Spec.Who != ByModel:
		return orElse(s.Spec.Why, "nobody is set who could say it")
	case s.Nobody != "":
		return s.Nobody
	}
	return fmt.Sprintf("%d answers could not be used: %s", st.Unusable, orElse(st.Problem, "they said nothing"))
}

func orElse(text, other string) string {
	if text == "" {
		return other
	}
	return text
}

func said(why string) string {
	if why = line(why, 500); why == "" {
		return ""
	}
	return ": " + why
}

// ownWords is what holds at a target where nobody but the issue itself says
// it: with what people said at its questions.
func (s *State) ownWords(target gates.Point) Value {
	v := Value{Summary: s.Spec.Title}
	switch target {
	case gates.PointIntent:
		for _, c := range s.Spec.Criteria {
			v.Wants = append(v.Wants, c.Text)
		}
	case gates.PointContext:
		v.Summary = "As the issue says."
	case gates.PointAction:
		v.Kind, v.Name = "improvised", ActionImplement
	}
	return v
}

// policyOf reads a change of policy that comes with an answer, held within the
// bound of the thread.
func (s *State) policyOf(raw json.RawMessage) (p gates.Policy, bounded []string, err error) {
	if p, err = gates.ReadPolicy(raw); err != nil {
		return p, nil, err
	}
	if s.Spec.Bound != nil {
		bounded = gates.Exceeds(p, *s.Spec.Bound)
		p = gates.Meet(p, *s.Spec.Bound)
	}
	return p, bounded, nil
}
