package orchestrator

import (
	"fmt"
	"slices"
	"strings"

	"forge/dag"
	"forge/gates"
	"forge/internal/text"
	"forge/internal/work"
)

func applyPhaseStarted(s *State, p *Phase, _ work.Event, d PhaseStartedData) {
	if p.Stage == StageFinished {
		return
	}
	s.enter(p)
	if p.Parent == "" && s.Job == nil {
		// The frontier refuses only what has been started already.
		_ = s.frontier.Start(p.Number)
	}
	if p.Last == "" {
		p.Base, p.Last = d.Base, d.Base
		s.begin(p)
	}
	if len(p.Snaps) == 0 {
		p.snap(0, 0)
	}
	if p.Stage = StageFolder; s.contests(p) {
		p.Stage = StageTries
	}
}

func applyReopened(s *State, p *Phase, _ work.Event, d PhaseReopenedData) {
	if p.Outcome == work.PhaseFailed {
		p.note("The last attempt at this phase failed: %s. %s", p.Reason, p.Detail)
	}
	p.Outcome, p.Reason, p.Cause, p.Detail = "", "", "", ""
	p.Budget, p.Merge = d.Budget, nil
	p.anew()
	s.Issue.undecide()
	if d.Why == reopenFinal {
		// The result was judged as a whole, so the rework starts from it.
		head := s.HeadOf(p.Plan.Repository)
		p.Base, p.Last, p.Tree, p.Parts = head, head, "", nil
		p.Kind, p.Stage, p.Reworking = IterationRework, StageFolder, true
		p.snap(p.Iteration, p.Tries[p.Iteration])
		s.Final.Stage = FinalNone
		s.enter(p)
		return
	}
	p.Iteration, p.Spent, p.Kind, p.Stage, p.Proof = 0, 0, IterationWork, StageWaiting, ""
	if s.Job != nil {
		p.Stage = StageReady
		s.enter(p)
		s.Job.Over, s.Job.Status, s.Job.Then = false, "", nil
	} else {
		_ = s.frontier.Reopen(p.Number)
	}
	s.Final.Stage, s.Final.Rejected, s.Final.Note = FinalNone, "", ""
	s.Delivery = nil
}

// anew begins another attempt at p: what was asked, waited for or counted in the
// last one is of that one.
func (p *Phase) anew() {
	p.FailedRow, p.HungRow = 0, 0
	p.Split, p.Contest = Split{}, nil
	p.Requests, p.Stops, p.Child, p.Outage, p.Session = nil, nil, "", nil, ""
	p.Stale.Pivoted, p.Pivot, p.Allowed = false, "", 0
	p.steered()
	p.Blocked = gates.BlockerTracker{}
	p.Asking = p.Asking.again()
	p.Review = Review{}
	p.goneAlone()
	p.hooksAnew()
	p.Reopened++
	p.Reset = true
}

func applyFolder(s *State, p *Phase, _ work.Event, d FolderFinishedData) {
	if p.Stage != StageFolder {
		return
	}
	if !d.OK {
		p.Judged = Judged{Outcome: outcomeSetup, Detail: d.Problem}
		p.Stage = StageJudge
		return
	}
	p.Stage = StageGate
	s.prove(p)
	s.proveChosen(p)
}

// outcomeSetup marks a judgement that is not about an iteration: the folder
// could not be made ready.
const outcomeSetup work.Outcome = "setup_failed"

func applyIterationStarted(s *State, p *Phase, e work.Event, d work.IterationStartedData) {
	if p.Stage != StageIterate || p.Begun {
		return
	}
	p.Begun, p.Command = true, d.Command
	p.goneAlone()
	p.Iteration = e.Iteration
	p.Tries[e.Iteration] = e.Attempt
	p.giveMessages(d.Told, e.Iteration)
	s.reserve(p, d.Command, d.Reserved)
}

func applyIterationFinished(s *State, p *Phase, e work.Event, d work.IterationFinishedData) {
	if !p.Begun || e.Iteration != p.Iteration || e.Attempt != p.Tries[e.Iteration] {
		return
	}
	p.Begun = false
	anew := p.Past.Anew
	if anew {
		p.Past.Anew, p.Session = false, ""
	}
	s.settle(p, d.Command, d.Usage)
	s.weaken(d.Sandbox)
	switch d.Outcome {
	case work.OutcomeInterrupted:
		p.Iteration--
		p.Reset, p.Stage = true, StageGate
		return
	case work.OutcomeRateLimited:
		p.Iteration--
		p.Reset = true
		p.Judged = Judged{Outcome: d.Outcome, Detail: d.Detail, ResetAt: d.ResetAt}
		p.Stage = StageJudge
		return
	}
	p.Outage = nil
	s.answered(p.Set.Agent)
	p.Session, p.Total = d.Session, d.Total
	full := p.Past.fills(d.Usage.InputTokens, p.Set.ContextTokens)
	if anew || full || d.Lost || d.Outcome.Hung() || d.Outcome == work.OutcomeAgentFailed {
		p.Session = ""
	}
	switch {
	case d.Snapshot == "":
	case p.Kind == IterationResolve && p.Merge != nil:
		// Not the phase's own: should this fail, its work is what it was.
		p.Merge.Commit, p.Merge.Tree, p.Merge.Resolved = d.Snapshot, d.Tree, true
	default:
		p.Last, p.Tree = d.Snapshot, d.Tree
	}
	p.Reset = false
	if p.Kind == IterationWork {
		p.Spent++
	}
	p.count(e.Iteration, d)
	planned := p.splitting(d)
	s.remember(p, e.Iteration, d)
	for _, a := range d.Signals.Assumptions {
		s.assume(Assumption{Phase: p.Number, Text: a})
	}
	s.learn(p, d)
	p.Judged = Judged{Outcome: d.Outcome, Detail: d.Detail, Claims: d.Claims, Claim: ClaimDue, Markers: d.Conflicts}
	s.Final.words(p, d)
	if u := p.Pull; u != nil {
		u.Said = d.Message
		u.Answers = answered(u.Answers, u.Owed, d.Signals.Replies)
	}
	p.resolves(d)
	p.summarize(d)
	if d.Snapshot != "" && (p.Kind != IterationResolve || p.Merge == nil) {
		p.snap(e.Iteration, e.Attempt)
	}
	p.measured(d)
	p.Judged.Stalling = d.Outcome.KeepsClaim() && p.Kind == IterationWork && !planned
	p.Stage = StageJudge
}

// count keeps what the rules about failures and progress look at. A failed
// iteration is not "no progress".
func (p *Phase) count(n int, d work.IterationFinishedData) {
	p.FailedRow = row(p.FailedRow, d.Outcome == work.OutcomeAgentFailed)
	p.HungRow = row(p.HungRow, d.Outcome.Hung())
	tracker, progress := p.Progress.Observe(d.Changed, d.Signals.Progress)
	p.Progress = tracker
	if p.Kind == IterationWork {
		p.saw(n, d)
	}
	if !d.Outcome.KeepsClaim() || p.Kind != IterationWork {
		return
	}
	p.Stale.Count = row(p.Stale.Count, !progress)
	p.Blocked = p.Blocked.Observe(progress, plainBlockers(d.Signals))
}

// plainBlockers are the blockers that do not say what they need; what becomes of
// the others is asked.
func plainBlockers(sig work.Signals) []string {
	return slices.DeleteFunc(slices.Clone(sig.Blockers), func(b string) bool {
		return slices.ContainsFunc(sig.Lacks, func(l work.Lack) bool { return l.Text == b })
	})
}

func row(n int, again bool) int {
	if again {
		return n + 1
	}
	return 0
}

// remember keeps for the next prompts what the agent said and what Forge saw.
func (s *State) remember(p *Phase, n int, d work.IterationFinishedData) {
	p.Notes, p.Comments, p.Pivot, p.Verified, p.Hooks.Told = nil, nil, "", "", nil
	p.Blockers, p.Strategy = plainBlockers(d.Signals), d.Signals.Pivots
	p.Asking = p.Asking.next(d)
	p.readMessages(n, d.Heard)
	if len(d.Signals.Questions) > 0 && len(p.Asking.Due) == 0 {
		p.note("Your question was not put to anybody, since the iteration came to nothing. Ask again if you still have to know.")
	}
	line := fmt.Sprintf("Iteration %d: %s, %s changed.", n, d.Outcome, text.Number(d.Files, "file"))
	if said := text.FirstLine(text.Plain(d.Message), 200); said != "" {
		line += " It said: " + said
	}
	p.happened("%s", line)
	p.Past.sees(n, d)
	if d.Outcome != work.OutcomeOK {
		p.note("The last iteration ended %s: %s", d.Outcome, d.Detail)
	}
	for _, denied := range d.Denied {
		p.note("A permission was refused: %s", denied)
	}
	if len(d.Dropped) > 0 {
		p.note("Changes to these paths were dropped, they are not yours to change: %s", strings.Join(d.Dropped, ", "))
	}
	for _, problem := range d.Signals.Problems {
		p.note("A signal could not be used: %s", problem)
	}
	s.splits(p, d)
	p.Requests = append(p.Requests, d.Signals.SubPhases...)
	// What was not asked yet, since reviews come first, is still to be asked.
	stops, _ := parseStops(d.Signals)
	p.Stops = append(p.Stops, stops...)
	if p.Kind == IterationWork {
		p.Complete = nil
	}
	for _, raw := range d.Signals.JobComplete {
		if c, err := work.ParseCompletion(raw); err == nil && d.Outcome.KeepsClaim() {
			p.Complete = &c
		}
	}
	p.took(d.Todos)
}

// took keeps what the todos of p's last work say.
func (p *Phase) took(c *work.TodoCheck) {
	if p.Check = c; c != nil && p.Plan.Kind == work.KindTactical {
		p.Staged = slices.Concat(c.Open, c.Lost)
	}
}

func (p *Phase) note(format string, args ...any) {
	p.Notes = append(p.Notes, fmt.Sprintf(format, args...))
}

func (s *State) weaken(level string) {
	if level == "none" || s.Sandbox == "" {
		s.Sandbox = level
	}
}

func applyOutage(s *State, p *Phase, e work.Event, d OutageData) {
	since := e.Time
	if p.Outage != nil {
		since = p.Outage.Since
	}
	p.Outage = &Outage{Since: since, Until: d.Until, Tries: d.Tries}
	if d.Agent != "" {
		s.away(d.Agent, AwayAgent{Until: d.Away, Tries: d.AwayTries})
	}
	p.Stage = StageOutage
}

func applySpawned(s *State, p *Phase, _ work.Event, d SubPhaseSpawnedData) {
	if s.Phases[d.Number] != nil {
		return
	}
	set := p.Set
	set.Budget, set.Skills = d.Request.Budget, p.Set.Skills
	// The parent's own list may be about what the parent as a whole has to
	// reach; the project's list must hold at any time.
	if p.Set.VerifyOwn {
		set.Verify, set.VerifyOwn = s.settingsOf(p.Plan.Repository).Verify.Commands, false
	}
	if len(d.Verify) > 0 {
		set.Verify, set.VerifyOwn = d.Verify, true
	}
	child := s.newPhase(work.Phase{
		Number: d.Number, Name: d.Request.Name, Promise: d.Request.Promise, Budget: d.Request.Budget,
		Reasoning: d.Request.Reasoning, Kind: p.Plan.Kind, PhaseType: p.Plan.PhaseType, Repository: p.Plan.Repository,
	}, set, p.Number)
	child.Base, child.Last, child.Tree = p.Last, p.Last, p.Tree
	child.Stage = StageReady
	s.Phases[d.Number] = child
	s.Order = append(s.Order, d.Number)
	s.enter(child)
	p.Spawned++
	p.Child, p.Stage = d.Number, StageSub
	p.Split.spawned(d)
}

func applyFolded(s *State, p *Phase, _ work.Event, d SubPhaseFoldedData) {
	if p.Child != d.Number {
		return
	}
	p.Child, p.Stage = "", StageJudge
	p.Spent += d.Spent
	defer p.folded(d)
	if d.Outcome != work.PhaseDone {
		p.note("Sub-phase %s did not succeed: %s %s. Its work was dropped.", d.Number, d.Outcome, d.Reason)
		return
	}
	p.note("Sub-phase %s is done, its work is in your folder.", d.Number)
	if d.Commit != p.Last {
		if child := s.Phases[d.Number]; child != nil {
			p.proven(child.Base, d.Commit)
		}
		p.Last, p.Tree, p.Reset = d.Commit, "", true
		p.Blocked = gates.BlockerTracker{}
		p.steered()
	}
}

// proven notes a part of p's work that was proven while p goes on.
func (p *Phase) proven(base, commit string) {
	part := work.ProvenPart{Base: base, Commit: commit}
	if base != commit && !slices.Contains(p.Parts, part) {
		p.Parts = append(p.Parts, part)
	}
}

func applyPhaseFinished(s *State, p *Phase, _ work.Event, d work.PhaseFinishedData) {
	if p.Stage == StageFinished {
		return
	}
	p.Outcome, p.Reason, p.Cause, p.Detail, p.Proof = d.Outcome, d.Reason, d.Cause, d.Detail, d.Proof
	if d.Outcome != work.PhaseFailed || p.Parent != "" {
		p.Rewind = nil // there is nothing that goes on
	}
	p.Stage, p.Hooks.Due = StageFinished, nil
	s.leaves(p, d)
	if p.Reworking {
		s.Final.Note = d.Detail
	}
	p.Kind, p.Reworking = IterationWork, false
	if p.Begun {
		// What it consumed will never be known.
		p.Begun = false
		s.settle(p, p.Command, work.Usage{})
	}
	for _, id := range append(p.Review.begun(), p.Contest.begun()...) {
		s.settle(p, id, work.Usage{})
	}
	p.Review.takeBack()
	p.Contest.takeBack()
	s.releaseTurn(p)
	s.leave(p)
	for id, cp := range s.Open {
		if cp.Phase == p.Number {
			delete(s.Open, id)
		}
	}
	if d.Proof == work.ProofClaim {
		s.Unproven = true
	}
	if p.Parent != "" {
		return
	}
	if s.Job != nil {
		s.Job.goOn(d.Outcome)
		return
	}
	if len(s.skips) > 0 && s.skips[0].Key == p.Number {
		s.skips = s.skips[1:]
	}
	if d.Outcome == work.PhaseDone {
		_, _ = s.frontier.Done(p.Number)
		return
	}
	if st := s.frontier.State(p.Number); st == dag.Skipped || st == dag.Failed {
		return
	}
	skipped, _ := s.frontier.Fail(p.Number)
	s.skips = append(s.skips, skipped...)
}
