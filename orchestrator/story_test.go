package orchestrator

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"forge/gates"
	"forge/internal/work"
)

// story feeds facts to the core by hand, one phase's doings after the other's.
type story struct {
	t      *testing.T
	spec   Spec // as the run was opened
	s      *State
	now    time.Time
	day    Day
	events []work.Event
	trees  int
}

// The changes that a story makes to its spec: one phase, budget 5, proven by
// one command, decided by nobody but Forge.

func phases(lines ...string) func(*Spec) {
	return func(sp *Spec) {
		sp.Plan.Phases = nil
		for _, line := range lines {
			number, needs, _ := strings.Cut(line, " after ")
			ph := work.Phase{Number: number, Name: "phase " + number, Promise: "P" + number}
			if needs != "" {
				ph.DependsOn = strings.Split(needs, ",")
			}
			sp.Plan.Phases = append(sp.Plan.Phases, ph)
			sp.Settings.Phases[number] = work.PhaseSettings{Budget: 5, Agent: "a", Permission: work.PermissionStandard, Verify: sp.Settings.Verify.Commands}
		}
	}
}

func setting(change func(*work.Settings)) func(*Spec) {
	return func(sp *Spec) { change(&sp.Settings) }
}

func ofPhase01(change func(*work.PhaseSettings)) func(*Spec) { return ofPhaseN("01", change) }

func ofPhaseN(n string, change func(*work.PhaseSettings)) func(*Spec) {
	return func(sp *Spec) {
		ps := sp.Settings.Phases[n]
		change(&ps)
		sp.Settings.Phases[n] = ps
	}
}

func budget(n int) func(*Spec) { return ofPhase01(func(ps *work.PhaseSettings) { ps.Budget = n }) }

// human makes the points a person's.
func human(points ...gates.Point) func(*Spec) {
	return func(sp *Spec) {
		p := sp.Policy
		p.Gates = map[gates.Point]gates.Mode{}
		for at, mode := range sp.Policy.Gates {
			p.Gates[at] = mode
		}
		for _, at := range points {
			p.Gates[at] = gates.Human
			if at == gates.PointStale {
				p.OnStale = gates.AskOnStale
			}
		}
		sp.Policy = p
	}
}

func unproven() func(*Spec) {
	return func(sp *Spec) {
		sp.Settings.Verify.Commands = nil
		for n, ps := range sp.Settings.Phases {
			ps.Verify = nil
			sp.Settings.Phases[n] = ps
		}
	}
}

// tell opens a run and lets its base be green.
func tell(t *testing.T, change ...func(*Spec)) *story {
	t.Helper()
	st := open(t, change...)
	if st.s.Baseline.Stage == BaselineDue {
		st.base(true)
	}
	return st
}

func open(t *testing.T, change ...func(*Spec)) *story {
	t.Helper()
	sp := Spec{
		Policy: newLab(t).autonomous, Branch: "forge/run-sim", Base: work.Base{Commit: "c0", Branch: "main"},
		Settings: work.Settings{
			MaxParallel: 4, AutoApproveThreshold: 5, OutageWaitSecs: 1800, Verify: work.VerifySettings{Commands: []string{"make test"}},
			Proof:  work.ProofSettings{NoControls: true},
			Agents: map[string]work.AgentSettings{"a": {Name: "a", Continues: true}}, Phases: map[string]work.PhaseSettings{},
		},
	}
	phases("01")(&sp)
	for _, c := range change {
		c(&sp)
	}
	s, err := NewState("sim", sp)
	if err != nil {
		t.Fatal(err)
	}
	st := &story{t: t, spec: sp, s: s, now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	st.feed(Opened{Inline: &sp})
	return st
}

func (st *story) feed(f Fact) []work.Event {
	st.t.Helper()
	evs, err := Feed(st.s, Input{Now: st.now, Day: st.day, Fact: f})
	if err != nil {
		st.t.Fatal(err)
	}
	st.events = append(st.events, evs...)
	return evs
}

func (st *story) phase(n string) *Phase {
	st.t.Helper()
	p := st.s.Phases[n]
	if p == nil {
		st.t.Fatalf("there is no phase %s", n)
	}
	return p
}

// begun is the command of a phase ("" = the run) at a step, on record.
func (st *story) begun(n string, step Step) Command {
	st.t.Helper()
	for _, c := range Pending(st.s) {
		if c.Phase == n && c.Step == step {
			st.feed(Began{Command: c})
			return c
		}
	}
	st.t.Fatalf("%s of phase %q is not pending; pending is %v, and the last events are\n%s", step, n, st.pending(), tail(st.events, 6))
	return Command{}
}

// pending lists what is to be done, as "phase step".
func (st *story) pending() []string {
	var out []string
	for _, c := range Pending(st.s) {
		out = append(out, strings.TrimSpace(c.Phase+" "+string(c.Step)))
	}
	return out
}

func (st *story) isPending(want ...string) {
	st.t.Helper()
	if got := st.pending(); !slices.Equal(got, want) {
		st.t.Errorf("pending is %q, want %q; the last events are\n%s", got, want, tail(st.events, 6))
	}
}

func (st *story) base(green bool) {
	st.t.Helper()
	st.feed(VerifyDone{Command: st.begun("", StepBase), Report: report(green)})
}

func report(green bool) work.CommandsReport {
	r := work.CommandsReport{OK: green, Ran: []work.CommandReport{{Command: "make test", OK: green, Output: "output of make test"}}}
	if !green {
		r.Problem = "make test failed"
	}
	return r
}

func (st *story) folder(n string) {
	st.t.Helper()
	st.feed(FolderDone{Command: st.begun(n, StepFolder), Setup: work.CommandsReport{OK: true}})
}

// work is one iteration of a phase: a new tree and nothing said, unless told.
func (st *story) work(n string, told ...func(*IterationDone)) []work.Event {
	st.t.Helper()
	if st.phase(n).Stage == StageFolder {
		st.folder(n)
	}
	c := st.begun(n, StepIterate)
	st.trees++
	name := fmt.Sprintf("%d", st.trees)
	done := IterationDone{
		Command: c, Report: work.IterationReport{Outcome: work.OutcomeOK, Session: "session", Sandbox: "bubblewrap"},
		Snapshot: work.Snapshot{Commit: "c" + name, Tree: "t" + name, Changed: true, Files: []work.FileChange{{Path: "a.txt", Status: "M"}}},
	}
	for _, change := range told {
		change(&done)
	}
	return st.feed(done)
}

func says(words ...string) func(*IterationDone) {
	return func(d *IterationDone) { d.Report.Claims, d.Report.Signals.Promises = words, words }
}

func ends(o work.Outcome) func(*IterationDone) {
	return func(d *IterationDone) { d.Report.Outcome, d.Report.Detail = o, "because" }
}

func reports(percent ...float64) func(*IterationDone) {
	return func(d *IterationDone) { d.Report.Signals.Progress = percent }
}

func blocks(words ...string) func(*IterationDone) {
	return func(d *IterationDone) { d.Report.Signals.Blockers = words }
}

func asksFor(r ...work.SubPhaseRequest) func(*IterationDone) {
	return func(d *IterationDone) { d.Report.Signals.SubPhases = r }
}

func uses(usd float64, tokens int64) func(*IterationDone) {
	return func(d *IterationDone) {
		zero := int64(0)
		d.Report.Usage = work.Usage{CostUSD: &usd, InputTokens: &tokens, OutputTokens: &zero}
	}
}

func changesNothing(d *IterationDone) { d.Snapshot = work.Snapshot{Commit: d.Command.Commit, Tree: ""} }

func part(promise string, budget int) work.SubPhaseRequest {
	return work.SubPhaseRequest{Name: "part " + promise, Promise: promise, Budget: budget}
}
