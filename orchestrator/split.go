package orchestrator

import (
	"fmt"
	"slices"
	"strings"

	"forge/dag"
	"forge/internal/text"
	"forge/internal/work"
)

// Split is how a phase is split into parts: whether that is due, what its agent
// proposes, and how far the parts are.
type Split struct {
	// Why is what it was asked for; "" = it was not. It is asked for once in an
	// opening of a phase.
	Why string `json:",omitempty"`
	// Ask says that the next iteration is asked to propose parts, Silent that
	// the last one was and proposed none.
	Ask    bool                `json:",omitempty"`
	Silent bool                `json:",omitempty"`
	Tries  int                 `json:",omitempty"` // proposals that came to nothing by a rule
	Offer  *work.Decomposition `json:",omitempty"` // waits for its decision
	Over   bool                `json:",omitempty"` // it was decided: no further proposal is taken
	Tasks  []Task              `json:",omitempty"` // of the proposal that was approved
	// Person approved it, having seen it; "" = nobody did.
	Person string `json:",omitempty"`

	// What the triggers look at.
	Wanted   bool     `json:",omitempty"` // the agent asked for it
	Blockers []string `json:",omitempty"` // what it said stops it, so far
	Reported bool     `json:",omitempty"` // it reported a percentage
}

// Task is one part of a split phase.
type Task struct {
	work.SplitTask
	Number string    `json:",omitempty"` // of its sub-phase
	State  dag.State `json:",omitempty"` // done, failed or skipped; "" = neither yet
	Cause  string    `json:",omitempty"` // the part whose failure skipped it
}

// maxSplitTries is how many proposals may come to nothing: a draft and one repair.
const maxSplitTries = 2

// maxSplitBlockers is how many blockers, of whatever words, show that a phase is
// too much for one.
const maxSplitBlockers = 3

// splitting takes in what an iteration says of splitting, and says whether it was
// for that: one that plans is not one without progress.
func (p *Phase) splitting(d work.IterationFinishedData) bool {
	sp := &p.Split
	sp.Silent = false
	if len(d.Signals.Progress) > 0 {
		sp.Reported = true
	}
	if !d.Outcome.KeepsClaim() || p.Kind != IterationWork {
		return false
	}
	for _, b := range plainBlockers(d.Signals) {
		if len(sp.Blockers) < maxSplitBlockers && !slices.Contains(sp.Blockers, b) {
			sp.Blockers = append(sp.Blockers, b)
		}
	}
	asked := sp.Ask
	sp.Ask = false
	if n := len(d.Signals.Decompositions); n > 0 && !sp.Over {
		offer := d.Signals.Decompositions[n-1]
		sp.Offer = &offer
	}
	sp.Silent = asked && sp.Offer == nil
	planned := asked || sp.Offer != nil
	if planned {
		p.steered()
	}
	return planned
}

// splits keeps that the agent asked for it, and says where that leads nowhere.
func (s *State) splits(p *Phase, d work.IterationFinishedData) {
	if !d.Signals.RequestDecomposition {
		return
	}
	p.Split.Wanted = true
	switch {
	case s.cannotSplit(p) != "" || !s.Spec.Settings.Decomposition.Requests:
		p.note("Decomposition was asked for: ask for sub-phases one by one with the spawn-subphase signal.")
	case p.Split.Over:
		p.note("You asked to have the phase split: that was decided before. Go on, or ask for single sub-phases with the spawn-subphase signal.")
	}
}

// splitDue is why p is to be split now, "" where nothing says so.
func (s *State) splitDue(p *Phase) string {
	set, sp := s.Spec.Settings.Decomposition, p.Split
	switch {
	case s.cannotSplit(p) != "", sp.Why != "", sp.Over, sp.Offer != nil:
		return ""
	case p.Kind != IterationWork, s.partsLeft(p, p.Budget-p.Spent-1) < max(set.MinTasks, 1):
		return ""
	}
	if sp.Wanted && set.Requests {
		return "the agent asked for it"
	}
	if set.Blockers {
		if why := blockedWhy(p, set.Keywords); why != "" {
			return why
		}
	}
	if sp.Reported && p.Spent*100 >= p.Budget*set.BudgetPercent && p.Progress.Best < float64(set.ProgressPercent) {
		return fmt.Sprintf("%d of %d iterations are used, and the agent reports %.0f %%", p.Spent, p.Budget, p.Progress.Best)
	}
	if set.Size > 0 && p.Budget > set.Size && p.Iteration == 0 {
		return fmt.Sprintf("its budget of %d iterations is above %d", p.Budget, set.Size)
	}
	return ""
}

// blockedWhy is what in the agent's words about what stops it says that the phase
// is too much for one. One thing that stops it again and again is none: in parts it
// would stop each of them.
func blockedWhy(p *Phase, keywords []string) string {
	for _, b := range p.Split.Blockers {
		lower := strings.ToLower(b)
		for _, k := range keywords {
			if strings.Contains(lower, strings.ToLower(k)) {
				return fmt.Sprintf("what stops the agent speaks of %q: %s", text.ClipJSON(k, 40), text.ClipJSON(b, 200))
			}
		}
	}
	if n := len(p.Split.Blockers); n >= maxSplitBlockers {
		return fmt.Sprintf("the agent named %d things that stop it", n)
	}
	return ""
}

// cannotSplit is why p is not split whatever its agent says; "" = it may be.
func (s *State) cannotSplit(p *Phase) string {
	switch {
	case !s.Spec.Settings.Decomposition.Enabled:
		return "splitting is switched off"
	case s.Job != nil:
		return "a job plans in phases of its own"
	case p.Try > 0, p.Set.Tries > 1:
		return "what is tried several times is not split"
	case p.Parent != "":
		return "parts are not split again"
	case strings.Contains(p.Number, "."):
		return "the phase's own number is already that of a part"
	case p.Set.Permission == work.PermissionReadonly:
		return "the phase changes nothing"
	case p.Reworking:
		return "the phase is being reworked"
	}
	return ""
}

// partsLeft is how many parts of one iteration each fit into what is left.
func (s *State) partsLeft(p *Phase, left int) int {
	return min(left-s.Spec.Settings.Decomposition.Kept(left), maxSubPhases-p.Spawned)
}

// splitProblems is everything wrong with a proposal: as with a plan, and with the
// budget that its parts share.
func (s *State) splitProblems(p *Phase, offer work.Decomposition) []string {
	if why := s.cannotSplit(p); why != "" {
		return []string{why}
	}
	set, left := s.Spec.Settings.Decomposition, p.Budget-p.Spent
	var out []string
	switch n := len(offer.Tasks); {
	case n < set.MinTasks:
		out = append(out, fmt.Sprintf("it has %s, at least %d are needed", text.Number(n, "part"), set.MinTasks))
	case n > set.MaxTasks || n > maxSubPhases-p.Spawned:
		out = append(out, fmt.Sprintf("it has %s, at most %d are possible", text.Number(n, "part"), min(set.MaxTasks, maxSubPhases-p.Spawned)))
	}
	most := left - set.Kept(left)
	total := 0
	for _, t := range offer.Tasks {
		if t.Budget < 1 {
			out = append(out, fmt.Sprintf("part %s has a budget of %d iterations", t.ID, t.Budget))
		}
		total += min(max(t.Budget, 0), 1<<20)
	}
	if total > most {
		out = append(out, fmt.Sprintf("its parts have %s together; %d of the %d that are left may be given away", text.Number(total, "iteration"), max(most, 0), left))
	}
	out = append(out, s.promiseProblems(p, offer)...)
	graph, err := dag.New(taskNodes(offer.Tasks))
	if err != nil {
		return append(out, err.Error())
	}
	if set.Integration && !gathers(graph, offer.Tasks) {
		out = append(out, "no part puts the others together: one has to depend on all of them")
	}
	return out
}

// promiseProblems is what is wrong with the parts' names and promises, alone and
// beside those of the run.
func (s *State) promiseProblems(p *Phase, offer work.Decomposition) []string {
	var out []string
	plan := work.Plan{}
	for i, t := range offer.Tasks {
		plan.Phases = append(plan.Phases, work.Phase{Number: fmt.Sprint(i), Name: t.Name, Promise: p.promiseOf(t)})
	}
	if len(plan.Phases) == 0 {
		return nil
	}
	for _, problem := range plan.Check() {
		out = append(out, problem.What)
	}
	for _, n := range s.Order {
		for _, t := range offer.Tasks {
			if p.promiseOf(t) == strings.TrimSpace(s.Phases[n].Plan.Promise) {
				out = append(out, fmt.Sprintf("the promise of part %s is that of phase %s", t.ID, n))
			}
		}
	}
	return out
}

// promiseOf is what the agent of a part says when it is done.
func (p *Phase) promiseOf(t work.SplitTask) string {
	if words := strings.TrimSpace(t.Promise); words != "" {
		return words
	}
	return fmt.Sprintf("PART %s OF %s IS DONE", t.ID, p.Number)
}

func taskNodes(tasks []work.SplitTask) []dag.Node[string] {
	var nodes []dag.Node[string]
	for _, t := range tasks {
		nodes = append(nodes, dag.Node[string]{Key: t.ID, Needs: t.DependsOn, Weight: int64(t.Budget)})
	}
	return nodes
}

// gathers says that some part comes after all others.
func gathers(g *dag.Graph[string], tasks []work.SplitTask) bool {
	after := map[string]map[string]bool{}
	for _, id := range g.Order() {
		after[id] = map[string]bool{}
		for _, t := range tasks {
			if t.ID != id {
				continue
			}
			for _, need := range t.DependsOn {
				after[id][need] = true
				for k := range after[need] {
					after[id][k] = true
				}
			}
		}
		if len(after[id]) == len(tasks)-1 {
			return true
		}
	}
	return false
}

// tasksOf is the approved proposal as parts that are to be done. Commands that
// nobody saw are the owner's own or none.
func (s *State) tasksOf(p *Phase, offer work.Decomposition, person string) []Task {
	var out []Task
	for _, t := range offer.Tasks {
		t.Promise = p.promiseOf(t)
		if person == "" {
			t.Verify = slices.DeleteFunc(slices.Clone(t.Verify), func(c string) bool {
				return !slices.Contains(p.Set.Verify, c) && !slices.Contains(s.settingsOf(p.Plan.Repository).Verify.Commands, c)
			})
		}
		if len(t.Verify) == 0 {
			t.Verify = nil // as in a snapshot
		}
		out = append(out, Task{SplitTask: t})
	}
	return out
}

// frontier is where the parts stand as a graph; nil = there is none.
func (sp *Split) frontier() *dag.Frontier[string] {
	var all []work.SplitTask
	for _, t := range sp.Tasks {
		all = append(all, t.SplitTask)
	}
	graph, err := dag.New(taskNodes(all))
	if err != nil || len(all) == 0 {
		return nil // it was checked before it was approved
	}
	f := graph.Frontier()
	for _, id := range graph.Order() {
		switch sp.task(id).State {
		case dag.Done:
			_, _ = f.Done(id)
		case dag.Failed:
			_, _ = f.Fail(id)
		}
	}
	return f
}

func (sp *Split) task(id string) *Task {
	for i := range sp.Tasks {
		if sp.Tasks[i].ID == id {
			return &sp.Tasks[i]
		}
	}
	return nil
}

// next is the part that is to be done now, nil where none is left.
func (sp *Split) next() *Task {
	if f := sp.frontier(); f != nil {
		if id, ok := f.Next(); ok {
			return sp.task(id)
		}
	}
	return nil
}

func (sp *Split) spawned(d SubPhaseSpawnedData) {
	if t := sp.task(d.Task); t != nil && d.Task != "" {
		t.Number = d.Number
	}
}

// folded notes what became of a part, and which others it took with it.
func (p *Phase) folded(d SubPhaseFoldedData) {
	sp := &p.Split
	i := slices.IndexFunc(sp.Tasks, func(t Task) bool { return t.Number == d.Number })
	if i < 0 {
		return
	}
	if sp.Tasks[i].State = dag.Done; d.Outcome != work.PhaseDone {
		sp.Tasks[i].State = dag.Failed
	}
	f := sp.frontier()
	for j := range sp.Tasks {
		t := &sp.Tasks[j]
		if t.State == "" && f != nil && f.State(t.ID) == dag.Skipped {
			t.State = dag.Skipped
			t.Cause, _ = f.Cause(t.ID)
			p.note("Part %s (%s) was not begun: it needs %s, which did not succeed.", t.ID, t.Name, t.Cause)
		}
	}
	if sp.next() == nil {
		p.note("All parts of this phase are over. Look at the whole: finish what is missing, put the parts together where they do not fit, and say the promise when everything of the phase is done.")
	}
}
