package landing

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"forge/factory"
	"forge/internal/work"
)

// A commit of the simulation is what it holds: names of changes. Two that begin
// with the same letter but for their case do not go together: r and k conflict, r
// and q are red beside each other.
type content string

func of(names ...string) content {
	slices.Sort(names)
	return content(strings.Join(slices.Compact(names), " "))
}

func (c content) names() []string { return strings.Fields(string(c)) }

func (c content) has(letter string) bool {
	return slices.ContainsFunc(c.names(), func(n string) bool { return strings.HasPrefix(n, letter) })
}

func (c content) holds(other content) bool {
	return !slices.ContainsFunc(other.names(), func(n string) bool { return !slices.Contains(c.names(), n) })
}

func (c content) with(other content) content { return of(append(c.names(), other.names()...)...) }

func (c content) conflicts() bool { return c.has("r") && c.has("k") }

// good is what the project's commands say of it in truth.
func (c content) good() bool { return !(c.has("r") && c.has("q")) && !c.has("bad") }

// simPull is the pull request of a result.
type simPull struct {
	state    work.PullState
	head     content
	approved bool
	against  bool
	red      bool    // its checks say of head
	merged   content // what the merge came to
	by       string
}

// simWorld is everything that outlives a process: the target, the host, and the
// journals of two runs that land on one target.
type simWorld struct {
	rand     *rand.Rand
	now      time.Time
	host     bool
	commands bool
	target   content
	past     map[content]bool // that the target was, and grew out of
	moves    int
	calm     bool
	long     bool // nobody dies for long
	runs     []*simRun
	wrong    []string
}

// simRun is one run with its result.
type simRun struct {
	w        *simWorld
	name     string
	result   content
	evs      []work.Event
	pull     *simPull
	made     int // how often Forge brought it into the target
	unwanted string
	fixed    int  // heads whose failed checks an agent was told of
	opened   bool // another run goes on from it
	begun    int  // tries in the journal
	landed   bool // it says so
	reviewed bool // specialists look at what its run makes
	named    bool // the pass began when the result was unwanted already

	s          *State // of the process that lives; nil = none does
	fact       Fact   // an effect was carried out, and its fact is on its way
	late       []Fact
	ids        map[work.CommandID]int
	tries      int // of this pass
	handed     map[string]int
	checkedRed bool // the target was red when a merge was held against the proof
	bug        *simBug
}

// mostFixes is for how many heads the agent is told of checks that fail.
const mostFixes = 2

// simBug breaks the core in one way.
type simBug struct {
	fact   func(s *State, f Fact) Fact
	effect func(w *simWorld, e Effect) Effect
	apply  func(s *State, e work.Event)
	events func(s *State, evs []work.Event) []work.Event
}

// becomes moves the target.
func (w *simWorld) becomes(c content) {
	w.target = c
	w.past[c] = true
}

func (w *simWorld) complain(format string, args ...any) {
	w.wrong = append(w.wrong, fmt.Sprintf(format, args...))
}

// people do something while Forge works.
func (w *simWorld) people() {
	r := w.runs[w.rand.IntN(len(w.runs))]
	w.moves++
	switch w.rand.IntN(9) {
	case 0:
		w.becomes(w.target.with(of(fmt.Sprint("m", w.moves))))
	case 1:
		w.becomes(w.target.with(of([]string{"k", "q", "bad"}[w.rand.IntN(3)])))
	case 2: // mended
		w.becomes(of(slices.DeleteFunc(w.target.names(), func(n string) bool { return n == "k" || n == "q" || n == "bad" })...))
	case 3:
		r.unwanted = []string{"", "it was closed"}[w.rand.IntN(2)]
	}
	p := r.pull
	if p == nil || p.state == work.PullMerged {
		return
	}
	switch w.rand.IntN(9) {
	case 0:
		p.approved, p.against = true, false
	case 1:
		p.against = !p.against
	case 2:
		p.state = []work.PullState{work.PullOpen, work.PullClosed}[w.rand.IntN(2)]
	case 3:
		p.head, p.approved, p.red = p.head.with(of(fmt.Sprint("p", w.moves))), false, false
	case 4:
		if p.state == work.PullOpen && !w.target.with(p.head).conflicts() {
			p.state, p.by = work.PullMerged, "ann"
			w.becomes(w.target.with(p.head))
			p.merged = w.target
		}
	case 5:
		p.red = !p.red
	}
}

// peace is a world in which all that stands in the way is gone.
func (w *simWorld) peace() {
	w.calm = true
	w.becomes(of(slices.DeleteFunc(w.target.names(), func(n string) bool { return n == "k" || n == "q" || n == "bad" })...))
	for _, r := range w.runs {
		r.unwanted = ""
		if p := r.pull; p != nil && p.state != work.PullMerged {
			p.state, p.approved, p.against, p.red = work.PullOpen, true, false, false
		}
	}
}

// do carries an effect out; nil = the process died, before or after.
func (r *simRun) do(e Effect) Fact {
	w := r.w
	away := !w.calm && w.rand.IntN(12) == 0
	if !w.calm && w.rand.IntN(20) == 0 {
		c, _ := Pending(r.s)
		return Broke{Command: c, Problem: "write: no space left", Short: "the disk is full"}
	}
	switch e := e.(type) {
	case LookEffect:
		if away && w.host {
			return Broke{Command: e.Command, Trouble: &work.PullTrouble{Kind: work.HostUnreachable, What: "the host is away", Passes: true}}
		}
		return Looked{e.Command, r.look(e)}
	case ProveEffect:
		return Proved{e.Command, w.prove(e)}
	case LandEffect:
		return r.land(e, away)
	case CheckEffect:
		c := Check{Commit: e.Commit, There: w.past[content(e.Commit)], Tree: e.Commit}
		if c.Tree != e.Tree {
			c.Verdict = w.judge(w.target)
		}
		return Checked{e.Command, c}
	case TidyEffect:
		return Tidied{e.Command}
	}
	return nil
}

// redPush says that the run waits for whoever pushed what is red.
func (r *simRun) redPush() bool {
	p := r.pull
	return p != nil && p.head != r.result && r.w.judge(r.w.target.with(p.head)) == Red
}

func (w *simWorld) judge(c content) Verdict {
	switch {
	case !w.commands:
		return NoCommands
	case c.good():
		return Green
	}
	return Red
}

func (r *simRun) look(e LookEffect) Look {
	w := r.w
	l := Look{Target: "main", Head: string(w.target), Onto: string(w.target), Tree: e.Result, There: w.target.holds(r.result), Host: w.host}
	if !w.host {
		return l
	}
	if r.pull == nil && e.Unwanted == "" && e.For != ForAgain && !l.There {
		r.pull = &simPull{state: work.PullOpen, head: r.result}
	}
	p := r.pull
	if p == nil {
		return l
	}
	look := &PullLook{At: string(p.head), Commit: string(p.merged), MergedBy: p.by, Card: work.IssuePull{Number: 1, Shown: e.Result}, Mark: fmt.Sprint(*p)}
	look.Number, look.State, look.Head, look.Approved, look.Mergeable = 1, p.state, factory.HeadResult, p.approved, work.Mergeable
	if look.Checks.Most, look.Checks.Tried = mostFixes, r.fixed; p.red {
		look.Checks.Failed, look.Mergeable = []string{"unit"}, work.MergeBlocked
	}
	if p.head != r.result {
		look.Head = factory.HeadPeople
	}
	look.Reviewed = r.reviewed
	if p.against {
		look.Against = "ann"
	}
	l.Pull = look
	return l
}

func (w *simWorld) prove(e ProveEffect) Proof {
	both := content(e.Onto).with(content(e.At))
	p := Proof{Onto: e.Onto, At: e.At}
	if both.conflicts() {
		p.Conflicts = []string{"out.txt"}
		return p
	}
	p.Commit, p.Tree, p.Verdict = string(both), string(both), w.judge(both)
	if p.Verdict == Red {
		p.Problem = "the tests are red"
	}
	return p
}

func (r *simRun) land(e LandEffect, away bool) Fact {
	w := r.w
	trouble := func(kind work.HostKind, passes bool) Fact {
		return Broke{Command: e.Command, Trouble: &work.PullTrouble{Kind: kind, What: string(kind), Passes: passes}}
	}
	if e.Number != 0 {
		p := r.pull
		switch {
		case p.state == work.PullMerged:
			return trouble(work.HostPullMerged, false)
		case p.state != work.PullOpen:
			return trouble(work.HostPullClosed, false)
		case p.head != content(e.At):
			return trouble(work.HostHeadMoved, false)
		case w.target != content(e.Onto) && e.Onto != "*":
			return trouble(work.HostBaseMoved, false)
		}
	} else if string(w.target) != e.Head && e.Head != "*" {
		return Landed{e.Command, Made{Moved: "the target moved"}}
	}
	r.lands(e)
	if e.Number != 0 {
		r.pull.state, r.pull.by, r.pull.merged = work.PullMerged, "forge", w.target
		if away { // it did it, and its answer never came
			return trouble(work.HostUnreachable, true)
		}
		return Landed{e.Command, Made{Commit: string(w.target)}}
	}
	return Landed{e.Command, Made{Commit: e.Commit}}
}

// lands moves the target, and holds what Forge does there to the truth.
func (r *simRun) lands(e LandEffect) {
	w := r.w
	becomes := content(e.Commit)
	switch {
	case !becomes.holds(w.target) || becomes != w.target.with(content(e.At)):
		w.complain("%s: the target %q becomes %q, which is not what %q makes of it", r.name, w.target, becomes, e.At)
	case w.commands && !becomes.good():
		w.complain("%s: the target becomes %q, which is red in truth", r.name, becomes)
	case r.unwanted != "" && r.s.Of.Unwanted == "" && r.named:
		w.complain("%s: lands although it is not wanted", r.name)
	}
	if r.made++; r.made > 1 {
		w.complain("%s: it was landed twice", r.name)
	}
	w.becomes(becomes)
}
