package orchestrator

import (
	"maps"
	"slices"

	"forge/internal/work"
)

func applyHookDue(s *State, p *Phase, e work.Event, d work.HookDueData) {
	if p == nil && e.Phase != "" {
		return
	}
	k := s.hooksOf(p)
	if k.Due != nil {
		return
	}
	k.Due = &HookPoint{Event: d.Event, Key: d.Key, About: d.About}
}

func applyHookFinished(s *State, p *Phase, e work.Event, d work.HookFinishedData) {
	if p == nil && e.Phase != "" {
		return
	}
	k := s.hooksOf(p)
	if k.Due == nil || k.Due.Event != d.Event || k.Due.Action != "" {
		return
	}
	k.Asked++
	if d.Usage != nil {
		s.Ledger.settle(d.Command, *d.Usage)
		if p != nil {
			s.top(p).Usage.settle(d.Command, *d.Usage)
		}
	}

	due := *k.Due
	if !d.Action.Passes() {
		if p != nil && d.Action == work.HookSkip && d.Event == work.HookBeforeIteration && !p.Kind.Free() {
			// It is left out, and used up: a hook that always says so comes to an end.
			k.Due, p.Stage = nil, StageGate
			p.Spent++
			k.Skipped++
			return
		}
		due.Action, due.Why = d.Action, d.Why
		k.Due = &due
		return
	}
	if d.Tell != "" {
		k.tell(d.Tell)
	}
	if due.Next++; due.Next < len(s.hooksAt(p, due.Event)) {
		k.Due = &due
		return
	}
	k.Due, k.Passed = nil, maps.Clone(k.Passed)
	if k.Passed == nil {
		k.Passed = map[work.HookEvent]string{}
	}
	k.Passed[due.Event] = due.Key
}

// tell keeps what a hook says to the agent, the last of it where it is too much.
func (k *Hooks) tell(said string) {
	k.Told = append(slices.Clone(k.Told), said)
	if more := len(k.Told) - maxHooksTold; more > 0 {
		k.Told = k.Told[more:]
	}
}

// hookVerified notes that a proof of p has ended, for after_verify.
func (p *Phase) hookVerified(d work.VerifyFinishedData) {
	if d.On != work.OnSnapshot && d.On != work.OnMerged {
		return
	}
	p.Hooks.Verified, p.Hooks.Verdict = string(d.ID), "red"
	if d.OK {
		p.Hooks.Verdict = "green"
	}
}

// hooksAgain lets hooks that did not let something pass be asked again.
func (s *State) hooksAgain() {
	again := func(k *Hooks) {
		if k.Due != nil && k.Due.Action != "" {
			due := *k.Due
			due.Action, due.Why = "", ""
			k.Due = &due
		}
	}
	again(&s.Hooks)
	for _, p := range s.Phases {
		again(&p.Hooks)
	}
}

// hooksAnew forgets what hooks were asked in the last attempt at p; what they
// said to its agent stands.
func (p *Phase) hooksAnew() { p.Hooks = Hooks{Told: p.Hooks.Told, Asked: p.Hooks.Asked} }
