package orchestrator

import (
	"fmt"
	"math/bits"
	"slices"
	"sort"
	"strconv"
	"strings"
	"testing"
	"time"

	"forge/internal/work"
)

// yard drives a run of phases side by side by a clock of its own: each phase does its
// work at once, and a verify of a merged tree takes half a minute. A tree is the set
// of the changes in it; it is red where it holds two that do not go together.
type yard struct {
	*story
	start    time.Time
	ends     func(n int) time.Duration // when the n-th phase is proven
	conflict map[string]string         // change → the one that it does not go with
	text     map[string]string         // change → the one that it conflicts with in git
	needs    map[string]string         // change → the evidence question that holds it, "deaf" or "floor"
	trees    map[string]string         // commit → tree
	under    []arrival
	busy     map[work.CommandID]bool
	proven   map[string]bool // trees that verify was green on
	ran      map[string]int  // tree → verifies of it, as a merged one
	verify   int
	landed   []string
	asked    map[string]bool // phases that were asked about their own change in a batch
	named    []string
	perName  map[string]int
	moved    time.Duration // when the branch moved last
}

type arrival struct {
	at   time.Time
	fact Fact
}

func newYard(t *testing.T, n int, change ...func(*Spec)) *yard {
	t.Helper()
	var names []string
	for i := range n {
		names = append(names, fmt.Sprintf("%03d", i+1))
	}
	base := []func(*Spec){phases(names...), setting(func(s *work.Settings) { s.MaxParallel, s.MergeBatch = n+1, 50 })}
	y := &yard{
		story: tell(t, append(base, change...)...), ends: func(n int) time.Duration { return time.Duration(n) * 10 * time.Millisecond },
		conflict: map[string]string{}, text: map[string]string{}, needs: map[string]string{}, trees: map[string]string{"c0": ""}, busy: map[work.CommandID]bool{},
		proven: map[string]bool{}, ran: map[string]int{}, asked: map[string]bool{}, perName: map[string]int{},
	}
	y.start = y.now
	return y
}

// holds are the changes in a tree, in an order of their own.
func holds(tree string) []string { return strings.Fields(tree) }

func join(sets ...string) string {
	all := strings.Fields(strings.Join(sets, " "))
	sort.Strings(all)
	return strings.Join(slices.Compact(all), " ")
}

func (y *yard) red(tree string) bool {
	in := holds(tree)
	return slices.ContainsFunc(in, func(c string) bool { return y.conflict[c] != "" && slices.Contains(in, y.conflict[c]) })
}

const halfAMinute = 30 * time.Second

// carry says what comes of a command, and how long it takes.
func (y *yard) carry(c Command) (Fact, time.Duration) {
	e, err := EffectOf(y.s, c, Known{})
	if err != nil {
		y.t.Fatal(err)
	}
	p := y.s.Phases[c.Phase]
	switch e := e.(type) {
	case FolderEffect:
		return FolderDone{Command: c, Setup: report(true)}, 0
	case IterateEffect:
		own := c.Phase
		if c.Iteration > 1 {
			own += "*" // mended
		}
		was := slices.DeleteFunc(holds(y.trees[c.Commit]), func(x string) bool { return x == c.Phase })
		commit := "work-" + own
		y.trees[commit] = join(strings.Join(was, " "), own)
		n, err := strconv.Atoi(c.Phase)
		if err != nil {
			y.t.Fatal(err)
		}
		d := IterationDone{Command: c, Report: work.IterationReport{Outcome: work.OutcomeOK, Claims: []string{p.Plan.Promise}}}
		d.Snapshot = work.Snapshot{Commit: commit, Tree: y.trees[commit], Changed: true, Files: []work.FileChange{{Path: own, Status: "A"}}}
		if c.Iteration > 1 {
			return d, time.Hour // nobody waits for it in these tests
		}
		return d, y.start.Add(y.ends(n)).Sub(y.now)
	case VerifyEffect:
		return y.verifies(c, e)
	case ControlEffect:
		r := work.ControlReport{}
		if y.needs[c.Phase] == "deaf" && c.On == work.OnMerged {
			r.Deaf = []string{"TestMustFail"}
		}
		return ControlDone{Command: c, Report: r}, time.Second
	case MergeEffect:
		return MergeDone{Command: c, Result: y.onto(e.Head, e)}, 0
	case TrainEffect:
		done, head := TrainDone{Command: c}, e.Head
		for _, one := range e.Members {
			res := y.onto(head, one)
			done.Links = append(done.Links, TrainLink{Phase: one.Command.Phase, Result: res})
			if len(res.Conflicts) == 0 {
				head = "chain-" + res.Commit
				y.trees[head] = res.Tree
			}
		}
		return done, 0
	case LandEffect:
		d := LandDone{Command: c, Commit: "landed-" + c.Phase}
		for _, one := range e.Before {
			y.trees["landed-"+one.Phase] = one.Tree
			d.Before = append(d.Before, Landed{Phase: one.Phase, Commit: "landed-" + one.Phase})
		}
		y.trees[d.Commit] = e.Tree
		return d, 0
	case DeliverEffect:
		return DeliverDone{Command: c, Delivery: work.Delivery{Commit: c.Commit}}, 0
	}
	y.t.Fatalf("nobody carries %T out here", e)
	return nil, 0
}

func (y *yard) onto(head string, e MergeEffect) MergeFinishedData {
	res := MergeFinishedData{Command: e.Command.ID, Head: head, Moved: head != e.Base, Commit: e.Last, Tree: y.trees[e.Last], Files: 1}
	if res.Moved {
		res.Tree = join(y.trees[head], y.trees[e.Last])
		res.Commit = "merge-" + e.Command.Phase + "-of-" + fmt.Sprint(len(y.trees))
		y.trees[res.Commit] = res.Tree
	}
	if other := y.text[e.Command.Phase]; other != "" && slices.Contains(holds(y.trees[head]), other) {
		res.Conflicts = []string{"a.txt"}
	}
	return res
}

func (y *yard) verifies(c Command, e VerifyEffect) (Fact, time.Duration) {
	tree := y.trees[c.Commit]
	d := VerifyDone{Command: c, Report: report(!y.red(tree)), Evidence: &work.EvidenceReport{}}
	if e.Rides != "" {
		d.Report, d.Rides = work.CommandsReport{OK: true}, e.Rides
		y.asked[c.Phase] = true
	}
	if y.needs[c.Phase] == "floor" && c.On == work.OnMerged {
		d.Evidence = &work.EvidenceReport{Touched: []string{"Makefile"}, Floors: []work.VerifyOn{work.OnProtected}}
	}
	switch {
	case c.On == work.OnProtected:
		d.Report, d.Evidence = report(false), nil
		return d, halfAMinute
	case c.On != work.OnMerged:
		y.proven[tree] = d.Report.OK
		return d, 0
	case e.Rides != "":
		return d, 0
	}
	y.proven[tree] = d.Report.OK
	y.verify++
	y.ran[tree]++
	return d, halfAMinute
}

// run drives until a moment, or until nothing is pending any more.
func (y *yard) run(until time.Duration) {
	y.t.Helper()
	for {
		for c, due := y.next(); due; c, due = y.next() {
			y.take(Began{Command: c})
			f, after := y.carry(c)
			y.busy[c.ID] = true
			y.under = append(y.under, arrival{y.now.Add(max(after, 0)), f})
		}
		sort.SliceStable(y.under, func(i, j int) bool { return y.under[i].at.Before(y.under[j].at) })
		if len(y.under) == 0 || y.under[0].at.After(y.start.Add(until)) {
			return
		}
		one := y.under[0]
		y.under, y.now = y.under[1:], one.at
		y.take(one.fact)
	}
}

func (y *yard) next() (Command, bool) {
	for _, c := range Pending(y.s) {
		if !y.busy[c.ID] && c.Step != StepWait {
			return c, true
		}
	}
	return Command{}, false
}

// take feeds a fact, and holds what came of it against the truth.
func (y *yard) take(f Fact) {
	y.t.Helper()
	for _, e := range y.feed(f) {
		switch e.Kind {
		case work.PhaseMerged:
			y.landed = append(y.landed, e.Phase)
			y.moved = y.now.Sub(y.start)
		case work.TrainDecided:
			var d TrainDecidedData
			if err := decode(e, &d); err != nil {
				y.t.Fatal(err)
			}
			if d.Culprit != "" {
				y.named = append(y.named, d.Culprit)
				y.perName[d.Culprit] = d.Verifies
			}
		}
	}
	if tree := y.trees[y.s.Head]; y.red(tree) || tree != "" && !y.proven[tree] {
		y.t.Fatalf("the branch holds %q: red %v, proven %v", tree, y.red(tree), y.proven[tree])
	}
}

// Fifty branches, of which three do not go together with another one.
func TestTrainOfFiftyWithThreeThatDoNotFit(t *testing.T) {
	const n = 50
	y := newYard(t, n+2) // the first two keep the seat while the others come
	y.conflict = map[string]string{"010": "004", "029": "013", "047": "046"}
	y.run(30 * time.Minute)
	if want := []string{"010", "029", "047"}; !slices.Equal(y.named, want) {
		t.Fatalf("named are %v, want %v", y.named, want)
	}
	rest, most := y.verify, bits.Len(n-1)+1
	for _, name := range y.named {
		rest -= y.perName[name]
		if y.perName[name] > most {
			t.Errorf("%d verifies found phase %s, want at most %d", y.perName[name], name, most)
		}
	}
	t.Logf("%d verifies in all, %v for those named, %d for the rest", y.verify, y.perName, rest)
	if rest > 12 {
		t.Errorf("%d verifies for the rest, want at most 12", rest)
	}
	if len(y.landed) != n+2-3 || !slices.IsSorted(y.landed) {
		t.Errorf("%d landed, in the order %v", len(y.landed), y.landed)
	}
	for tree, times := range y.ran {
		if times > 1 {
			t.Errorf("%q was verified %d times", tree, times)
		}
	}
	for _, name := range y.named {
		p := y.phase(name)
		if p.Stage != StageIterate || p.Merge != nil || !p.Begun || !strings.Contains(p.Verified, "make test") {
			t.Errorf("phase %s stands at %s, and was told %q", name, p.Stage, p.Verified)
		}
	}
}

// Twenty phases that are proven within a second take two verifies of the clock.
func TestTrainOfTwentyWithinASecond(t *testing.T) {
	y := newYard(t, 20)
	y.ends = func(n int) time.Duration { return time.Duration(n) * 50 * time.Millisecond }
	y.run(time.Hour)
	if y.s.Outcome != work.RunCompleted || len(y.landed) != 20 {
		t.Fatalf("the run is %q, %d landed", y.s.Outcome, len(y.landed))
	}
	t.Logf("all landed after %s, %d verifies", y.moved, y.verify)
	if y.moved > 3*halfAMinute || y.verify > 3 {
		t.Errorf("all landed after %s and %d verifies, want at most three of each", y.moved, y.verify)
	}
}

// Without the setting one lands after the other, and no event of trains is written.
func TestNoTrainWithoutTheSetting(t *testing.T) {
	y := newYard(t, 5, setting(func(s *work.Settings) { s.MergeBatch = 1 }))
	y.run(time.Hour)
	if y.verify != 4 || y.s.Outcome != work.RunCompleted {
		t.Errorf("%d verifies, the run is %q", y.verify, y.s.Outcome)
	}
	for _, e := range y.events {
		if strings.HasPrefix(string(e.Kind), "train.") {
			t.Errorf("%s", e.Kind)
		}
	}
}

// Where the owner keeps checks from agents, each phase is asked those that are about
// it, of the very tree that lands: it goes alone.
func TestHiddenChecksAreAskedOfEachAlone(t *testing.T) {
	y := newYard(t, 2)
	p := y.s.Phases["001"]
	p.Stage = StageTurn
	if !y.s.boards(p) {
		t.Fatal("it does not board without hidden checks")
	}
	y.s.Spec.Settings.Proof.Hidden = []string{"/checks"}
	if y.s.boards(p) {
		t.Error("it boards, and nobody asks the checks that are about it alone")
	}
}

// A batch is no larger than the setting says.
func TestTrainHasALimit(t *testing.T) {
	y := newYard(t, 12, setting(func(s *work.Settings) { s.MergeBatch = 4 }))
	y.run(time.Hour)
	if y.s.Outcome != work.RunCompleted {
		t.Fatalf("the run is %q", y.s.Outcome)
	}
	for _, e := range y.events {
		var d TrainStartedData
		if e.Kind == work.TrainStarted && (decode(e, &d) != nil || len(d.Members) > 4) {
			t.Errorf("a batch of %v", d.Members)
		}
	}
	if y.verify != 1+3 {
		t.Errorf("%d verifies, want one for the second phase and one for each batch of 4, 4 and 2", y.verify)
	}
}

// Whoever conflicts in git leaves the batch, and the others land before it.
func TestTrainWithAConflictInGit(t *testing.T) {
	y := newYard(t, 8)
	y.text["005"] = "003"
	y.run(10 * time.Minute)
	if want := []string{"001", "002", "003", "004", "006", "007", "008"}; !slices.Equal(y.landed, want) {
		t.Errorf("landed are %v, want %v", y.landed, want)
	}
	if p := y.phase("005"); p.Kind != IterationResolve || p.Merge == nil || y.s.Merger != "005" {
		t.Errorf("phase 005 is %s at %s, and it is the turn of %q", p.Kind, p.Stage, y.s.Merger)
	}
}

// Each member is asked about its own change. One that does not come to a plain yes
// goes alone, where today's rules judge it, and takes nobody with it.
func TestTrainAsksEachMember(t *testing.T) {
	for what, why := range map[string]work.Reason{"deaf": work.ReasonProofDisturbed, "floor": work.ReasonEvidenceChanged} {
		t.Run(what, func(t *testing.T) {
			y := newYard(t, 8, setting(func(s *work.Settings) { s.Proof.NoControls = what != "deaf" }))
			y.needs["005"] = what
			y.run(2 * time.Hour)
			if want := []string{"001", "002", "003", "004", "006", "007", "008"}; !slices.Equal(y.landed, want) {
				t.Errorf("landed are %v, want %v", y.landed, want)
			}
			if p := y.phase("005"); p.Outcome != work.PhaseFailed || p.Reason != why {
				t.Errorf("phase 005 is %s for %q (%s), want %s", p.Outcome, p.Reason, p.Detail, why)
			}
			for _, n := range []string{"003", "004", "006", "007"} {
				if !y.asked[n] {
					t.Errorf("phase %s was never asked about its own change", n)
				}
			}
		})
	}
}

// What verify says of a proof that is not the train's does not stand for anybody.
func TestTrainBelievesNoOtherVerify(t *testing.T) {
	y := newYard(t, 4)
	y.run(40 * time.Second)
	if y.s.Train == nil || y.s.Train.Stands != "" {
		t.Fatalf("%+v", y.s.Train)
	}
	c := Pending(y.s)[0]
	if evs := y.feed(VerifyDone{Command: c, Rides: "sim/001/1/1/verify-snapshot", Report: work.CommandsReport{OK: true}, Evidence: &work.EvidenceReport{}}); len(evs) > 0 {
		t.Errorf("%s", tail(evs, 3))
	}
}

// Whoever left a batch, and comes to its turn anew, lines up behind those who stayed.
func TestTrainKeepsTheOrderOfThoseWhoStay(t *testing.T) {
	s := &State{Phases: map[string]*Phase{}, Train: &Train{Order: []string{"01", "02", "03"}, Members: []string{"02", "03"}, Built: true}}
	for _, n := range []string{"01", "02", "03", "04"} {
		s.Phases[n] = &Phase{View: View{Number: n, Stage: StageTrain}}
	}
	s.Turns = []string{"04"}
	s.move(s.Phases["01"], StageTurn)
	s.dissolve()
	if want := []string{"02", "03", "04", "01"}; !slices.Equal(s.Turns, want) {
		t.Errorf("it is the turn of %v, want %v", s.Turns, want)
	}

	s.Train = &Train{Order: []string{"01", "02", "03"}, Members: []string{"01", "02", "03"}}
	s.Turns = []string{"04"}
	s.getOff(s.Phases["02"], "it conflicts")
	s.getOff(s.Phases["01"], "it conflicts")
	s.dissolve()
	if want := []string{"01", "02", "03", "04"}; !slices.Equal(s.Turns, want) {
		t.Errorf("it is the turn of %v, want %v", s.Turns, want)
	}
}
