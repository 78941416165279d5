package orchestrator

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"forge/gates"
	"forge/internal/text"
	"forge/internal/work"
)

// A person may set a phase back to what one of its iterations left. It goes on
// from there in a new attempt: with a new session, the budget that was left then,
// and every proof and review still to come. What costs money and is under way is
// waited for, so that it is in the books; an iteration is ended for it. Phases that
// depend on the phase have not begun. Where they were skipped because it failed,
// they are open again.

// maxRewinds is how often one phase is set back.
const maxRewinds = 50

// Snap is what an iteration of a phase left, with what was so then. Iteration 0 is
// what the phase began with.
type Snap struct {
	Iteration int
	Attempt   int `json:",omitempty"`
	Base      string
	Commit    string
	Tree      string            `json:",omitempty"`
	Spent     int               `json:",omitempty"`
	Parts     []work.ProvenPart `json:",omitempty"`
	Check     *work.TodoCheck   `json:",omitempty"`
	Staged    []string          // nil and empty are kept apart, as in a phase
	Merged    bool              `json:",omitempty"` // it is on the run branch, or what came after is
}

// Rewind is a phase that is about to be set back.
type Rewind struct {
	ID        string
	By        string
	Text      string `json:",omitempty"` // for its agent
	Iteration int
	Attempt   int
}

// RewindAskedData is the payload of phase.rewind_asked.
type RewindAskedData struct {
	ID        string `json:"id"`
	By        string `json:"by"`
	Door      string `json:"door"`
	Iteration int    `json:"iteration"`
	Attempt   int    `json:"attempt,omitempty"` // of that iteration
	Text      string `json:"text,omitempty"`
	Refused   string `json:"refused,omitempty"` // why nothing is set back
}

// PhaseRewoundData is the payload of phase.rewound: the phase goes on from what an
// iteration left.
type PhaseRewoundData struct {
	ID        string `json:"id"`
	By        string `json:"by"`
	Iteration int    `json:"iteration"`
	Attempt   int    `json:"attempt,omitempty"`
	From      int    `json:"from"` // the last iteration before
	Base      string `json:"base"`
	Commit    string `json:"commit"`
	Budget    int    `json:"budget"`
	// Closed are the checkpoints about what is dropped; they take no answer now.
	Closed []string `json:"closed,omitempty"`
}

// snap keeps what p's folder holds now.
func (p *Phase) snap(iteration, attempt int) {
	p.Snaps = append(slices.Clip(p.Snaps), Snap{
		Iteration: iteration, Attempt: attempt, Base: p.Base, Commit: p.Last, Tree: p.Tree,
		Spent: p.Spent, Parts: p.Parts, Check: p.Check, Staged: p.Staged,
	})
}

// snapsMerged notes that p's work so far is on the run branch.
func (p *Phase) snapsMerged() {
	p.Snaps = slices.Clone(p.Snaps)
	for i := range p.Snaps {
		p.Snaps[i].Merged = true
	}
}

// SnapOf is what an iteration of a phase left: of several attempts the newest, or
// the one that is named. The error says why there is none.
func (s *State) SnapOf(number string, iteration, attempt int) (Snap, error) {
	p := s.Phases[number]
	if p == nil {
		return Snap{}, fmt.Errorf("there is no phase %s", text.Label(number))
	}
	for _, at := range slices.Backward(p.Snaps) {
		if at.Iteration == iteration && (attempt == 0 || at.Attempt == attempt) {
			return at, nil
		}
	}
	name := fmt.Sprint(iteration)
	if attempt > 0 {
		name += fmt.Sprintf(", attempt %d,", attempt)
	}
	if len(p.Snaps) == 0 {
		return Snap{}, fmt.Errorf("phase %s has not begun", number)
	}
	if iteration <= p.Iteration && iteration > 0 && attempt == 0 {
		return Snap{}, fmt.Errorf("iteration %s of phase %s left no work of its own", name, number)
	}
	return Snap{}, fmt.Errorf("phase %s has no iteration %s", number, name)
}

// CannotRewind says why a phase cannot be set back to an iteration; "" = it can.
func (s *State) CannotRewind(number string, iteration, attempt int) string {
	at, err := s.SnapOf(number, iteration, attempt)
	if err != nil {
		return err.Error()
	}
	p := s.Phases[number]
	last := s.lastOfJob()
	switch {
	case s.Outcome.Final() && s.Outcome != work.RunFailed:
		return "the run is " + string(s.Outcome)
	case s.Outcome != work.RunFailed && (s.Final.Stage == FinalAsked || s.Final.Stage == FinalDeliver):
		return "all phases are over, and the result is being decided on"
	case p.Stage == StageFinished && p.Outcome == work.PhaseDone && p.Parent == "":
		return fmt.Sprintf("phase %s is done and merged", number)
	case p.Stage == StageFinished && p.Parent != "":
		return fmt.Sprintf("sub-phase %s is over; set phase %s back", number, p.Parent)
	case p.Stage == StageFinished && (s.Live || s.Outcome != work.RunFailed) && p.Outcome != work.PhaseFailed:
		return fmt.Sprintf("phase %s is %s", number, p.Outcome)
	case s.Job != nil && p.Parent == "" && last != nil && last != p:
		return fmt.Sprintf("phase %s is over, and phase %s follows it", number, last.Number)
	case p.Stage == StageTries, p.Stage == StageCouncil:
		return fmt.Sprintf("phase %s is being tried several times; set a try back, or wait until they are over", number)
	case p.Stopped != "":
		return fmt.Sprintf("try %s is being ended: %s", number, p.Stopped)
	case p.Stage == StageSub:
		return fmt.Sprintf("sub-phase %s of it is under way; set that back, or wait until it is over", p.Child)
	case p.Stage == StageFinished && p.PullRev > 0:
		return fmt.Sprintf("phase %s is over, and a pull request showed it; forge resume begins it again", number)
	case p.Pull.shown():
		return fmt.Sprintf("people look at phase %s in a pull request; ask for changes there", number)
	case p.Stage == StageLand, p.Stage == StageLanded, p.Stage == StagePull, s.merging(number) && p.Merge == nil:
		return fmt.Sprintf("phase %s is being merged", number)
	case at.Merged:
		return fmt.Sprintf("iteration %d of phase %s is merged", iteration, number)
	case p.Rewind != nil:
		return fmt.Sprintf("phase %s is being set back to iteration %d", number, p.Rewind.Iteration)
	case len(p.Rewinds) >= maxRewinds:
		return fmt.Sprintf("phase %s was set back %d times, which is the most", number, maxRewinds)
	}
	return ""
}

// rewindAsked takes a person's wish to set a phase back.
func (d *decision) rewindAsked(a work.Answer) {
	r := a.Rewind
	number := text.ClipJSON(r.Phase, 40)
	data := RewindAskedData{
		ID: text.ClipJSON(r.ID, 60), By: text.ClipJSON(a.By, 200), Door: text.ClipJSON(a.Door, 40),
		Iteration: r.Iteration, Attempt: r.Attempt, Text: text.ClipJSON(strings.TrimSpace(r.Text), work.MaxMessage),
	}
	p := d.s.Phases[number]
	switch {
	case p != nil && (slices.Contains(p.Rewinds, data.ID) || p.Rewind != nil && p.Rewind.ID == data.ID):
		data.Refused = "it was asked before"
	case p != nil && data.Text != "" && len(p.Messages) >= maxMessages:
		data.Refused = fmt.Sprintf("phase %s was told %d times, which is the most", number, maxMessages)
	default:
		data.Refused = d.s.CannotRewind(number, r.Iteration, r.Attempt)
	}
	if data.Refused == "" {
		at, _ := d.s.SnapOf(number, r.Iteration, r.Attempt)
		data.Attempt = at.Attempt
	}
	if p == nil {
		number = ""
	}
	d.phase(number, work.RewindAsked, data)
}

func applyRewindAsked(s *State, p *Phase, _ work.Event, d RewindAskedData) {
	if d.Refused != "" || p == nil {
		s.refuse(d.ID, d.Refused)
		return
	}
	p.Rewind = &Rewind{ID: d.ID, By: d.By, Text: d.Text, Iteration: d.Iteration, Attempt: d.Attempt}
}

// busy says that something of p is under way that has to end before p is set back:
// it costs money, or it is in the folder.
func (p *Phase) busy() bool {
	return p.Begun || p.Stage == StageFolder || p.Hooks.Due != nil || len(p.Review.begun()) > 0 || len(p.Contest.begun()) > 0
}

// rewinds sets phases back that a person asked to. One that failed is opened again
// first, with what was skipped because of it.
func (d *decision) rewinds() bool {
	for _, n := range d.s.Order {
		p := d.s.Phases[n]
		switch {
		case p.Rewind == nil || p.busy():
			continue
		case d.hooks(p): // of what is dropped, too
			if len(d.out) == 0 {
				continue
			}
		case p.Stage == StageFinished:
			d.phase(n, work.PhaseReopened, PhaseReopenedData{Why: reopenRewind, Budget: p.Budget})
			d.reopenSkipped(p)
		default:
			d.rewind(p)
		}
		return true
	}
	return false
}

// reopenSkipped opens what was skipped because p failed, so that it follows p again.
// In the graph's order, so that a cause is open again before its dependents.
func (d *decision) reopenSkipped(p *Phase) {
	if d.s.Job != nil {
		return
	}
	open := map[string]bool{p.Number: true}
	for _, n := range d.s.topo {
		q := d.s.Phases[n]
		if q.Stage != StageFinished || q.Outcome != work.PhaseSkipped || q.Cause != p.Number {
			continue
		}
		held := slices.ContainsFunc(q.Plan.DependsOn, func(need string) bool {
			by := d.s.Phases[need]
			return by.Stage == StageFinished && by.Outcome != work.PhaseDone && !open[need]
		})
		if !held {
			open[n] = true
			d.phase(n, work.PhaseReopened, PhaseReopenedData{Why: reopenRewind, Budget: q.Budget})
		}
	}
}

func (d *decision) rewind(p *Phase) {
	r := *p.Rewind
	at, err := d.s.SnapOf(p.Number, r.Iteration, r.Attempt)
	if err != nil {
		d.finish(p, work.PhaseFailed, work.ReasonInternal, err.Error())
		return
	}
	data := PhaseRewoundData{
		ID: r.ID, By: r.By, Iteration: at.Iteration, Attempt: at.Attempt, From: p.Iteration,
		Base: at.Base, Commit: at.Commit, Budget: max(p.Budget, at.Spent+1),
	}
	data.Closed = d.s.asked(p)
	d.phase(p.Number, work.PhaseRewound, data)
}

func applyRewound(s *State, p *Phase, _ work.Event, d PhaseRewoundData) {
	at, err := s.SnapOf(p.Number, d.Iteration, d.Attempt)
	if err != nil || p.Rewind == nil || p.Rewind.ID != d.ID || p.Stage == StageFinished {
		return
	}
	for _, id := range d.Closed {
		delete(s.Open, id)
	}
	stands := p.Stage
	if stands == StageAsked {
		stands = p.AskedAt
		s.lineUp(p)
	}
	r := *p.Rewind
	p.Rewind, p.Rewinds = nil, append(slices.Clip(p.Rewinds), r.ID)

	s.releaseTurn(p)
	p.anew()
	p.Base, p.Last, p.Tree = at.Base, at.Commit, at.Tree
	p.Iteration, p.Spent, p.Parts, p.Check, p.Staged = at.Iteration, at.Spent, at.Parts, at.Check, at.Staged
	p.Budget = d.Budget
	for q := s.Phases[p.Parent]; q != nil; q = s.Phases[q.Parent] {
		q.Budget = max(q.Budget, q.Spent+p.Spent+1)
	}
	p.Kind, p.Judged, p.Conflict, p.Complete, p.Said = IterationWork, Judged{}, nil, nil, ""
	if p.Reworking {
		p.Kind = IterationRework // what is merged stays done as it was, whatever comes of this
	} else {
		p.Proof = ""
	}
	p.Proving, p.Prior, p.Record, p.Evidence, p.Gone = Proving{}, nil, work.ProofRecord{}, nil, nil
	p.Notes, p.Verified, p.Progress = nil, "", gates.ProgressTracker{}
	p.Past.backTo(at.Iteration)
	if s.Job != nil && p.Parent == "" {
		s.Job.Then, s.Job.Claim = nil, nil
	}

	who := cmp.Or(r.By, "somebody")
	p.happened("%s set the work back to what %s", who, leftBy(at.Iteration))
	p.note("A person set your work back to what %s. Your folder holds just that; what was done after it is gone.", leftBy(at.Iteration))
	if r.Text != "" {
		p.Messages = append(slices.Clip(p.Messages), Message{ID: r.ID, By: r.By, Text: r.Text})
		p.happened("%s said: %s", who, text.FirstLine(text.Plain(r.Text), 200))
	}

	switch stands {
	case StageWaiting:
		s.leave(p)
		p.Stage = stands
	case StageReady:
		p.Stage = stands
	default:
		p.Stage = StageFolder
	}
}

// leftBy names what a phase is set back to.
func leftBy(iteration int) string {
	if iteration == 0 {
		return "the phase began with"
	}
	return fmt.Sprintf("iteration %d left", iteration)
}
