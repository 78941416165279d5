package embedded

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"forge/gates"
	"forge/internal/work"
	"forge/orchestrator"
)

// What people answer, what reviewers find, and what a criterion asks for.
const (
	yes      = work.CheckpointApproved
	changes  = work.CheckpointChangesRequested
	critical = work.SeverityCritical
	major    = work.SeverityMajor
	minor    = work.SeverityMinor
	makeTest = "`make test` passes"
)

// arbiterModel lets a model have a say before the rules decide.
func arbiterModel(sp *orchestrator.Spec) { sp.Settings.Reviews.Arbiter = "judge" }

// specOf is a run of one phase, budget 5, proven by one command, decided by
// nobody but Forge.
func specOf(t *testing.T, change ...func(*orchestrator.Spec)) orchestrator.Spec {
	t.Helper()
	policy, ok := gates.Preset(gates.PresetFull)
	if !ok {
		t.Fatal("there is no preset that asks nobody")
	}
	sp := orchestrator.Spec{
		Policy: policy, Branch: "forge/run-sim", Base: work.Base{Commit: "base", Branch: "main"},
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
	sp.Base.Commit = "base"
	return sp
}

func phases(lines ...string) func(*orchestrator.Spec) {
	return func(sp *orchestrator.Spec) {
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

func setting(change func(*work.Settings)) func(*orchestrator.Spec) {
	return func(sp *orchestrator.Spec) { change(&sp.Settings) }
}

func ofPhase01(change func(*work.PhaseSettings)) func(*orchestrator.Spec) {
	return ofPhaseN("01", change)
}

func ofPhaseN(n string, change func(*work.PhaseSettings)) func(*orchestrator.Spec) {
	return func(sp *orchestrator.Spec) {
		ps := sp.Settings.Phases[n]
		change(&ps)
		sp.Settings.Phases[n] = ps
	}
}

func budget(n int) func(*orchestrator.Spec) {
	return ofPhase01(func(ps *work.PhaseSettings) { ps.Budget = n })
}

// human makes the points a person's.
func human(points ...gates.Point) func(*orchestrator.Spec) {
	return func(sp *orchestrator.Spec) {
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

func unproven() func(*orchestrator.Spec) {
	return func(sp *orchestrator.Spec) {
		sp.Settings.Verify.Commands = nil
		for n, ps := range sp.Settings.Phases {
			ps.Verify = nil
			sp.Settings.Phases[n] = ps
		}
	}
}

func part(promise string, budget int) work.SubPhaseRequest {
	return work.SubPhaseRequest{Name: "part " + promise, Promise: promise, Budget: budget}
}

func report(green bool) work.CommandsReport {
	r := work.CommandsReport{OK: green, Ran: []work.CommandReport{{Command: "make test", OK: green, Output: "output of make test"}}}
	if !green {
		r.Problem = "make test failed"
	}
	return r
}

func expiresAfter(d time.Duration) func(*orchestrator.Spec) {
	return setting(func(s *work.Settings) { s.CheckpointExpirySecs = int(d / time.Second) })
}

// reviewedBy lets every phase be reviewed by these, with two fixes; one whose
// name ends in a question mark is advisory.
func reviewedBy(names ...string) func(*orchestrator.Spec) {
	var all []work.Specialist
	for _, name := range names {
		name, advisory := strings.CutSuffix(name, "?")
		all = append(all, work.Specialist{Name: name, Gating: !advisory})
	}
	return func(sp *orchestrator.Spec) {
		sp.Settings.Reviews = work.ReviewSettings{By: "llm", Threshold: 0.7}
		for n, ps := range sp.Settings.Phases {
			ps.Reviewed, ps.Reviewers, ps.MaxFixes = true, all, 2
			sp.Settings.Phases[n] = ps
		}
	}
}

func reviewSetting(change func(*work.ReviewSettings)) func(*orchestrator.Spec) {
	return func(sp *orchestrator.Spec) { change(&sp.Settings.Reviews) }
}

func fixes(n int) func(*orchestrator.Spec) {
	return ofPhase01(func(ps *work.PhaseSettings) { ps.MaxFixes = n })
}

// asksOnFail is fail_verdict = ask.
func asksOnFail(sp *orchestrator.Spec) { sp.Policy.FailVerdict = gates.AskOnFail }

func finds(severities ...work.Severity) []work.Finding {
	var out []work.Finding
	for i, s := range severities {
		out = append(out, work.Finding{Severity: s, File: "a.txt", Line: i + 1, Issue: fmt.Sprintf("%s thing %d", s, i+1), Failure: "it breaks", Suggestion: "mend it"})
	}
	return out
}

func sure(c float64) *float64 { return &c }

func caps(c work.Cost) func(*orchestrator.Spec) {
	return setting(func(s *work.Settings) { s.Cost = c })
}

func usd(v float64) *float64 { return &v }

// costs is what a review reports.
func costs(usd float64, tokens int64) work.Usage {
	zero := int64(0)
	return work.Usage{CostUSD: &usd, InputTokens: &tokens, OutputTokens: &zero}
}

// ofIssue lets a run work on an issue with these criteria; nobody holds it.
func ofIssue(criteria ...string) func(*orchestrator.Spec) {
	return func(sp *orchestrator.Spec) {
		sp.Issue = &work.IssueBrief{Project: "p1", ID: 7, Version: 3, Title: "Speak up"}
		for i, text := range criteria {
			sp.Issue.Criteria = append(sp.Issue.Criteria, work.Criterion{ID: "c" + string(rune('1'+i)), Text: text})
		}
		sp.Settings.Promote = work.PromoteSettings{Enabled: true, OnClean: true}
	}
}

func tail(evs []work.Event, n int) string {
	var b strings.Builder
	for _, e := range evs[max(len(evs)-n, 0):] {
		fmt.Fprintf(&b, "%d %s %s %d/%d %s\n", e.Seq, e.Kind, e.Phase, e.Iteration, e.Attempt, e.Data)
	}
	return b.String()
}
