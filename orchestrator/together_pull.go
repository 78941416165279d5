package orchestrator

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"forge/internal/text"
	"forge/internal/work"
)

// Where the repositories have code hosts, each part of a result is a pull request on
// its own, and the hosts move the targets. Between prepare and move stand then:
//
//  1. Propose, in each: the pull request is opened. Where one is refused no further
//     one is opened, and the run is held.
//  2. Link, in each: its text names the others.
//  3. Look, in each: whether it is approved and green, and the host's target is where
//     the run began. One that is not holds all; whoever resumes the run looks again.
//     People give a result up by closing all of them.
//
// No host takes a merge back. So nothing is merged before all can be, and where one
// is refused after another one was merged, the run is held and goes on forward.

// ResultPulled is what is known of the pull request of one part of a result.
type ResultPulled struct {
	Number int64  `json:"number,omitempty"` // 0 = there is none
	URL    string `json:"url,omitempty"`
	Merged string `json:"merged,omitempty"` // the commit that the host made of it; "" = it is not merged
	Linked bool   `json:"linked,omitempty"` // its text names all others
	Closed bool   `json:"closed,omitempty"` // people closed it without a merge
	// Onto is where the target is that went on, and nothing else is in the way.
	Onto string `json:"onto,omitempty"`
}

// ResultPull is the pull request of one part of a result.
type ResultPull struct {
	Run        string
	Repository string // as people call it
	Marker     string // of the one pull request
	Branch     string
	Commit     string
	Target     string
	Began      string // what the change is told from
	From       string // where the target has to be
	Tree       string // what the target then holds; "" = what Commit holds
	Number     int64  // 0 = not known yet
	Title      string
	Paper      PullPaper
	Others     []ResultOther // in the order in which all are merged
	At         int           // its own place among them
	// Approved is who approved the whole result here; "" = nobody was asked.
	Approved string
	// Keep is the reference that keeps what the host has merged.
	Keep string
}

// ResultOther is the pull request of another part.
type ResultOther struct {
	Repository string // as people call it
	ResultPulled
}

// proposes says that the parts of the result become pull requests.
func (s *State) proposes() bool { return s.Spec.Host != nil && len(s.Spec.Repositories) > 0 }

// resultPull is what a step of c has to do with a pull request; nil = nothing.
func (s *State) resultPull(c Command) *ResultPull {
	if !s.proposes() {
		return nil
	}
	base := s.BaseOf(c.Repository)
	out := &ResultPull{
		Run: s.Run, Repository: Called(c.Repository), Marker: s.Run + " " + s.Spec.Branch, Branch: s.Spec.Branch, Commit: c.Commit,
		Target: base.Branch, Began: base.Commit, From: base.Commit, Approved: s.Final.Approved, Keep: Ref(s.Run, "result/"+Called(c.Repository)),
		Paper: PullPaper{Run: s.Run},
	}
	var names, why, doubts []string
	proven := true
	for _, n := range s.topo {
		p := s.Phases[n]
		if p.Plan.Repository != c.Repository || !p.Landed {
			continue
		}
		names = append(names, strings.TrimSpace(p.Plan.Name))
		why = append(why, strings.TrimSpace(p.Plan.Name+"\n\n"+p.Plan.Reasoning))
		doubts = append(doubts, p.doubts())
		proven = proven && p.Proof == work.ProofVerified
		for _, command := range p.Set.Verify {
			if !slices.Contains(out.Paper.Proof, command) {
				out.Paper.Proof = append(out.Paper.Proof, command)
			}
		}
		out.Paper.Record = p.Record
	}
	if !proven {
		out.Paper.Proof = nil
	}
	out.Title = text.ClipJSON(strings.Join(names, ", "), 200)
	out.Paper.Why = text.ClipJSON(strings.Join(why, "\n\n"), 4<<10)
	out.Paper.Doubts = text.ClipJSON(strings.Join(doubts, ""), 4<<10)
	for i, o := range s.Together.Of {
		if o.Repository == c.Repository {
			out.Number, out.At, out.From, out.Tree = o.Number, i, o.From, o.Tree
			continue
		}
		out.Others = append(out.Others, ResultOther{Called(o.Repository), o.ResultPulled})
	}
	return out
}

// nextPull is the repository whose pull request is due in this stage. One that was
// refused keeps others from being opened; all are looked at, so that all is told.
func (t *Together) nextPull() (at int, step Step, due bool) {
	if t.Stage != TogetherLook && t.count(TogetherKept) > 0 {
		return -1, "", false
	}
	at = slices.IndexFunc(t.Of, func(o TogetherOne) bool {
		switch t.Stage {
		case TogetherPropose:
			return o.Number == 0
		case TogetherLink:
			return !o.Linked
		}
		return o.State == TogetherDue
	})
	step = map[TogetherStage]Step{TogetherPropose: StepPropose, TogetherLink: StepLink, TogetherLook: StepLook}[t.Stage]
	return at, step, at >= 0
}

// proposed decides what follows once every pull request has had its turn.
func (d *decision) proposed() {
	t := d.s.Together
	switch {
	case t.count(TogetherMoved) == len(t.Of):
		d.togetherDecided(TogetherOver, "")
	case !slices.ContainsFunc(t.Of, func(o TogetherOne) bool { return !o.Closed }):
		d.togetherDecided(TogetherOver, "every pull request of it was closed")
	case t.count(TogetherKept, TogetherStuck) > 0:
		d.togetherDecided(TogetherHeld, t.tell())
	case d.update(TogetherHeld):
	case t.Stage == TogetherPropose:
		d.togetherDecided(TogetherLink, "")
	case t.Stage == TogetherLink:
		d.togetherDecided(TogetherLook, "")
	default:
		d.togetherDecided(TogetherMove, "")
	}
}

// pulled notes what a step about its pull request came to. What is not known to be
// merged as it was proven is not moved.
func (o *TogetherOne) pulled(d TogetherFinishedData) {
	o.Number, o.URL, o.Closed = cmp.Or(d.Number, o.Number), cmp.Or(d.URL, o.URL), d.Closed
	// A later look tells what came of a merge that brought no answer.
	o.Asked = o.Asked && !(d.Step == StepLook && d.Number != 0)
	switch {
	case d.Merged != "" && d.OK:
		o.State, o.Merged = TogetherMoved, d.Merged
	case d.Merged != "":
		o.State, o.Merged = TogetherStuck, d.Merged
	case !d.OK:
		o.State = TogetherKept
	case d.Step == StepPropose && o.Number == 0:
		o.State, o.Why = TogetherKept, "the host does not say which pull request it is"
	case d.Step == StepMove:
		o.State, o.Why = TogetherKept, "the host does not say what it merged"
	case d.Step == StepLook:
		o.State = TogetherReady
	case d.Step == StepLink:
		o.Linked = true
	}
	o.behind(d)
}

func applyTogetherStarted(s *State, _ *Phase, _ work.Event, d TogetherStartedData) {
	if t := s.Together; t != nil && s.proposes() && d.Step == StepMove {
		for i := range t.Of {
			o := &t.Of[i]
			o.Asked = o.Asked || Called(o.Repository) == d.Repository
		}
	}
}

// lookAgain forgets what was seen of those that are not merged.
func (t *Together) lookAgain() {
	for i := range t.Of {
		if o := &t.Of[i]; o.State != TogetherMoved {
			o.State, o.Why, o.Onto = TogetherDue, "", ""
		}
	}
}

// pullsAgain goes on with pull requests after a process is gone: what is not opened
// is opened, and all are looked at before anything is merged.
func (t *Together) pullsAgain() {
	if t.Updates = 0; t.Stage == TogetherPrepare || t.Stage == TogetherOver {
		return
	}
	t.lookAgain()
	missing := func(lacks func(TogetherOne) bool) bool {
		return slices.ContainsFunc(t.Of, func(o TogetherOne) bool { return o.State != TogetherMoved && lacks(o) })
	}
	switch t.Why = ""; {
	case t.Stage == TogetherUpdating && !slices.ContainsFunc(t.Of, func(o TogetherOne) bool { return o.Number != 0 }):
		t.Stage = TogetherPrepare // none is opened before all could be
	case missing(func(o TogetherOne) bool { return o.Number == 0 }):
		t.Stage = TogetherPropose
	case missing(func(o TogetherOne) bool { return !o.Linked }):
		t.Stage = TogetherLink
	default:
		t.Stage = TogetherLook
	}
}

// held is the end of a process that can hand over no further: it waits for people, or,
// where some parts are moved already, for whoever mends that.
func (t *Together) held() RunStoppingData {
	if t.half() || t.count(TogetherStuck) > 0 {
		return RunStoppingData{Outcome: work.RunInterrupted, Reason: text.ClipJSON("only some repositories are moved: "+t.tell(), 500)}
	}
	return RunStoppingData{Outcome: work.RunFrozen, Reason: text.ClipJSON("it waits for its pull requests: "+t.tell(), 500)}
}

// keeps is where a hand-over stands that comes to nothing now: held where people look at
// pull requests, and over else.
func (s *State) keeps() TogetherStage {
	if s.proposes() {
		return TogetherHeld
	}
	return TogetherOver
}

// leaveResults gives the pull requests of a result up that will not land any more. One
// may be there whose number nobody heard.
func (s *State) leaveResults(why string) {
	t := s.Together
	if t == nil || !s.proposes() || t.Stage == TogetherPrepare || t.Stage == TogetherOver || t.half() {
		return
	}
	for _, o := range t.Of {
		s.Leaving = append(slices.Clip(s.Leaving), Leaving{Repository: Called(o.Repository), Branch: s.Spec.Branch, Number: o.Number, Why: why})
	}
}

// clipped is what is kept of a fact about a pull request.
func (f TogetherDone) clipped() ResultPulled {
	return ResultPulled{Number: max(f.Number, 0), URL: text.ClipJSON(f.URL, 500), Merged: text.ClipJSON(f.Merged, 100), Closed: f.Closed, Onto: text.ClipJSON(f.Onto, 100)}
}

// ResultTitle is what the pull request of one part is called.
func (r ResultPull) ResultTitle() text.Title {
	return text.Titled("%s", cmp.Or(r.Title, fmt.Sprintf("Forge run %s", r.Run)))
}

// HeldPull is a pull request that a hand-over waits for, and how it stood when that was
// looked at last.
type HeldPull struct {
	Repository string // "" = the home
	Pull       ResultPull
	was        TogetherOne
}

// HeldPulls are those of a run that is held for them, but for the ones that are merged.
func (s *State) HeldPulls() []HeldPull {
	t := s.Together
	if t == nil || !s.proposes() || t.Stage != TogetherHeld || s.Outcome.Final() {
		return nil
	}
	var out []HeldPull
	for _, o := range t.Of {
		if o.Number != 0 && o.State != TogetherMoved {
			out = append(out, HeldPull{o.Repository, *s.resultPull(Command{Repository: o.Repository, Commit: o.To}), o})
		}
	}
	return out
}

// Moved says that another look came to something else. One that found no pull request
// says nothing; of a target that went on, only where it is counts, since what it came to
// there, red or not tried yet, comes to the same again.
func (p HeldPull) Moved(is ResultPulled, why string) bool {
	now := TogetherDone{Why: why, ResultPulled: is}
	seen := now.clipped()
	other := now.why() != p.was.Why
	if seen.Onto != "" {
		other = seen.Onto != p.was.Onto
	}
	return seen.Number != 0 && (other || seen.Merged != p.was.Merged || seen.Closed != p.was.Closed)
}

// why is what is kept of what is in the way.
func (f TogetherDone) why() string { return text.ClipJSON(f.Why, 300) }
