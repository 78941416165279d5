package orchestrator

import (
	"fmt"
	"math"
	"strings"
	"time"

	"forge/internal/work"
)

// tree is the truth about one content, which nobody but the world knows.
type tree struct {
	green   bool            // verify passes on it
	touched bool            // it changes protected files …
	cheats  bool            // … and passes because of them alone
	marked  bool            // conflict markers are left
	flaw    work.Severity   // what reviewers may find
	todos   *work.TodoCheck // of a job
	like    string          // tree with the same content of the phase's files
	strange bool            // its evidence is not the trusted one …
	launder bool            // … and it passes because of that alone
	hides   bool            // … or because product that nobody takes for it is put back
	deaf    bool            // with its product in place no test can fail
	loses   bool            // tests do not run any more
	doubt   bool            // its proof is worth less than it looks
	special bool            // it is right for the inputs of its tests alone
	owes    bool            // its controls have no time for something …
	lateBad bool            // … that would show a test which cannot fail
	changed bool            // … which would be one that was changed
	lateGap bool            // … or a change that no test needs
	drops   bool            // evidence of parts of its work is another …
	lapses  bool            // … and it passes because of that alone
	softens bool            // as they are changed, its tests no longer miss its product
	blank   bool            // its pages cannot be shown …
	throws  bool            // … or have errors that they did not have

	proven    bool // a verify said yes to it
	protected bool // likewise, with the protected files as at the base
	trusted   bool // likewise, with the evidence of the trusted state
	parted    bool // likewise, with the evidence of parts of its work
	heard     bool // test runners were asked about it
	unshown   bool // the owner's hidden checks said yes to it
	seen      bool // its pages were shown, and are good
}

// world is everything outside the core, made of values: the disk, the git
// repository, the agents, the people, and one process after the other that
// works on the run. It is seeded, so that a schedule can be played again.
type world struct {
	dice
	spec Spec
	now  time.Time

	// On disk.
	journal []work.Event
	records map[string]work.Checkpoint // as the doors see them
	inbox   []inboxRow
	rows    int64
	told    int                 // messages so far
	handed  map[string][]string // messages that agents took, by try
	trees   map[string]*tree
	commits map[string]string // commit → tree
	spent   map[string]Day    // by day (UTC)
	said    map[string]said   // by specialist and tree
	spoke   map[string]bool   // by specialist, tree and criterion: is it met?
	stuck   bool              // most iterations lack the same thing
	deaf    bool              // most reviews give no usable answer

	// The live process: the state as it sees it, what it has not written yet,
	// and what it has set going.
	s        *State
	batch    []work.Event
	consumed map[int64]bool
	under    map[work.CommandID]effect
	dropped  map[work.CommandID]bool // of them those whose phase was set back

	late    []Fact       // results that were delivered once
	heard   int          // how many of them are on disk
	long    bool         // every text is a monster
	huge    bool         // usage is absurd
	sick    work.Outcome // how most iterations end; "" = no agent is sick
	faults  map[string]int
	edges   edges
	reasons map[work.Reason]int
	gates   map[string]int
	ends    map[work.RunOutcome]int
	merged  map[string]MergeFinishedData // by tree and commit, where trains
	trains  bool                         // most phases come to their turn, and merging takes long
	owing   bool                         // controls never have time for all of it, and often break at the end
	bug     bug
	check   *invariants
	memory  memory
	host    *simHost // nil = there is none
}

// effect is a command under way, with what its agent was allowed.
type effect struct {
	Command
	usd    *float64
	tokens *int64
}

func newWorld(l *lab, d dice, b bug) (*world, error) {
	w := &world{
		dice: d, now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), bug: b,
		records: map[string]work.Checkpoint{}, trees: map[string]*tree{}, commits: map[string]string{}, spent: map[string]Day{},
		consumed: map[int64]bool{}, under: map[work.CommandID]effect{}, dropped: map[work.CommandID]bool{},
		handed: map[string][]string{}, faults: map[string]int{}, edges: edges{}, reasons: map[work.Reason]int{}, gates: map[string]int{}, ends: map[work.RunOutcome]int{},
	}
	w.spec, w.memory, w.owing = l.randomSpec(d), newMemory(), l.owing
	if l.hooks {
		w.spec.Settings.Hooks = randomHooks(d)
	}
	if l.trains {
		l.atOnce(d, &w.spec)
		w.trains, w.merged = true, map[string]MergeFinishedData{}
	}
	if l.tries {
		severalTimes(d, &w.spec)
	}
	if l.council {
		withCouncils(d, &w.spec)
	}
	if l.pages {
		withPages(d, &w.spec)
	}
	if w.aside(25) {
		w.spec.Settings.Verify.ReuseSecs = 1 + w.side.Int64N(20*24*3600)
		w.spec.Fresh = w.aside(10)
	}
	w.long = w.chance(6)
	w.deaf = w.chance(6)
	w.listening()
	w.stuck = w.spec.Settings.OutageWaitSecs%16 == 0 // one throw more would make another schedule of every seed
	w.huge = w.spec.Settings.Cost == work.Cost{} && w.chance(8)
	if w.chance(8) {
		w.sick = []work.Outcome{work.OutcomeAgentFailed, work.OutcomeIdleTimeout, work.OutcomeRateLimited}[w.IntN(3)]
	}
	w.trees["t0"] = &tree{green: !w.chance(6)}
	w.commits[w.spec.Base.Commit] = "t0"
	w.goesOn()
	s, err := NewState("sim", w.spec)
	if err != nil {
		return nil, err
	}
	w.s = s
	w.check = newInvariants(w)
	if w.spec.Pulls != nil {
		w.host = &simHost{w: w, pulls: map[string]*simPull{}, parents: map[string][]string{}, merges: map[string]MergeFinishedData{}, unheard: map[string]int{}, read: map[*simPull]string{}}
	}
	return w, nil
}

// simDoubt is the kind of the doubts in the simulation. A policy may let others pass.
const simDoubt = work.DoubtTestAware

func (w *world) fault(name string) { w.faults[name]++ }

// monsters are texts that agents and commands have been seen to print, and
// some that only somebody who means harm would.
var monsters = []string{
	strings.Repeat("<&>", 2500), strings.Repeat("\x1b[31m\x00\x07", 1000), strings.Repeat("\u2028\u2029", 900),
	strings.Repeat("a\xff", 3000), strings.Repeat("é€𝄞", 900), strings.Repeat("\\\"\n", 2500), strings.Repeat("line\n", 1500),
}

func (w *world) text(short string) string {
	if !w.long || w.chance(40) {
		return short
	}
	w.fault("huge text")
	return short + monsters[w.IntN(len(monsters))]
}

func (w *world) texts(n int, short string) []string {
	var out []string
	for range n {
		out = append(out, w.text(short))
	}
	return out
}

func (w *world) commit(of string) string {
	c := fmt.Sprintf("c%d", len(w.commits))
	w.commits[c] = of
	return c
}

func (w *world) newTree() string {
	name := fmt.Sprintf("t%d", len(w.trees))
	t := &tree{green: w.chance(60), touched: w.chance(8)}
	t.cheats = t.touched && w.chance(50)
	t.strange, t.special = w.chance(8), w.aside(10)
	t.launder = t.strange && w.chance(50)
	t.hides = t.strange && w.aside(20)
	t.deaf, t.loses, t.doubt = w.chance(2), w.chance(3), w.chance(8)
	if x := w.IntN(100); x < 25 {
		t.flaw = work.Severities()[x/10]
	}
	t.owes = w.owing || w.rest.IntN(100) < 25
	t.lateBad, t.lateGap = t.owes && w.rest.IntN(100) < 40, t.owes && w.rest.IntN(100) < 20
	t.drops = w.rest.IntN(100) < 25
	t.lapses = t.drops && w.rest.IntN(100) < 50
	if t.softens = t.doubt && w.soft.IntN(100) < 50; t.softens {
		t.doubt = false // the proof is in doubt for this alone
	}
	t.changed = t.lateBad && w.soft.IntN(100) < 50
	t.blank, t.throws = w.shows.IntN(100) < 12, w.shows.IntN(100) < 12
	w.trees[name] = t
	return name
}

func (w *world) treeOf(commit string) *tree { return w.trees[w.commits[commit]] }

// inboxRow is an answer that a door wrote.
type inboxRow struct {
	ID     int64
	Answer work.Answer
}

// ranOutHere is the problem of an effect for which the machine had no room.
const ranOutHere = "the snapshot found no room"

// outcome carries an effect out: the truth of the world, as a fact.
func (w *world) outcome(e effect) Fact {
	c, p := e.Command, w.s.Phases[e.Phase]
	if c.Step == StepTell {
		return w.hands(c)
	}
	if w.host != nil && (c.Step == StepPublish || c.Step == StepPull || c.Step == StepClose || c.Step == StepLand && p.Pull.live()) {
		return w.atHost(c, p)
	}
	if w.chance(1) {
		w.fault("broke")
		if w.chance(50) {
			w.fault("a resource ran out")
			return Broke{Command: c, Problem: ranOutHere, Short: "the disk is full"}
		}
		return Broke{Command: c, Problem: w.text("no such program")}
	}
	switch c.Step {
	case StepFolder:
		setup := work.CommandsReport{OK: w.chance(97)}
		if !setup.OK && w.chance(80) {
			setup.Problem, setup.Ran = w.text("setup is red"), []work.CommandReport{{Command: "npm ci", Output: w.text("no")}}
		}
		return FolderDone{Command: c, Setup: setup}
	case StepIterate:
		return w.iterate(e, p)
	case StepBase, StepVerify:
		return w.verify(c)
	case StepControl:
		return w.control(c)
	case StepRest:
		return w.resting(c)
	case StepReview:
		return w.review(e)
	case StepArbiter:
		return w.arbitrate(e)
	case StepVote:
		return w.votes(e)
	case StepMerge:
		return w.merge(c, p)
	case StepTrain:
		return w.train(c)
	case StepLand:
		if w.s.Train != nil {
			return w.arrive(c, p)
		}
		if w.commits[w.s.Head] == p.Merge.Tree {
			return LandDone{Command: c, Commit: w.s.Head, Empty: true}
		}
		return LandDone{Command: c, Commit: w.commit(p.Merge.Tree)}
	case StepHook:
		return w.hook(c)
	case StepDeliver:
		return DeliverDone{Command: c, Delivery: work.Delivery{Branch: w.spec.Branch, Commit: c.Commit, Reason: w.text("")}}
	}
	return nil
}

func (w *world) iterate(e effect, p *Phase) Fact {
	rep := work.IterationReport{Session: "s1", Sandbox: "none", Message: w.text("done"), Detail: w.text(""), SessionLost: w.chance(3)}
	rep.Outcome = w.agentOutcome()
	if rep.Outcome == work.OutcomeOK && (w.urgent(p) || p.Stopped != "" && w.several.IntN(100) < 70) {
		rep.Outcome = work.OutcomeTold
	}
	w.limits(p, &rep)
	rep.Usage, rep.Outcome = w.usage(e, rep.Outcome)
	rep.Total = rep.Usage
	if rep.Outcome == work.OutcomeRateLimited && w.chance(40) {
		at := w.now.Add(time.Duration(w.IntN(3000)-300) * time.Second)
		rep.ResetAt = &at
	}
	switch x := w.IntN(100); {
	case x < 35, x < 70 && w.s.ofJob(p):
		rep.Claims = []string{p.Plan.Promise, p.Plan.Promise}[:1+w.IntN(2)]
	case x < 73:
		if x < 38 || w.s.ofJob(p) {
			rep.Claims = []string{p.Plan.Promise, "something else"}
		}
	case x < 77:
		rep.Claims = []string{"P1"} // of phase 01, and nobody else's
	}
	rep.Heard = w.hears(e.Command)
	rep.Signals = w.signals()
	w.proposes(p, &rep.Signals)
	stuck := w.lacks(&rep.Signals)
	w.wonders(&rep.Signals)
	w.teaches(&rep.Signals)
	job := w.s.ofJob(p)
	if job && w.chance(12) {
		rep.Signals.JobComplete = w.completion()
	}
	plain := w.trains && w.rails.IntN(100) < 70
	if plain && rep.Outcome == work.OutcomeOK {
		rep.Claims, rep.Signals, stuck = []string{p.Plan.Promise}, work.Signals{}, false
	}
	done := IterationDone{Command: e.Command, Report: rep}
	parent := e.Commit
	if p.Kind == IterationResolve {
		parent = p.Merge.Commit
	}
	conflict := p.Conflict
	if conflict != nil {
		w.fault("a conflict with people begins an iteration")
		parent = conflict.Commit
	}
	name := w.commits[parent]
	done.Snapshot = work.Snapshot{Commit: parent, Tree: name, Dropped: w.texts(w.IntN(20)/19, ".forge/x")}
	if (w.chance(60) || plain) && !stuck && (p.Set.Permission != work.PermissionReadonly || w.chance(20)) {
		name = w.newTree()
		w.trees[name].marked = (p.Kind == IterationResolve || conflict != nil || w.treeOf(parent).marked) && w.chance(20)
		done.Snapshot.Commit, done.Snapshot.Tree, done.Snapshot.Changed = w.commit(name), name, true
		done.Snapshot.Files = []work.FileChange{{Path: "a.txt", Status: "M"}}
	}
	if w.host != nil {
		w.host.grew(done.Snapshot.Commit, parent)
	}
	if job {
		if done.Snapshot.Changed {
			w.trees[name].todos = w.todos(p)
		}
		done.Todos = w.trees[name].todos
	}
	if w.trees[name].marked && (p.Kind == IterationResolve || len(p.marked()) > 0) {
		done.Markers = []string{"a.txt"}
	}
	w.traced(&done)
	w.measures(p, &done)
	return done
}

func (w *world) agentOutcome() work.Outcome {
	if w.sick != "" && w.chance(70) {
		return w.sick
	}
	switch x := w.IntN(200); {
	case x < 14:
		return work.OutcomeAgentFailed
	case x < 20:
		return work.OutcomeIdleTimeout
	case x < 22:
		return work.OutcomeStartTimeout
	case x < 24:
		return work.OutcomeIterationTimeout
	case x < 32:
		return work.OutcomeRateLimited
	case x < 35:
		return work.OutcomePostResult
	case x < 36:
		return work.OutcomeCancelled
	case x < 37:
		return work.OutcomeInterrupted
	case x < 39:
		w.fault("unknown outcome")
		return []work.Outcome{"", "fine"}[w.IntN(2)]
	}
	return work.OutcomeOK
}

// usage is what an iteration consumed: never more than it was allowed, since
// the agent is ended there; and often nobody knows.
func (w *world) usage(e effect, o work.Outcome) (work.Usage, work.Outcome) {
	usd, in, out := w.Float64()*perIteration, w.Int64N(perIterationTokens/2), w.Int64N(perIterationTokens/2)
	if e.usd != nil && usd >= *e.usd {
		usd, o = *e.usd, work.OutcomeCostLimit
	}
	if e.tokens != nil && in+out >= *e.tokens {
		in, out, o = *e.tokens, 0, work.OutcomeCostLimit
	}
	u := work.Usage{InputTokens: &in, OutputTokens: &out, CostUSD: &usd}
	switch x := w.IntN(100); {
	case w.huge && x < 50:
		w.fault("absurd usage")
		usd, in, out = math.MaxFloat64, math.MaxInt64, math.MaxInt64
	case x < 8:
		w.fault("silence")
		return work.Usage{}, o
	case x < 11:
		w.fault("negative usage")
		usd, in = -1, -1
	case x < 13:
		w.fault("usage that is no number")
		usd = []float64{math.NaN(), math.Inf(1), math.Inf(-1)}[w.IntN(3)]
	}
	return u, o
}

func (w *world) signals() work.Signals {
	var s work.Signals
	switch x := w.IntN(100); {
	case x < 20:
		s.Progress = []float64{float64(w.IntN(101))}
	case x < 25:
		s.Blockers, s.Pivots, s.Problems = w.texts(w.IntN(4), "no network"), w.texts(w.IntN(3), "by hand"), w.texts(w.IntN(9), "unusable")
	case x < 34:
		for range 1 + w.IntN(2) {
			s.SubPhases = append(s.SubPhases, w.request())
		}
	case x < 35:
		w.fault("many sub-phases")
		for range 12 {
			s.SubPhases = append(s.SubPhases, w.request())
		}
	}
	s.RequestDecomposition = w.chance(2)
	if w.chance(10) {
		s.Checkpoints = w.stops()
	}
	return s
}

func (w *world) request() work.SubPhaseRequest {
	r := work.SubPhaseRequest{Name: "part", Promise: fmt.Sprintf("S%d", w.IntN(1000)), Budget: 1 + w.IntN(3), Reasoning: w.text("it is big")}
	switch x := w.IntN(100); {
	case x < 5:
		r.Promise = "P1"
	case x < 8:
		r.Budget = w.IntN(3) - 2
	case x < 10:
		r.Name = "../part"
	}
	return r
}

func (w *world) verify(c Command) Fact {
	t := w.treeOf(c.Commit)
	if id := w.s.rides(w.s.Phases[c.Phase]); id != "" {
		return w.ride(c, t, id)
	}
	if w.aside(4) {
		w.fault("another toolchain")
		w.memory.machine++
	}
	key := w.keyOf(c.Commit, c.On)
	if b, found, good := w.spared(key); found {
		return w.recalled(c, t, key, b, good)
	}
	ok := t.green && (c.On != work.OnProtected || !t.cheats) && (c.On != work.OnTrusted || !t.launder) && (c.On != work.OnTrustedChanged || !t.hides) && (c.On != work.OnParts || !t.lapses)
	d := VerifyDone{Command: c, Report: work.CommandsReport{OK: ok, Ran: []work.CommandReport{{Command: "make test", OK: ok, Output: w.text("ran")}}}, Key: key}
	switch {
	case !ok:
		d.Report.Problem = w.text("make test is red")
		if w.chance(3) {
			d.Report.Ran = nil
		}
	case w.chance(1):
		w.fault("nothing ran")
		d.Report.Ran = nil
	case c.On != work.OnBase && w.chance(1):
		w.fault("disturbed")
		d.Report.Disturbed = w.text("a_test.go was changed")
	case c.On == work.OnProtected:
		t.protected = true
	case c.On == work.OnTrusted:
		t.trusted = true
	case c.On == work.OnParts:
		t.parted = true
	case c.On == work.OnTrustedChanged: // green of a tree that hides nothing
	case c.On != work.OnBase && w.aside(1):
		w.fault("nobody held it against the evidence")
		if w.aside(50) {
			d.Evidence = w.evidence(c, t)
			d.Evidence.Floors = append(d.Evidence.Floors, "a floor of tomorrow")
		}
	case c.On != work.OnBase:
		before := t.proven
		t.proven = !w.secret() || !t.special
		d.Evidence = w.evidence(c, t)
		if w.secret() {
			w.hidden(t, &d, before)
		}
		w.browse(c, t, &d, before)
	}
	if ok && d.Report.Disturbed == "" && len(d.Report.Ran) > 0 {
		w.memory.green[key.Key] = w.now
	}
	return d
}

// secret says that the owner keeps checks from agents.
func (w *world) secret() bool { return len(w.spec.Settings.Proof.Hidden) > 0 }

// hidden is what the owner's own checks say of a tree, which was proven before
// or was not.
func (w *world) hidden(t *tree, d *VerifyDone, proven bool) {
	d.Hidden = &work.HiddenReport{Ran: w.side.IntN(3), Sum: "1"}
	switch {
	case w.aside(2):
		w.fault("nobody ran the hidden checks")
		d.Hidden, t.proven = nil, proven
	case t.special:
		d.Hidden.Red = "amounts above 1000 are wrong"
	default:
		t.unshown = true
	}
}

// evidence is what a change does to evidence, in truth.
func (w *world) evidence(c Command, t *tree) *work.EvidenceReport {
	e := &work.EvidenceReport{Notes: w.texts(w.IntN(9), "tests/b_test.go is new")}
	if t.touched {
		e.Touched, e.Floors = w.texts(1+w.IntN(40), "Makefile"), append(e.Floors, work.OnProtected)
	}
	if t.strange {
		e.Trusted, e.Floors = w.texts(1+w.IntN(40), "Makefile"), append(e.Floors, work.OnTrusted)
		if t.hides {
			e.Floors = append(e.Floors, work.OnTrustedChanged)
		}
	}
	if p := w.s.Phases[c.Phase]; t.drops && p != nil && len(p.Parts) > 0 {
		w.fault("the evidence of a part is another")
		e.Parts, e.Floors = []string{"tests/part_test.go"}, append(e.Floors, work.OnParts)
	}
	if t.doubt {
		for range 1 + w.IntN(20) {
			e.Doubts = append(e.Doubts, work.Doubt{Kind: simDoubt, Path: w.text("a.go"), Line: w.IntN(9), What: w.text("asks whether it is under test")})
		}
	}
	return e
}

// control is what test runners say of a tree.
func (w *world) control(c Command) Fact {
	t := w.treeOf(c.Commit)
	t.heard = true
	d := ControlDone{Command: c, Report: work.ControlReport{Runners: []work.RunnerReport{{Name: w.text("go test"), Accounted: true, Passed: 3}}, Skipped: w.texts(w.IntN(12), "budget")}}
	if t.deaf {
		names := w.texts(1+w.IntN(12), "TestMustFail")
		if d.Report.Deaf = names; len(names)%3 == 0 {
			d.Report.Deaf, d.Report.Replaced = nil, names
			w.fault("a judge that is installed otherwise")
		}
	}
	if t.loses {
		d.Report.Lost = w.texts(1+w.IntN(30), "TestAdd")
	}
	if t.softens {
		w.fault("tests that were made softer")
		d.Report.Softened = w.texts(1, "TestAdd")
	}
	if t.owes {
		w.fault("a control without time")
		d.Report.Left = &work.ControlLeft{Functions: work.LeftMarks([]string{"a.go:1"})}
		switch {
		case t.changed:
			d.Report.Left.Changed = true
		case t.lateBad:
			d.Report.Left.Runners = work.LeftMarks([]string{"go test"})
		}
	}
	for range w.IntN(20) / 17 * 12 {
		d.Report.Unproven = append(d.Report.Unproven, work.Place{Path: w.text("a.go"), Name: "Add", Line: 1})
	}
	return d
}

func (w *world) merge(c Command, p *Phase) Fact {
	return MergeDone{Command: c, Result: w.onto(c, p, w.s.Head)}
}

// onto merges p with a head.
func (w *world) onto(c Command, p *Phase, head string) (res MergeFinishedData) {
	res = MergeFinishedData{Command: c.ID, Head: head, Moved: head != p.Base, Commit: p.Last, Tree: w.commits[p.Last], Files: w.IntN(9)}
	if w.spec.Issue != nil {
		res.Paths = w.paths()
		res.Files = len(res.Paths) + w.IntN(2)
	}
	if !res.Moved {
		return res
	}
	if w.host != nil {
		// With a pull request the very same is merged more than once.
		if was, ok := w.host.merges[res.Head+" "+p.Last]; ok {
			res.Tree, res.Conflicts, res.Differs, res.Commit = was.Tree, was.Conflicts, was.Differs, was.Commit
			return res
		}
		defer func() { w.host.merges[res.Head+" "+p.Last] = res }()
	}
	if w.trains {
		// Git comes to the same tree each time; see RedMerge.
		key := w.commits[head] + " " + p.Last
		if was, ok := w.merged[key]; ok {
			res.Tree, res.Conflicts, res.Differs = was.Tree, was.Conflicts, was.Differs
			res.Commit = w.commit(res.Tree)
			return res
		}
		defer func() { w.merged[key] = res }()
	}
	if w.chance(80) {
		res.Tree = w.newTree()
		if w.chance(25) {
			res.Conflicts = w.texts(1, "a.txt")
			w.trees[res.Tree].marked = true
		} else if w.chance(60) {
			w.trees[res.Tree].like = w.commits[p.Last]
		} else {
			res.Differs = w.texts(1+w.IntN(40), "a.txt")
		}
	}
	res.Commit = w.commit(res.Tree)
	if w.host != nil {
		w.host.grew(res.Commit, head, p.Last)
	}
	return res
}
