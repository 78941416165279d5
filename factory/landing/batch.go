package landing

import (
	"cmp"
	"fmt"
	"slices"

	"forge/internal/halves"
	"forge/internal/work"
)

// A Batch is results that wait to land on one target and are brought there together,
// as trains of phases are (orchestrator):
//
//  1. Each is merged onto the one before it, the first onto the target, beside every
//     branch. One that conflicts with those before it leaves, and looks anew later.
//  2. The tree of the last one is proven as one change of the target: the commands, and
//     all that follows from what it does to evidence. When it is red, the first red one
//     is sought by halves.
//  3. Those up to the tree that is green land in one move of the target, which never
//     holds a tree in between. The first red one then meets the target alone, where its
//     tree is known to be red; those behind it go with the next batch.
//
// What a tree came to stands in the journal of the run whose merge it is, so that it is
// not proven again whatever dies. A batch itself needs no journal: one that died moved
// its target or it did not, and each result looks before it acts.
type Batch struct {
	Onto    string   // the target's commit that it begins on
	Members []Member // that did not leave, in their order
	Span    halves.Span
	Verdict Verdict // of the last tree that is not red
}

// Member is one result of a batch.
type Member struct {
	Run      string
	Issue    int64
	At       string // commit
	Priority work.Priority
	// Like is all that its proof rests on beside the tree: one proof stands for those
	// alone that are alike. "" = it goes alone.
	Like string
	// Trusted is the state whose evidence its work is held against.
	Trusted string
	// Commit is the target with all up to this one, and Tree what it holds.
	Commit string
	Tree   string
}

// Link is what merging a member onto the one before it came to. One with conflicts has
// no commit.
type Link struct {
	Conflicts []string
	Commit    string
	Tree      string
}

// Probe is what the tree of a member came to, in a batch.
type Probe struct {
	Onto    string  `json:"onto"` // what the batch began on
	Commit  string  `json:"commit"`
	Tree    string  `json:"tree"`
	Verdict Verdict `json:"verdict"`
	Problem string  `json:"problem,omitempty"`
	// Mixed says that it is red for more than what the tree itself holds: on another
	// target it may be green.
	Mixed bool `json:"mixed,omitempty"`
	// Before are the issues whose results it holds as well, and Trusted the states whose
	// evidence it was held against: that of each of them, and of its own.
	Before  []int64          `json:"before,omitempty"`
	Trusted []string         `json:"trusted,omitempty"`
	Pages   []work.PageShown `json:"pages,omitempty"`
}

// Aboard are the places of those that go together now, in the order in which they are
// merged: the most urgent first, and of equal ones who came first. Nil = the first goes
// alone. at is the first, which whoever it does not go with waits for.
func Aboard(waiting []Member, most int) []int {
	order := make([]int, len(waiting))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Compare(urgency(waiting[b].Priority), urgency(waiting[a].Priority))
	})
	if len(order) == 0 || waiting[order[0]].Like == "" {
		return nil
	}
	first := waiting[order[0]].Like
	order = slices.DeleteFunc(order, func(i int) bool { return waiting[i].Like != first })
	if order = order[:min(len(order), max(most, 1))]; len(order) < 2 {
		return nil
	}
	return order
}

// urgency is a priority's place; a word that is none counts as normal.
func urgency(p work.Priority) int {
	if at := slices.Index(work.Priorities(), p); at >= 0 {
		return at
	}
	return slices.Index(work.Priorities(), work.PriorityNormal)
}

// NewBatch is the batch of members that were merged onto a commit, as links say.
func NewBatch(onto string, members []Member, links []Link) Batch {
	b := Batch{Onto: onto}
	for i, m := range members {
		if i < len(links) && len(links[i].Conflicts) == 0 && links[i].Commit != "" && links[i].Tree != "" {
			m.Commit, m.Tree = links[i].Commit, links[i].Tree
			b.Members = append(b.Members, m)
		}
	}
	b.Span = halves.NewSpan(len(b.Members))
	return b
}

// Next is the member whose tree is to be proven next, with the issues before it; ok is
// false once it is known who lands.
func (b Batch) Next() (m Member, before []int64, ok bool) {
	at := b.Span.Probe()
	if at == 0 {
		return m, nil, false
	}
	for _, one := range b.Members[:at-1] {
		before = append(before, one.Issue)
	}
	return b.Members[at-1], before, true
}

// Trusted are the states whose evidence the tree is held against that is proven next:
// that of its last result first, and of all that it holds.
func (b Batch) Trusted() (all []string) {
	for _, one := range slices.Backward(b.Members[:b.Span.Probe()]) {
		if !slices.Contains(all, one.Trusted) {
			all = append(all, one.Trusted)
		}
	}
	return all
}

// Saw is the batch once the tree was proven that is next, or was not. What is neither
// green nor red says nothing.
func (b Batch) Saw(v Verdict) Batch {
	at := b.Span.Probe()
	switch {
	case at == 0:
	case v == Green, v == NoCommands:
		b.Span, b.Verdict = b.Span.Saw(at, true), v
	case v == Red:
		b.Span = b.Span.Saw(at, false)
	}
	return b
}

// Lands are those that land together, and whoever is red right behind them; nobody is
// named "".
func (b Batch) Lands() (together []Member, culprit string) {
	if b.Span.Probe() != 0 {
		return nil, ""
	}
	if at := b.Span.Culprit(); at > 0 {
		culprit = b.Members[at-1].Run
	}
	return b.Members[:b.Span.Good], culprit
}

// Proof is the one with which each of those lands that land together.
func (b Batch) Proof(m Member) Proof {
	together, _ := b.Lands()
	p := Proof{Onto: b.Onto, At: m.At}
	for _, one := range together {
		p.Commit, p.Tree = one.Commit, one.Tree
		if one.Run != m.Run {
			p.With = append(p.With, one.Issue)
			continue
		}
		p.Verdict = b.Verdict // nobody else lands by it
	}
	return p
}

// mostProbes are remembered of a result.
const mostProbes = 20

// probes is the command that proves a member's tree in a batch. It is due while the
// member waits to be proven.
func (s *State) probes(commit string) Command {
	return Command{ID: work.CommandID(fmt.Sprintf("%s/landing/%d/1/%s-%s", s.Run, s.Of.Try, StepProbe, commit)), Step: StepProbe, Commit: commit}
}

// ProbeOf is the command that proves what a batch merged up to the result, as commit.
func ProbeOf(s *State, commit string) Command { return s.probes(commit) }

// awaits says that a command is to be carried out now.
func (s *State) awaits(c Command) bool {
	if c.Step == StepProbe {
		return s.Stage == StageProve && s.Proof == nil && c.ID == s.probes(c.Commit).ID
	}
	due, ok := Pending(s)
	return ok && due.ID == c.ID
}

// probed remembers what a tree came to, each once.
func (s *State) probed(p Probe) {
	if _, known := Known(s.Probes, p.Onto, p.Tree, p.Trusted); known || p.Tree == "" || p.Verdict == "" {
		return
	}
	p.Pages = nil // which stay in the event
	s.Probes = append(s.Probes, p)
	s.Probes = s.Probes[max(len(s.Probes)-mostProbes, 0):]
}

// green are those that are not red. What is red is believed once: whoever has it tried
// again wants it proven again.
func green(probes []Probe) []Probe {
	return slices.DeleteFunc(slices.Clone(probes), func(p Probe) bool { return p.Verdict == Red })
}

// Known is what a tree came to before: on the same commit, held against all the trusted
// states that are asked about, or, where it is red by itself, on any.
func Known(probes []Probe, onto, tree string, trusted []string) (Probe, bool) {
	at := slices.IndexFunc(probes, func(p Probe) bool {
		held := !slices.ContainsFunc(trusted, func(state string) bool { return !slices.Contains(p.Trusted, state) })
		return p.Tree == tree && (p.Onto == onto && held || p.Verdict == Red && !p.Mixed)
	})
	if at < 0 {
		return Probe{}, false
	}
	return probes[at], true
}
