package orchestrator

import (
	"bytes"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	"forge/dag"
	"forge/gates"
	"forge/internal/work"
)

// simCore is the version of who opens the runs: another one than that of who takes
// them up.
const simCore = "41"

// invariants are what must hold after every event, whatever happens. They keep
// their own books, beside those of the state. What they note about events that
// are not written yet is taken back when the process dies.
type invariants struct {
	w       *world
	undo    []func()
	used    []work.Usage // of iterations whose end is not written yet
	reading reading

	started   map[string]bool // attempts at iterations
	finished  map[string]bool
	performed map[work.CommandID]bool // agents that ran, in the world: never taken back
	counted   map[string]int          // phase → last iteration that came to a result
	spent     map[string]int          // phase → iterations of its budget, sub-phases included
	allowed   map[string]string       // phase → iteration that a person said yes to
	ended     map[string]bool
	landed    map[string]string             // phase → tree
	proven    map[string]string             // phase → tree that passed its last proof
	earlier   map[string]string             // phase → tree that passed the one before
	let       map[string]string             // phase → tree that a person, or the arbiter by its rules, let pass
	claims    map[string]bool               // phase → its last report claims its own promise, in truth
	heard     map[string]work.ArbiterAnswer // phase → what the arbiter's model said last
	blockers  map[string]blockedBook
	waiting   map[string]waitBook
	asks      map[string]askBook
	asked     map[string]work.Checkpoint
	answers   map[string][]work.Answer // by checkpoint, in truth
	resolved  map[string]bool
	said      map[string]work.CheckpointStatus // phase → the answer whose decisions are due
	needs     map[string][]string
	outcome   work.RunOutcome
	policy    gates.Policy        // that holds now
	nextOfJob string              // "kind todos" of the phase that is due, none, end, cancelled, failed
	completes map[string]bool     // phase → its last report says, in truth, that the job is complete
	stops     map[string][]string // phase → points that a person has to look at
	again     *work.Checkpoint    // what expired, and is to be asked again at once
	books     books
	words     map[string]heardBook
	backs     rewindBooks
	hooks     hookBooks

	doubts, doubtful, proved map[string]bool // of an issue's run
	pulls                    pullBooks
	brought                  map[int]brought
	promotions               map[string]PromotionDecidedData
	dubious                  map[string]bool // phases that landed with a proof in doubt
	rests                    restBooks
	split                    splitBooks
	away                     awayBooks
	look                     lookBooks
	parts                    map[string]bool // phases of whose work, in truth, a part was proven before it as a whole
	approved                 map[string]bool // heads that a person approved as the result
	later                    map[string]int  // what was left for later so far, at ""
	taught                   map[string]bool // lessons that agents proposed
	trains                   trainBooks
	contests                 tryBooks
	council                  councilBooks
}

func newInvariants(w *world) *invariants {
	c := &invariants{
		w: w, reading: reading{data: map[reflect.Type]any{}}, started: map[string]bool{}, finished: map[string]bool{}, performed: map[work.CommandID]bool{}, counted: map[string]int{}, spent: map[string]int{}, allowed: map[string]string{},
		ended: map[string]bool{}, landed: map[string]string{}, proven: map[string]string{}, earlier: map[string]string{}, claims: map[string]bool{}, asked: map[string]work.Checkpoint{},
		answers: map[string][]work.Answer{}, resolved: map[string]bool{}, said: map[string]work.CheckpointStatus{}, needs: map[string][]string{}, let: map[string]string{},
		heard: map[string]work.ArbiterAnswer{}, blockers: map[string]blockedBook{}, waiting: map[string]waitBook{}, asks: map[string]askBook{}, words: map[string]heardBook{},
	}
	for _, ph := range w.spec.Plan.Phases {
		c.needs[ph.Number] = ph.DependsOn
	}
	c.books, c.away = newBooks(w.spec.Settings), awayBooks{until: map[string]time.Time{}}
	c.policy, c.stops = w.spec.Policy, map[string][]string{}
	c.completes = map[string]bool{}
	c.doubts, c.doubtful, c.proved = map[string]bool{}, map[string]bool{}, map[string]bool{}
	c.pulls = pullBooks{yes: map[string]bool{}, judged: map[string]string{}, told: map[string]bool{}, mended: map[string]bool{}, pushed: map[string]bool{}, red: map[string]string{}}
	c.hooks, c.rests, c.look = newHookBooks(), newRestBooks(), newLookBooks()
	c.parts, c.split, c.backs = map[string]bool{}, newSplitBooks(), newRewindBooks()
	c.dubious, c.approved, c.later = map[string]bool{}, map[string]bool{}, map[string]int{}
	c.taught, c.trains = map[string]bool{}, newTrainBooks()
	c.contests, c.council = newTryBooks(), newCouncilBooks()
	c.brought, c.promotions = map[int]brought{}, map[string]PromotionDecidedData{}
	return c
}

// note writes into a map so that it can be taken back.
func note[K comparable, V any](c *invariants, m map[K]V, k K, v V) {
	old, had := m[k]
	c.undo = append(c.undo, func() {
		if delete(m, k); had {
			m[k] = old
		}
	})
	m[k] = v
}

func (c *invariants) rollBack() {
	for _, undo := range slices.Backward(c.undo) {
		undo()
	}
	c.undo, c.used = nil, nil
}

// performs: an agent runs at most once for every attempt that is on record.
func (c *invariants) performs(e effect) error {
	if e.Step == StepReview && len(c.w.s.Phases[e.Phase].Set.Verify) > 0 && !c.w.treeOf(e.Commit).proven {
		return fmt.Errorf("%s looks at a tree that is not proven", e.ID)
	}
	if e.Step != StepIterate {
		return nil
	}
	if c.performed[e.ID] {
		return fmt.Errorf("the agent of %s runs twice", e.ID)
	}
	c.performed[e.ID] = true
	if attempt := fmt.Sprintf("%s/%d/%d", e.Phase, e.Iteration, e.Attempt); !c.started[attempt] {
		return fmt.Errorf("the agent of %s runs without being on record", e.ID)
	}
	return nil
}

// given is an answer that a door accepted.
func (c *invariants) given(a work.Answer) {
	c.answers[a.Checkpoint] = append(c.answers[a.Checkpoint], a)
}

// observed is what truly came of an effect.
func (c *invariants) observed(f Fact) {
	it, ok := f.(IterationDone)
	if !ok {
		return
	}
	p := c.w.s.Phases[it.Command.Phase]
	words := slices.Compact(slices.Clone(it.Report.Claims))
	kept := it.Report.Outcome == work.OutcomeOK || it.Report.Outcome == work.OutcomePostResult
	note(c, c.claims, p.Number, kept && len(words) == 1 && words[0] == p.Plan.Promise)
	if c.w.spec.Job != nil && p.Parent == "" {
		c.observedJob(p, it)
	}
}

// before judges an event against the state that it is about to change.
func (c *invariants) before(s *State, e work.Event) error {
	p := s.Phases[e.Phase]
	if err := c.books.before(c, s, e); err != nil {
		return err
	}
	if err := c.ofIssue(s, p, e); err != nil {
		return err
	}
	if err := c.heldOn(s, e); err != nil {
		return err
	}
	if err := c.ofPulls(s, p, e); err != nil {
		return err
	}
	if err := c.waits(p, e); err != nil {
		return err
	}
	if err := c.blocked(p, e); err != nil {
		return err
	}
	if err := c.several(p, e); err != nil {
		return err
	}
	if err := c.ofLevels(s, e); err != nil {
		return err
	}
	if err := c.looks(s, p, e); err != nil {
		return err
	}
	if err := c.leftForLater(s, e); err != nil {
		return err
	}
	if err := c.asking(s, p, e); err != nil {
		return err
	}
	if err := c.lessons(s, p, e); err != nil {
		return err
	}
	if err := c.telling(s, p, e); err != nil {
		return err
	}
	if err := c.ofHooks(p, e); err != nil {
		return err
	}
	if err := c.ofSplits(s, p, e); err != nil {
		return err
	}
	if err := c.rewound(s, p, e); err != nil {
		return err
	}
	if err := c.ofTrains(s, p, e); err != nil {
		return err
	}
	if err := c.ofTries(s, p, e); err != nil {
		return err
	}
	if err := c.ofCouncils(s, p, e); err != nil {
		return err
	}
	if err := c.ofPages(s, p, e); err != nil {
		return err
	}
	switch e.Kind {
	case work.RunStarted:
		var d RunStartedData
		if err := decode(e, &d); err != nil {
			return err
		}
		if d.Core != simCore {
			return fmt.Errorf("a run that core %s began says that it was core %q", simCore, d.Core)
		}
	case work.RunResumed:
		if c.outcome == work.RunCompleted || c.outcome == work.RunCancelled {
			return fmt.Errorf("a run that is %s goes on", c.outcome)
		}
		c.setOutcome("")
	case work.PhaseStarted:
		for _, n := range c.needs[e.Phase] {
			if s.Phases[n].Outcome != work.PhaseDone {
				return fmt.Errorf("phase %s starts, but %s is %q", e.Phase, n, s.Phases[n].Outcome)
			}
		}
	case work.IterationStarted:
		return c.iterationStarted(s, p, e)
	case work.IterationFinished:
		return c.iterationFinished(e)
	case work.PhaseReopened:
		note(c, c.counted, e.Phase, 0)
		note(c, c.spent, e.Phase, 0)
		note(c, c.spent, "fixes of "+e.Phase, 0)
		note(c, c.ended, e.Phase, false)
		note(c, c.stops, e.Phase, nil)
		if s.Final.Stage == FinalAsked {
			note(c, c.parts, e.Phase, false) // it landed as a whole
			// A rework counts on from where the phase was.
			note(c, c.counted, e.Phase, p.Iteration)
		}
	case work.VerifyFinished:
		return c.verified(p, e)
	case work.ControlFinished:
		return c.controlled(e)
	case work.RestFinished:
		return c.rested(s, e)
	case work.SubPhaseFolded, work.MergeFinished:
		return c.partProven(s, p, e)
	case work.ReviewStarted, work.ReviewFinished, work.ArbiterStarted, work.ArbiterFinished, work.ArbiterDecided:
		return c.ofReviews(s, p, e)
	case work.PhaseAdded, work.JobDecided:
		return c.ofJob(s, p, e)
	case work.PolicyChanged:
		return c.policyChanged(e)
	case work.PhaseMerged:
		if left := c.stops[e.Phase]; len(left) > 0 {
			return fmt.Errorf("phase %s lands, and nobody was asked at %v", e.Phase, left)
		}
		return c.merged(s, p, e)
	case work.PhaseFinished:
		if bytes.Contains(e.Data, []byte(ranOutHere)) {
			return fmt.Errorf("phase %s ends for want of room: %s", e.Phase, e.Data)
		}
		return c.phaseFinished(s, p, e)
	case work.CheckpointOpened, work.CheckpointAnswered, work.CheckpointOverdue, work.GateDecided:
		return c.person(s, e)
	case work.DeliverStarted:
		return c.delivers(s)
	case work.RunFinished:
		return c.runFinished(s, e)
	}
	return nil
}

// delivers: nothing whose proof is in doubt is delivered as done unless a
// person said so, or an owner that nobody has to.
func (c *invariants) delivers(s *State) error {
	for _, p := range s.Phases {
		if p.Parent == "" && p.Outcome != work.PhaseDone {
			return nil
		}
	}
	if s.Final.Rejected == "" {
		if err := c.nothingLeft(s); err != nil {
			return err
		}
	}
	if s.Final.Rejected != "" || c.policyAt(s, "").At(gates.DoubtPoint(simDoubt)) == gates.Auto || c.approved[s.Head] {
		return nil
	}
	for phase, dubious := range c.dubious {
		if dubious {
			return fmt.Errorf("the result is delivered, the proof of phase %s is in doubt, and nobody was asked", phase)
		}
	}
	return nil
}

func (c *invariants) setOutcome(o work.RunOutcome) {
	old := c.outcome
	c.undo = append(c.undo, func() { c.outcome = old })
	c.outcome = o
}

func (c *invariants) iterationStarted(s *State, p *Phase, e work.Event) error {
	attempt := fmt.Sprintf("%s/%d/%d", e.Phase, e.Iteration, e.Attempt)
	switch left := c.stops[e.Phase]; {
	case len(left) > 0 && p.Kind == IterationWork: // fixes and reworks come before the question
		return fmt.Errorf("iteration %s starts, and nobody was asked at %v", attempt, left)
	case c.started[attempt]:
		return fmt.Errorf("iteration %s starts twice", attempt)
	case e.Iteration != c.counted[e.Phase]+1:
		return fmt.Errorf("iteration %s starts after number %d: one is lost or done again", attempt, c.counted[e.Phase])
	case p.Kind == IterationWork && (c.spent[e.Phase] >= p.Budget || p.Try == 0 && c.spent[s.top(p).Number] >= s.top(p).Budget):
		return fmt.Errorf("iteration %s starts beyond the budget of %d", attempt, p.Budget)
	}
	note(c, c.started, attempt, true)
	var d work.IterationStartedData
	if err := read(c, e, &d); err != nil {
		return err
	}
	return c.books.begins(c, d.Command, s.top(p).Number)
}

func (c *invariants) iterationFinished(e work.Event) error {
	attempt := fmt.Sprintf("%s/%d/%d", e.Phase, e.Iteration, e.Attempt)
	if !c.started[attempt] || c.finished[attempt] {
		return fmt.Errorf("iteration %s finishes without having started, or twice", attempt)
	}
	note(c, c.finished, attempt, true)
	var d work.IterationFinishedData
	if err := read(c, e, &d); err != nil {
		return err
	}
	if d.Command == "" {
		return fmt.Errorf("the data of iteration %s is lost", attempt)
	}
	c.used = append(c.used, d.Usage)
	if err := c.books.ends(c, d.Command, d.Usage); err != nil {
		return err
	}
	if d.Outcome == work.OutcomeInterrupted || d.Outcome == work.OutcomeRateLimited {
		return nil
	}
	if e.Iteration != c.counted[e.Phase]+1 {
		return fmt.Errorf("iteration %s comes to a result after number %d", attempt, c.counted[e.Phase])
	}
	note(c, c.counted, e.Phase, e.Iteration)
	note(c, c.stops, e.Phase, append(slices.Clone(c.stops[e.Phase]), c.humanStops(c.w.s.Phases[e.Phase], d)...))
	if d.Fix {
		return nil
	}
	note(c, c.spent, e.Phase, c.spent[e.Phase]+1)
	if p := c.w.s.Phases[e.Phase]; p.Parent != "" && p.Try == 0 {
		note(c, c.spent, p.Parent, c.spent[p.Parent]+1)
	}
	return nil
}

// verified: a yes counts only when the world said yes to that very commit.
func (c *invariants) verified(p *Phase, e work.Event) error {
	var d work.VerifyFinishedData
	if err := read(c, e, &d); err != nil || !d.OK {
		return err
	}
	if err := c.provenOnce(p, e, d); err != nil || p == nil {
		return err
	}
	commit := p.Last
	if p.Merge != nil {
		commit = p.Merge.Commit
	}
	// Of a member of a batch its own tree need not be green: the branch never holds it.
	rides := d.Rides != "" || c.w.s.Train.has(e.Phase) && d.On != work.OnMerged
	if t := c.w.treeOf(commit); !rides && !t.proven {
		return fmt.Errorf("verify of phase %s on %s is green, and in truth it is not", e.Phase, c.w.commits[commit])
	}
	if was, now := c.proven[e.Phase], c.w.commits[commit]; was != now {
		note(c, c.earlier, e.Phase, was)
	}
	note(c, c.proven, e.Phase, c.w.commits[commit])
	note(c, c.proven, e.Phase+" "+c.w.commits[commit], c.w.commits[commit])
	return nil
}

// controlled: a proof that counts for nothing leaves the one before it standing.
func (c *invariants) controlled(e work.Event) error {
	var d work.ControlFinishedData
	if err := read(c, e, &d); err != nil || d.Problem == "" || len(d.Deaf)+len(d.Replaced) > 0 {
		return err
	}
	note(c, c.proven, e.Phase+" "+c.proven[e.Phase], "")
	note(c, c.proven, e.Phase, c.earlier[e.Phase])
	return nil
}

// merged: nothing lands but the very tree that was proven, and in its turn.
func (c *invariants) merged(s *State, p *Phase, e work.Event) error {
	var d PhaseMergedData
	if err := read(c, e, &d); err != nil {
		return err
	}
	name := c.w.commits[d.Commit]
	t := c.w.trees[name]
	verify := len(p.Set.Verify) > 0
	rides := d.Train > 0 // the branch never holds its tree by itself
	switch {
	case s.Merger != e.Phase && !s.Train.has(e.Phase):
		return fmt.Errorf("phase %s lands in the turn of %q", e.Phase, s.Merger)
	case p.Parent != "":
		return fmt.Errorf("sub-phase %s lands by itself", e.Phase)
	case t.marked:
		return fmt.Errorf("phase %s lands tree %s with conflict markers", e.Phase, name)
	case verify && !rides && (!t.green || !t.proven):
		return fmt.Errorf("phase %s lands tree %s: green %v, proven %v", e.Phase, name, t.green, t.proven)
	case verify && c.proven[e.Phase] != name && !(d.Empty && c.w.commits[p.Last] == name):
		return fmt.Errorf("phase %s lands tree %s, proven was %s", e.Phase, name, c.proven[e.Phase])
	case c.isLet(e.Phase, name):
		// A person saw that the evidence was changed, and let it pass.
	case verify && t.touched && !t.protected:
		return fmt.Errorf("phase %s lands tree %s, whose protected files nobody checked", e.Phase, name)
	case verify && t.cheats:
		return fmt.Errorf("phase %s lands tree %s with tampered tests", e.Phase, name)
	case verify && t.strange && !t.trusted:
		return fmt.Errorf("phase %s lands tree %s, which nobody held against the trusted evidence", e.Phase, name)
	case verify && !rides && c.w.secret() && !t.unshown:
		return fmt.Errorf("phase %s lands tree %s, which no hidden check passed", e.Phase, name)
	case verify && c.parts[e.Phase] && t.drops && !t.parted:
		return fmt.Errorf("phase %s lands tree %s, which nobody held against the evidence of its parts", e.Phase, name)
	case verify && c.parts[e.Phase] && t.lapses:
		return fmt.Errorf("phase %s lands tree %s, which is red with the evidence of its parts", e.Phase, name)
	case verify && t.launder:
		return fmt.Errorf("phase %s lands tree %s, whose trusted evidence is red", e.Phase, name)
	case verify && t.hides:
		return fmt.Errorf("phase %s lands tree %s, which is red with what may be product left in it", e.Phase, name)
	case verify && s.controlled("") && !t.heard:
		return fmt.Errorf("phase %s lands tree %s, and no test runner was asked about it", e.Phase, name)
	case verify && s.controlled("") && t.deaf:
		return fmt.Errorf("phase %s lands tree %s, on which no test can fail", e.Phase, name)
	case verify && s.controlled("") && t.loses:
		return fmt.Errorf("phase %s lands tree %s, on which tests are lost", e.Phase, name)
	}
	if verify && t.doubt {
		note(c, c.dubious, e.Phase, true)
	}
	if verify && s.controlled("") && t.heard {
		// Tests are held against those that were last accepted: the last word counts.
		for _, phase := range slices.Sorted(maps.Keys(c.rests.soft)) {
			note(c, c.rests.soft, phase, false)
		}
		note(c, c.rests.soft, e.Phase, t.softens && !c.isLet(e.Phase, name))
	}
	if verify && s.controlled("") && t.heard && t.owes && !c.isLet(e.Phase, name) {
		note(c, c.rests.owed, e.Phase, name)
	}
	note(c, c.landed, e.Phase, name)
	return c.reviewedTree(p, name)
}

func (c *invariants) phaseFinished(s *State, p *Phase, e work.Event) error {
	var d work.PhaseFinishedData
	if err := read(c, e, &d); err != nil {
		return err
	}
	if c.ended[e.Phase] {
		return fmt.Errorf("phase %s ends twice", e.Phase)
	}
	note(c, c.ended, e.Phase, true)
	c.w.reasons[d.Reason]++
	verify := len(p.Set.Verify) > 0
	switch d.Outcome {
	case work.PhaseDone:
		switch {
		case c.w.spec.Job != nil && c.nextOfJob == "strategic resume":
			// Its work goes on in the next phase.
		case p.Parent == "" && c.landed[e.Phase] == "":
			return fmt.Errorf("phase %s is done without having been merged", e.Phase)
		case verify && d.Proof != work.ProofVerified, !verify && d.Proof != work.ProofClaim && d.Proof != work.ProofWaived:
			return fmt.Errorf("phase %s is done with proof %q", e.Phase, d.Proof)
		case d.Proof == work.ProofWaived && !c.w.spec.Settings.Verify.None:
			return fmt.Errorf("phase %s is done by a waiver that nobody gave", e.Phase)
		}
	case work.PhaseFailed:
		if d.Reason == "" {
			return fmt.Errorf("phase %s fails without a reason", e.Phase)
		}
	case work.PhaseSkipped:
		if d.Reason == work.ReasonUser || d.Reason == work.ReasonHook {
			return nil
		}
		cause := s.Phases[d.Cause]
		if s.frontier.State(e.Phase) != dag.Skipped || cause == nil || cause.Outcome == work.PhaseDone || cause.Outcome == work.PhaseSkipped && cause.Reason != work.ReasonUser && cause.Reason != work.ReasonHook {
			return fmt.Errorf("phase %s is skipped because of %q, which is not the first failure", e.Phase, d.Cause)
		}
	case work.PhaseCancelled:
	default:
		return fmt.Errorf("phase %s ends %q", e.Phase, d.Outcome)
	}
	return nil
}

func (c *invariants) runFinished(s *State, e work.Event) error {
	var d work.RunFinishedData
	if err := read(c, e, &d); err != nil {
		return err
	}
	c.setOutcome(d.Outcome)
	c.w.ends[d.Outcome]++
	n := 0
	for _, u := range c.w.under {
		// Reviews of a phase that is over are being ended, and their results dropped;
		// so is what becomes of a message whose iteration is over.
		p := s.Phases[u.Phase]
		dropped := p != nil && p.Stage == StageFinished && (u.Step == StepReview || u.Step == StepTell || p.Stopped != "")
		if !dropped {
			n++
		}
	}
	if n > 0 {
		return fmt.Errorf("the run ends %s with %d effects under way", d.Outcome, n)
	}
	done := true
	for _, p := range s.Phases {
		done = done && (p.Parent != "" || p.Outcome == work.PhaseDone)
		if d.Outcome.Final() && p.Stage != StageFinished {
			return fmt.Errorf("the run ends %s while phase %s stands at %s", d.Outcome, p.Number, p.Stage)
		}
	}
	if c.w.spec.Job != nil {
		if err := c.jobOver(d.Outcome); err != nil {
			return err
		}
	}
	switch d.Outcome {
	case work.RunCompleted:
		if !done {
			return fmt.Errorf("the run completes with phases that are not done")
		}
		if s.Delivery == nil || c.w.commits[s.Delivery.Commit] != c.w.commits[s.Head] {
			return fmt.Errorf("the run completes, and its result is not delivered")
		}
	case work.RunFrozen:
		if len(Pending(s)) > 0 || len(s.Open) == 0 {
			return fmt.Errorf("the run freezes with %d commands pending and %d questions open", len(Pending(s)), len(s.Open))
		}
	case work.RunFailed, work.RunCancelled, work.RunLimit, work.RunInterrupted:
	default:
		return fmt.Errorf("the run ends %q", d.Outcome)
	}
	return nil
}
