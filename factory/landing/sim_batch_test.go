package landing

import (
	"encoding/json"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"forge/internal/pace"
	"forge/internal/work"
)

// batchWorld is a target and the journals of many results that land on it in batches,
// by a process that may die after each step. Commits are what they hold.
type batchWorld struct {
	rand     *rand.Rand
	now      time.Time
	deadly   bool
	target   content
	moves    int
	past     map[content]bool
	runs     []*batchRun
	red      map[string]string   // two that are red beside each other
	conflict map[string]string   // two that conflict in git
	tested   map[string]int      // verdicts on record, by target and tree
	held     map[string][]string // trusted states that trees were held against, by tree
	spent    map[string]int      // verifies of the last batch, by who was named by it
	whole    int                 // verifies of all batches that named nobody
	bug      batchBug
	wrong    []string
}

// batchBug breaks one thing.
type batchBug struct {
	saw    func(Verdict) Verdict
	lands  func(Batch) []Member
	forget bool
	head   bool // it moves the target from wherever it is
	still  bool // it says that it moved the target, and did not
	lone   bool // only the last one's trusted state is asked about
}

type batchRun struct {
	name    string
	own     content
	issue   int64
	trusted string
	evs     []work.Event
	s       *State
}

// died is how a process ends in the middle.
type died struct{}

func (w *batchWorld) complain(format string, args ...any) {
	w.wrong = append(w.wrong, fmt.Sprintf(format, args...))
}

func (w *batchWorld) pair(of map[string]string, c content) bool {
	return slices.ContainsFunc(c.names(), func(n string) bool { return of[n] != "" && slices.Contains(c.names(), of[n]) })
}

// mayDie ends the process now and then, and lets people move the target.
func (w *batchWorld) mayDie() {
	if !w.deadly {
		return
	}
	if w.rand.IntN(25) == 0 {
		w.moves++
		w.becomes(w.target.with(of(fmt.Sprint("m", w.moves))))
	}
	if w.rand.IntN(20) == 0 {
		panic(died{})
	}
}

func (w *batchWorld) becomes(c content) {
	if !c.holds(w.target) {
		w.complain("the target %q becomes %q, which lacks some of it", w.target, c)
	}
	if w.pair(w.red, c) {
		w.complain("the target becomes %q, which is red in truth", c)
	}
	w.target, w.past[c] = c, true
}

func (w *batchWorld) feed(r *batchRun, f Fact) {
	evs, err := Feed(r.s, Input{Now: w.now, Fact: f})
	if err != nil {
		w.complain("%v", err)
	}
	r.evs = append(r.evs, evs...)
	for _, e := range evs {
		var d DecidedData
		if e.Kind == work.LandingDecided && json.Unmarshal(e.Data, &d) == nil && d.Decision == DecideLanded && !w.target.holds(r.own) {
			w.complain("%s is said to have landed, and the target is %q", r.name, w.target)
		}
		if p := r.s.Proof; p != nil && p.Verdict == Green && !slices.Contains(w.held[p.Tree], r.trusted) {
			w.complain("%s is proven by a tree that was not held against its evidence", r.name)
		}
	}
	if w.bug.forget {
		r.s.Probes = nil
	}
	w.mayDie()
}

// proves has the commands judge a tree, and says whose it is: no verdict on record is
// ever sought again.
func (w *batchWorld) proves(onto, tree string, trusted []string) Verdict {
	key := onto + "|" + tree
	if w.tested[key]++; w.tested[key] > 1 {
		w.complain("tree %q is proven again on %q", tree, onto)
	}
	died := true
	defer func() {
		if died {
			w.tested[key]--
		}
	}()
	w.mayDie()
	died = false
	w.held[tree] = append(w.held[tree], trusted...)
	if w.pair(w.red, content(tree)) {
		return Red
	}
	return Green
}

func (w *batchWorld) begin(r *batchRun) {
	w.feed(r, Begin{For: ForLand, Issue: r.issue, Result: string(r.own)})
	c, _ := Pending(r.s)
	w.feed(r, Started{c})
	w.feed(r, Looked{c, Look{Target: "main", Head: string(w.target), Onto: string(w.target), Tree: string(r.own), There: w.target.holds(r.own)}})
}

// alone carries out what is pending of one result.
func (w *batchWorld) alone(r *batchRun) {
	for {
		c, ok := Pending(r.s)
		if !ok {
			return
		}
		w.feed(r, Started{c})
		switch e := EffectOf(r.s, c).(type) {
		case LookEffect:
			w.feed(r, Looked{c, Look{Target: "main", Head: string(w.target), Onto: string(w.target), There: w.target.holds(r.own)}})
		case ProveEffect:
			both := content(e.Onto).with(content(e.At))
			p := Proof{Onto: e.Onto, At: e.At, Commit: string(both), Tree: string(both), Trusted: []string{r.trusted}}
			if w.pair(w.conflict, both) {
				p = Proof{Onto: e.Onto, At: e.At, Conflicts: []string{"out.txt"}}
			} else if known, ok := Known(e.Known, e.Onto, p.Tree, p.Trusted); ok {
				p.Verdict, p.Problem = known.Verdict, known.Problem
			} else {
				p.Verdict = w.proves(e.Onto, p.Tree, p.Trusted)
			}
			w.feed(r, Proved{c, p})
		case LandEffect:
			w.lands(r, c, e)
		}
	}
}

// lands moves the target by compare-and-set; that it is there already is as good.
func (w *batchWorld) lands(r *batchRun, c Command, e LandEffect) {
	made := Made{Commit: e.Commit}
	switch {
	case string(w.target) == e.Commit:
	case string(w.target) != e.Head && !w.bug.head:
		made = Made{Moved: "the target moved"}
	case w.bug.still:
	default:
		w.becomes(content(e.Commit))
		w.mayDie()
	}
	w.feed(r, Landed{c, made})
}

// pass is one process: all that it knows is in the journals.
func (w *batchWorld) pass() {
	defer func() {
		if p := recover(); p != nil && p != any(died{}) {
			panic(p)
		}
	}()
	w.now = w.now.Add(time.Minute)
	for _, r := range w.runs {
		r.s = NewState(r.name)
		for _, e := range r.evs {
			if err := Apply(r.s, e); err != nil {
				w.complain("replay: %v", err)
			}
		}
	}
	for w.round() {
	}
}

// round lets one batch land, or the first result alone; false = nobody waits.
func (w *batchWorld) round() bool {
	var waiting []Member
	of := map[string]*batchRun{}
	for _, r := range w.runs {
		if r.s.Landed != nil || r.s.Again() {
			continue
		}
		w.begin(r)
		if r.s.Stage == StageProve && r.s.Look.Onto == string(w.target) {
			waiting = append(waiting, Member{Run: r.name, Issue: r.issue, At: string(r.own), Like: "all", Trusted: r.trusted})
			of[r.name] = r
		}
	}
	if len(waiting) == 0 {
		return slices.ContainsFunc(w.runs, func(r *batchRun) bool { return r.s.Landed == nil && !r.s.Again() })
	}
	places := Aboard(waiting, 50)
	if len(places) == 0 {
		w.alone(of[waiting[0].Run])
		return true
	}
	var members []Member
	var links []Link
	onto := w.target
	for head, i := onto, 0; i < len(places); i++ {
		m, both := waiting[places[i]], head.with(content(waiting[places[i]].At))
		members = append(members, m)
		if w.pair(w.conflict, both) {
			links = append(links, Link{Conflicts: []string{"out.txt"}})
			continue
		}
		links, head = append(links, Link{Commit: string(both), Tree: string(both)}), both
	}
	w.mayDie()
	b := NewBatch(string(onto), members, links)
	if len(b.Members) < 2 {
		w.alone(of[members[0].Run])
		return true
	}
	verifies := 0
	for m, before, ok := b.Next(); ok; m, before, ok = b.Next() {
		r := of[m.Run]
		trusted := b.Trusted()
		if w.bug.lone {
			trusted = trusted[:1]
		}
		known, is := Known(r.s.Probes, b.Onto, m.Tree, trusted)
		if !is {
			c := ProbeOf(r.s, m.Commit)
			w.feed(r, Started{c})
			known.Verdict = w.proves(b.Onto, m.Tree, trusted)
			verifies++
			w.tested[b.Onto+"|"+m.Tree]-- // until it is on record
			evs := len(r.evs)
			func() {
				defer func() {
					if len(r.evs) > evs {
						w.tested[b.Onto+"|"+m.Tree]++
					}
				}()
				w.feed(r, Probed{c, Probe{Onto: b.Onto, Commit: m.Commit, Tree: m.Tree, Verdict: known.Verdict, Problem: "it is red", Before: before, Trusted: trusted}})
			}()
		}
		if w.bug.saw != nil {
			known.Verdict = w.bug.saw(known.Verdict)
		}
		b = b.Saw(known.Verdict)
	}
	if most := bits.Len(uint(len(b.Members)-1)) + 1; verifies > most {
		w.complain("%d verifies among %d", verifies, len(b.Members))
	}
	together, culprit := b.Lands()
	if culprit == "" {
		w.whole += verifies
	} else {
		w.spent[culprit] += verifies
	}
	if w.bug.lands != nil {
		together = w.bug.lands(b)
	}
	for _, m := range together {
		r := of[m.Run]
		c, ok := Pending(r.s)
		if !ok {
			continue
		}
		p := b.Proof(m)
		if w.bug.lands != nil {
			p.Commit, p.Tree, p.Verdict = together[len(together)-1].Commit, together[len(together)-1].Tree, Green
		}
		w.feed(r, Started{c})
		w.feed(r, Proved{c, p})
		w.alone(r)
	}
	if r := of[culprit]; r != nil {
		w.begin(r)
		w.alone(r)
	}
	return true
}

// newBatchWorld has n results, some of which do not go together.
func newBatchWorld(seed uint64, n int) *batchWorld {
	w := &batchWorld{
		rand: rand.New(rand.NewPCG(seed, 3)), now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), deadly: true, past: map[content]bool{},
		red: map[string]string{}, conflict: map[string]string{}, tested: map[string]int{}, held: map[string][]string{}, spent: map[string]int{},
	}
	w.becomes(of("base"))
	for i := range n {
		name := fmt.Sprintf("r%02d", i)
		w.runs = append(w.runs, &batchRun{name: name, own: of("base", name), issue: int64(i + 1), trusted: fmt.Sprint("evidence ", w.rand.IntN(3))})
		if i > 0 && w.rand.IntN(4) == 0 {
			in := w.red
			if w.rand.IntN(3) == 0 {
				in = w.conflict
			}
			in[name] = fmt.Sprintf("r%02d", w.rand.IntN(i))
		}
	}
	return w
}

func playBatches(seed uint64, bug batchBug) []string {
	w := newBatchWorld(seed, 2+int(seed%11))
	w.bug = bug
	for range 12 {
		if w.pass(); len(w.wrong) > 0 {
			return w.wrong
		}
	}
	w.deadly = false
	w.pass()
	for _, r := range w.runs {
		rest := w.target.with(r.own)
		switch {
		case r.s.Landed != nil && w.target.holds(r.own):
		case r.s.Landed == nil && r.s.Again() && (w.pair(w.red, rest) || w.pair(w.conflict, rest)):
		default:
			w.complain("%s: neither there nor in the way of anything: %+v, the target is %q", r.name, r.s.Last, w.target)
		}
	}
	return w.wrong
}

// Whatever dies or moves: a target is never red, nothing is lost or lands twice, no tree
// is proven twice, and whoever does not land does not go with what has.
func TestBatchesOfManyWorlds(t *testing.T) {
	pace.Slow(t, "hundreds of worlds")
	pace.Sequential(t, "worlds of a pure core, in one goroutine")
	for seed := range uint64(150) {
		if wrong := playBatches(seed, batchBug{}); len(wrong) > 0 {
			t.Fatalf("seed %d: %s", seed, strings.Join(wrong, "\n"))
		}
	}
}

func TestSeededBugsOfBatches(t *testing.T) {
	pace.Slow(t, "worlds until each bug is found")
	pace.Sequential(t, "worlds of a pure core, in one goroutine")
	for name, c := range map[string]struct {
		bug  batchBug
		want string
	}{
		"red taken for green":             {batchBug{saw: func(Verdict) Verdict { return Green }}, "red in truth"},
		"those behind the red one land":   {batchBug{lands: func(b Batch) []Member { return b.Members }}, "red in truth"},
		"what trees came to is forgotten": {batchBug{forget: true}, "is proven again"},
		"the target is moved blindly":     {batchBug{head: true}, "lacks some of it"},
		"nothing is moved":                {batchBug{still: true}, "is said to have landed"},
		"one state speaks for all":        {batchBug{lone: true}, "not held against its evidence"},
	} {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(400) {
				if wrong := strings.Join(playBatches(seed, c.bug), "\n"); wrong != "" {
					if !strings.Contains(wrong, c.want) {
						t.Errorf("seed %d is wrong for another reason: %s", seed, wrong)
					}
					return
				}
			}
			t.Error("it is not found")
		})
	}
}

// Fifty results with three that do not go with others: see docs/trains.md for what it
// prints.
func TestFiftyResultsWithThreeThatConflict(t *testing.T) {
	w := newBatchWorld(1, 50)
	w.deadly, w.conflict = false, map[string]string{}
	w.red = map[string]string{"r17": "r03", "r31": "r30", "r44": "r08"}
	w.pass()
	var named []string
	rest := w.whole
	for _, r := range w.runs {
		if r.s.Landed == nil {
			named = append(named, r.name)
		}
	}
	for _, n := range w.spent {
		if n > bits.Len(50-1)+1 {
			t.Errorf("%d verifies for one that was named", n)
		}
	}
	t.Logf("50 results, 3 that conflict: named %v after %v verifies; %d verifies for the rest; the target moved %d times", named, w.spent, rest, len(w.past)-1)
	if !slices.Equal(named, []string{"r17", "r31", "r44"}) || len(w.spent) != 3 || rest > 12 || len(w.wrong) > 0 {
		t.Errorf("%v are named, %v verifies, %d for the rest; %v", named, w.spent, rest, w.wrong)
	}
}

// What was red in a batch is not proven again where the result meets the target alone,
// and is when a person has it tried again.
func TestRedIsBelievedOnce(t *testing.T) {
	w := newBatchWorld(1, 2)
	w.deadly, w.conflict, w.red = false, map[string]string{}, map[string]string{"r01": "r00"}
	w.pass()
	r := w.runs[1]
	if r.s.Landed != nil || !r.s.Again() || w.spent["r01"] != 2 {
		t.Fatalf("%+v after %v verifies", r.s.Last, w.spent)
	}
	if _, known := Known(r.s.Probes, string(w.target), string(w.target.with(r.own)), nil); known {
		t.Error("it is believed to be red for ever")
	}
}
