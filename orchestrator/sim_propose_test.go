package orchestrator

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"forge/internal/pace"
	"forge/internal/work"
)

// hosts are the truth about the pull requests of a result, each on its own host.
type hosts struct {
	*rand.Rand
	pulls  map[string]*partPull // by repository
	target map[string]string    // where it is
	proven map[string]bool      // the result merged with that: true = green, false = red
	ready  map[string]bool      // as it was looked at last
	opened int
	faults map[string]int
	wrong  error // what must never be
}

// partPull is the pull request of one part.
type partPull struct {
	number                  int64
	closed, approved, green bool
	pushed                  bool // its branch holds what nobody proved
	linked                  int  // how many others its text names
	merged                  string
	other                   bool   // and what was merged is something else
	onto                    string // what its target was at by then
	byForge, given          bool   // Forge merged it, or closed it for good
}

func newHosts(seed uint64, faults map[string]int) *hosts {
	return &hosts{Rand: rand.New(rand.NewPCG(seed, 0x7075)), pulls: map[string]*partPull{}, target: map[string]string{"": "c0", "api": "a0", "lib": "l0"}, proven: map[string]bool{}, ready: map[string]bool{}, faults: faults}
}

func (w *hosts) chance(percent int) bool { return w.IntN(100) < percent }

func (w *hosts) between(decided bool) error {
	for repo, p := range w.pulls {
		if p.byForge && !decided {
			return fmt.Errorf("%s is merged, and nobody decided that", Called(repo))
		}
	}
	return w.wrong
}

// people approve, let checks pass, and change their minds; some push, close, or merge
// one part by hand.
func (w *hosts) people(s *State) {
	repo := []string{"", "api", "lib"}[w.IntN(3)]
	p := w.pulls[repo]
	if p == nil || p.merged != "" || p.given {
		if w.IntN(1000) < 8 && p == nil {
			w.moves(repo)
		}
		return
	}
	held := s.Together != nil && s.Together.Stage == TogetherHeld
	switch x := w.IntN(1000); {
	case x < 250 || held && x < 600:
		p.approved, p.green, p.closed, p.pushed = true, true, false, false
	case x < 630:
		p.approved = !p.approved
	case x < 660:
		p.green = !p.green
	case x < 680:
		p.closed = true
	case x < 683 && len(w.pulls) == 3 && !w.anyMerged():
		for _, p := range w.pulls {
			p.closed, p.given = true, true
		}
	case x < 690:
		p.pushed = true
	case x < 700 && !p.closed:
		w.faults["merged by hand"]++
		p.merged, p.other, p.onto = "hand-"+Called(repo), p.pushed, w.target[repo]
	case x < 710:
		w.moves(repo)
	}
}

// moves has people move a target on.
func (w *hosts) moves(repo string) {
	w.target[repo] = fmt.Sprintf("%s-%d", Called(repo), w.IntN(1000))
}

func (w *hosts) anyMerged() bool {
	for _, p := range w.pulls {
		if p.merged != "" {
			return true
		}
	}
	return false
}

// see is how a pull request stands, as a host tells it.
func (w *hosts) see(repo, from string) (is ResultPulled, why string) {
	p := w.pulls[repo]
	if p == nil {
		return is, "there is none"
	}
	is.Number = p.number
	switch {
	case p.merged != "" && (p.other || p.onto != from):
		is.Merged, why = p.merged, "it is not what was proven"
	case p.merged != "":
		is.Merged = p.merged
	case p.closed:
		why, is.Closed = "closed", true
	case p.pushed:
		why = "pushed to"
	case !p.green:
		why = "its checks fail"
	case !p.approved:
		why = "nobody has approved it"
	case w.target[repo] != from:
		why, is.Onto = "the target moved", w.target[repo]
	}
	if why != "" {
		w.faults["not to be merged: "+why]++
	}
	return is, why
}

func (w *hosts) carry(e TogetherEffect) TogetherDone {
	c := e.Command
	done := TogetherDone{Command: c}
	p := w.pulls[c.Repository]
	switch c.Step {
	case StepPrepare:
		if at := w.target[c.Repository]; at != e.Pull.From {
			done.Why, done.Onto = "the target moved", at
		}
	case StepUpdate:
		at := Called(c.Repository) + " on " + e.Update.Onto
		green, known := w.proven[at]
		if !known {
			green = !w.chance(15)
			w.proven[at] = green
		}
		if done.Made, done.Tree = "merge", "tree"; !green {
			w.faults["red with what its target holds"]++
			done.Why = "it is red"
		}
	case StepPropose:
		if p == nil && w.chance(6) {
			w.faults["a pull request refused"]++
			done.Why = "refused"
			break
		}
		if p == nil {
			w.opened++
			p = &partPull{number: int64(w.opened)}
			w.pulls[c.Repository] = p
		}
		done.Number = p.number
	case StepLink:
		if w.chance(6) {
			done.Why = "refused"
			break
		}
		p.linked = 0
		for _, o := range e.Pull.Others {
			if o.Number == w.pulls[map[string]string{"home": "", "api": "api", "lib": "lib"}[o.Repository]].number {
				p.linked++
			}
		}
		done.Number = p.number
	case StepLook:
		done.ResultPulled, done.Why = w.see(c.Repository, e.Pull.From)
		w.ready[c.Repository] = done.Why == ""
	case StepMove:
		if done.ResultPulled, done.Why = w.see(c.Repository, e.Pull.From); done.Why == "" && done.Merged == "" {
			w.merge(e, &done)
		}
	}
	return done
}

// merge is Forge's merge, which only is while all others can be merged too, as far as
// anybody has seen.
func (w *hosts) merge(e TogetherEffect, done *TogetherDone) {
	repo := e.Command.Repository
	p := w.pulls[repo]
	if began := map[string]string{"": "c0", "api": "a0", "lib": "l0"}[repo]; e.Pull.From != began {
		w.faults["merged with a target that went on"]++
		if !w.proven[Called(repo)+" on "+e.Pull.From] || e.Pull.Tree != "tree" {
			w.wrong = fmt.Errorf("%s is merged onto %s, which is not proven in truth", Called(repo), e.Pull.From)
		}
	}
	p.onto = e.Pull.From
	for name, other := range w.pulls {
		switch {
		case other.linked != 2:
			w.wrong = fmt.Errorf("%s is merged, and the text of %s names %d others", Called(repo), Called(name), other.linked)
		case other.merged == "" && !w.ready[name]:
			w.wrong = fmt.Errorf("%s is merged, and %s was not ready", Called(repo), Called(name))
		}
	}
	if len(w.pulls) != 3 {
		w.wrong = fmt.Errorf("%s is merged, and only %d pull requests are open", Called(repo), len(w.pulls))
	}
	p.merged, p.byForge = "merged-"+Called(repo), true
	done.Merged = p.merged
	if w.chance(1) {
		w.faults["the target moved in the moment of the merge"]++
		p.other, done.Why = true, "it is not what was proven"
	}
}

func (w *hosts) closed(e CloseEffect) CloseDone {
	w.faults["closed at the end"]++
	if p := w.pulls[e.Command.Repository]; p != nil && p.merged == "" {
		p.closed, p.given = true, true
	}
	return CloseDone{Command: e.Command}
}

// check holds that no run is over while Forge has merged some parts and others are not
// merged, that it says what is so, and that nothing is left open behind it.
func (w *hosts) check(s *State, e work.Event) error {
	if e.Kind != work.RunFinished || !s.Outcome.Final() {
		return nil
	}
	merged, some, mine := 0, 0, false
	for repo, p := range w.pulls {
		if p.merged != "" {
			some++
		}
		if p.merged != "" && !p.other && p.onto == s.Together.from(repo) {
			merged++
		}
		mine = mine || p.byForge
		if s.Outcome == work.RunCancelled && p.merged == "" && !p.closed {
			return fmt.Errorf("the run is cancelled, and left the pull request of %s open", Called(repo))
		}
	}
	if mine && some < 3 {
		return fmt.Errorf("the run is over (%s), and %d of 3 parts are merged alone", s.Outcome, some)
	}
	if d := s.Delivery; d != nil && d.FastForwarded != (merged == 3) {
		return fmt.Errorf("the run says %v, and merged are %d", d.FastForwarded, merged)
	}
	w.faults[fmt.Sprintf("over: %s, %d merged", s.Outcome, merged)]++
	return nil
}

// from is what the target of a repository is moved from.
func (t *Together) from(repo string) string {
	if t == nil {
		return ""
	}
	for _, o := range t.Of {
		if o.Repository == repo {
			return o.From
		}
	}
	return ""
}

// onHosts lets the parts of a result become pull requests.
func onHosts(sp *Spec) {
	sp.Host = &work.PullSettings{Kind: "gitea", URL: "http://host", Repo: "o/home"}
	for i := range sp.Repositories {
		sp.Repositories[i].Host = &work.PullSettings{Kind: "gitea", URL: "http://host", Repo: "o/" + sp.Repositories[i].Name}
	}
}

func TestSimulationOfProposals(t *testing.T) {
	pace.Slow(t, "hundreds of schedules")
	pace.Sequential(t, "schedules of a pure core, in one goroutine")
	journal, spec := handedOver(t, onHosts)
	faults := map[string]int{}
	for seed := range uint64(schedules(500)) {
		if err := handOverPlay(journal, spec, newHosts(seed+1, faults), noBug, faults); err != nil {
			t.Fatalf("seed %d: %v", seed+1, err)
		}
	}
	t.Logf("faults %v", faults)
	for _, f := range []string{
		"a pull request refused", "merged by hand", "the target moved in the moment of the merge", "not to be merged: closed", "not to be merged: pushed to", "not to be merged: its checks fail",
		"not to be merged: nobody has approved it", "not to be merged: the target moved", "crash", "crash before the write", "stop", "broke", "a result twice", "closed at the end", "red with what its target holds", "merged with a target that went on",
		"over: completed, 3 merged", "over: completed, 0 merged", "over: cancelled, 0 merged",
	} {
		if faults[f] == 0 {
			t.Errorf("no schedule met %q", f)
		}
	}
}

func TestSeededBugsOfProposals(t *testing.T) {
	pace.Slow(t, "many schedules")
	pace.Sequential(t, "schedules of a pure core, in one goroutine")
	journal, spec := handedOver(t, onHosts)
	decided := func(from, to TogetherStage) func(*State, Fact, []work.Event) []work.Event {
		return rewrite(work.TogetherDecided, func(_ *State, _ *work.Event, d *TogetherDecidedData) {
			if d.To == from {
				d.To = to
			}
		})
	}
	for name, seeded := range map[string]struct {
		found string
		bug   func(*State, Fact, []work.Event) []work.Event
	}{
		"one that is not approved taken for ready": {"was not ready", rewrite(work.TogetherFinished, func(_ *State, _ *work.Event, d *TogetherFinishedData) {
			d.OK = d.OK || d.Step == StepLook && d.Merged == ""
		})},
		"one that was not merged taken for merged": {"the run ", rewrite(work.TogetherFinished, func(_ *State, _ *work.Event, d *TogetherFinishedData) {
			if d.Step == StepMove && !d.OK && d.Merged == "" {
				d.OK, d.Merged = true, "merged-nothing"
			}
		})},
		"something else that was merged taken for the result": {"the run ", rewrite(work.TogetherFinished, func(_ *State, _ *work.Event, d *TogetherFinishedData) {
			d.OK = d.OK || d.Merged != ""
		})},
		"what is red with its target taken for proven": {"not proven in truth", rewrite(work.TogetherFinished, func(_ *State, _ *work.Event, d *TogetherFinishedData) {
			d.OK = d.OK || d.Step == StepUpdate
		})},
		"nobody is told of the others":                       {"names 0 others", decided(TogetherLink, TogetherLook)},
		"merged without a look":                              {"was not ready", decided(TogetherLook, TogetherMove)},
		"those that were merged before one that was refused": {"merged alone", decided(TogetherHeld, TogetherOver)},
		"a pull request that is left open": {"open", func(s *State, f Fact, evs []work.Event) []work.Event {
			if _, drained := f.(Drained); !drained {
				s.Leaving = nil
			}
			return evs
		}},
		"a cancelled run that ends half-way": {"the run is ", func(_ *State, f Fact, evs []work.Event) []work.Event {
			for i := range evs {
				var d RunStoppingData
				if stop, ok := f.(Stop); ok && evs[i].Kind == work.RunStopping && decode(evs[i], &d) == nil {
					evs[i].Data, _ = json.Marshal(RunStoppingData(stop))
				}
			}
			return evs
		}},
	} {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(1500) {
				if err := handOverPlay(journal, spec, newHosts(seed+1, map[string]int{}), seeded.bug, map[string]int{}); err != nil {
					if !strings.Contains(err.Error(), seeded.found) {
						t.Errorf("seed %d: found as %v", seed+1, err)
					}
					return
				}
			}
			t.Error("no schedule finds it")
		})
	}
}
