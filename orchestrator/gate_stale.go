package orchestrator

import (
	"cmp"
	"fmt"
	"strings"

	"forge/gates"
	"forge/internal/stuck"
	"forge/internal/work"
)

func staleGate() gate {
	return gate{
		names: []string{string(gates.PointStale)}, stages: []Stage{StageJudge},
		decide: (*decision).stalls, answered: (*decision).answeredStale, fold: foldStale,
		moves: map[string][]Stage{decideContinue: {StageJudge}, decidePivot: {StageJudge}, decideStop: {StageJudge}},
	}
}

// stalls decides on a phase that makes no progress.
func (d *decision) stalls(p *Phase) bool {
	stuck := p.Judged.Stalling && (p.Blocked.Same != "" || p.verdict().State == stuck.Stuck)
	if stuck {
		d.stale(p)
	}
	return stuck
}

func (d *decision) stale(p *Phase) {
	seen := p.verdict()
	if d.hooked(p, work.HookOnStall, fmt.Sprintf("%d-%d", p.Reopened, p.Iteration), strings.TrimSpace(seen.Evidence+"\n"+p.obstacle())) {
		return
	}
	dec := gates.For(d.s.policyOf(p)).OnNoProgress(gates.StaleFacts{
		Phase: p.Number, Threshold: p.Stale.Threshold, Count: p.Stale.Count, Pivoted: p.Stale.Pivoted, Blocker: p.Blocked.Same,
		Pattern: string(seen.Pattern), Evidence: seen.Evidence,
	})
	switch dec.Verdict {
	case gates.Go:
		d.strategy(p.Number, gates.PointStale, decideContinue, dec)
	case gates.Pivot:
		d.strategy(p.Number, gates.PointStale, decidePivot, dec)
	case gates.Ask:
		question, facts := fmt.Sprintf("Phase %s %q made no progress for %d iterations. What now?", p.Number, p.Plan.Name, p.Stale.Count), strings.Join(p.History, "\n")
		if seen.Evidence != "" {
			if p.Stale.Count < p.Stale.Threshold {
				question = fmt.Sprintf("Phase %s %q is stuck. What now?", p.Number, p.Plan.Name)
			}
			facts = seen.Evidence + "\n" + facts
		}
		if blocker := p.Blocked.Same; blocker != "" {
			question = fmt.Sprintf("Phase %s %q is blocked: the agent says again what stops it. What now?", p.Number, p.Plan.Name)
			facts = "What stops it, in its own words: " + blocker + "\n" + facts
		}
		d.open(p, string(gates.PointStale), dec.Failed, question, facts)
	default:
		d.strategy(p.Number, gates.PointStale, decideStop, dec)
		if blocker := p.Blocked.Same; blocker != "" {
			d.finish(p, work.PhaseFailed, work.ReasonBlocked, "two iterations in a row without progress, stopped by the same: "+blocker)
			return
		}
		if seen.Evidence != "" {
			d.finish(p, work.PhaseFailed, work.ReasonStale, "stuck again after the pivot; "+p.obstacle()+"; "+strings.TrimSuffix(seen.Evidence, "."))
			return
		}
		d.finish(p, work.PhaseFailed, work.ReasonStale, fmt.Sprintf("no progress for %d iterations after the pivot; %s", p.Stale.Count, p.obstacle()))
	}
}

func (d *decision) answeredStale(p *Phase, a answer) {
	switch {
	case a.yes:
		d.say(p, a, decideContinue)
	case a.comment != "":
		d.say(p, a, decidePivot)
	default:
		d.say(p, a, decideStop)
		d.finish(p, work.PhaseFailed, work.ReasonStale, "stopped by a person: "+a.Comment)
	}
}

func foldStale(s *State, p *Phase, d folded) {
	if d.Decision == decideAsk {
		return
	}
	p.Judged.Stalling = false
	evidence := p.verdict().Evidence
	p.steered()
	p.Blocked = gates.BlockerTracker{}
	if d.Decision == decidePivot {
		p.Stale.Pivoted = true
		p.Pivot = s.pivotText(evidence)
		p.Past.pivoted(p.Iteration, evidence)
		p.Session = ""
	}
}

// pivotText is the pivot prompt with what was seen before it.
func (s *State) pivotText(evidence string) string {
	prompt := cmp.Or(s.Spec.Settings.Stale.PivotPrompt, gates.DefaultPivotPrompt)
	if evidence == "" {
		return prompt
	}
	return "What Forge saw: " + evidence + "\n\n" + prompt
}
