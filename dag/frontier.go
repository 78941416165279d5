package dag

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
)

// State is where a node stands. The empty state is that of an unknown key.
type State string

const (
	Waiting State = "waiting" // something it needs is not done
	Ready   State = "ready"   // may start
	Running State = "running"
	Done    State = "done"
	Failed  State = "failed"
	Skipped State = "skipped" // something it needs failed or was skipped
)

// Refused transitions.
var (
	// ErrUnknownNode is returned for a key that the graph does not hold.
	ErrUnknownNode = errors.New("unknown node")
	// ErrTransition is returned when a node's state forbids the step.
	ErrTransition = errors.New("not allowed in this state")
)

// Skip is a node that will not run and the first node whose failure is to blame.
type Skip[K cmp.Ordered] struct{ Key, Cause K }

// Counts is the number of nodes in each state.
type Counts struct{ Waiting, Ready, Running, Done, Failed, Skipped int }

// Frontier is one execution of a graph: which nodes may start now. A node is
// ready the moment its own needs are done, whatever else is going on. A refused
// step changes nothing. A Frontier is not safe for concurrent use; several of
// one graph are independent of each other.
type Frontier[K cmp.Ordered] struct {
	g     *Graph[K]
	state []State
	unmet []int // needs that are not done
	cause []int // node whose failure skipped this one, -1 = none
	ready *queue
	count Counts
	ranks []int // of what finish released, kept for its room
	work  int
}

// Frontier opens an execution in which nothing has started.
func (g *Graph[K]) Frontier() *Frontier[K] {
	n := g.Len()
	f := &Frontier[K]{
		g:     g,
		state: make([]State, n),
		unmet: make([]int, n),
		cause: make([]int, n),
		ready: newQueue(n),
	}
	for v := range n {
		f.work++
		f.unmet[v] = len(g.needs[v])
		f.cause[v] = -1
		f.open(v)
	}
	return f
}

// Ready returns what may start, longest remaining path first. Its cost is that
// of its result; a caller that wants one node at a time uses Next.
func (f *Frontier[K]) Ready() []K {
	ranks := slices.Clone(f.ready.ranks)
	slices.Sort(ranks)
	out := make([]K, len(ranks))
	for i, r := range ranks {
		out[i] = f.g.keys[f.g.byRank[r]]
	}
	return out
}

// Next returns the first of Ready; ok is false when nothing is ready.
func (f *Frontier[K]) Next() (k K, ok bool) {
	if f.ready.len() == 0 {
		return k, false
	}
	return f.g.keys[f.g.byRank[f.ready.ranks[0]]], true
}

// Start marks a ready node as running.
func (f *Frontier[K]) Start(k K) error {
	v, err := f.find("start", k, Ready)
	if err != nil {
		return err
	}
	f.set(v, Running)
	return nil
}

// Done marks a running or ready node as done and returns the nodes that became
// ready by it, longest remaining path first.
func (f *Frontier[K]) Done(k K) (released []K, err error) {
	v, err := f.find("finish", k, Running, Ready)
	if err != nil {
		return nil, err
	}
	return f.finish(v), nil
}

// Fail marks a running or ready node as failed and returns everything that
// cannot run because of it, needs before dependents. A node that an earlier
// failure skipped keeps that cause and is not returned again.
func (f *Frontier[K]) Fail(k K) (skipped []Skip[K], err error) {
	v, err := f.find("fail", k, Running, Ready)
	if err != nil {
		return nil, err
	}
	f.set(v, Failed)
	var hit []int
	for wave := []int{v}; len(wave) > 0; {
		w := wave[len(wave)-1]
		wave = wave[:len(wave)-1]
		f.work++
		for _, d := range f.g.dependents[w] {
			f.work++
			if f.state[d] == Waiting {
				f.set(d, Skipped)
				f.cause[d] = v
				hit = append(hit, d)
				wave = append(wave, d)
			}
		}
	}
	slices.SortFunc(hit, func(a, b int) int { return cmp.Compare(f.g.place[a], f.g.place[b]) })
	for _, d := range hit {
		skipped = append(skipped, Skip[K]{Key: f.g.keys[d], Cause: k})
	}
	return skipped, nil
}

// State returns where k stands, "" for an unknown key.
func (f *Frontier[K]) State(k K) State {
	v, ok := f.g.index[k]
	if !ok {
		return ""
	}
	return f.state[v]
}

// Cause returns the node whose failure skipped k; ok is false when k is not
// skipped.
func (f *Frontier[K]) Cause(k K) (cause K, ok bool) {
	v, known := f.g.index[k]
	if !known || f.cause[v] < 0 {
		return cause, false
	}
	return f.g.keys[f.cause[v]], true
}

// Finished says that every node is done, failed or skipped.
func (f *Frontier[K]) Finished() bool {
	return f.count.Waiting == 0 && f.count.Ready == 0 && f.count.Running == 0
}

// Counts returns the number of nodes in each state.
func (f *Frontier[K]) Counts() Counts { return f.count }

// of is the number of the nodes in state s.
func (c *Counts) of(s State) *int {
	switch s {
	case Waiting:
		return &c.Waiting
	case Ready:
		return &c.Ready
	case Running:
		return &c.Running
	case Done:
		return &c.Done
	case Failed:
		return &c.Failed
	default:
		return &c.Skipped
	}
}

// Work is the number of visits to nodes and edges so far, without those of
// Ready. It exists to be held against the size of the graph.
func (f *Frontier[K]) Work() int { return f.work }

// find looks k up and refuses it unless it stands in one of the states.
func (f *Frontier[K]) find(verb string, k K, allowed ...State) (int, error) {
	v, ok := f.g.index[k]
	if !ok {
		return 0, fmt.Errorf("%s %v: %w", verb, k, ErrUnknownNode)
	}
	if !slices.Contains(allowed, f.state[v]) {
		return 0, fmt.Errorf("%s %v: it is %s: %w", verb, k, f.state[v], ErrTransition)
	}
	return v, nil
}

// open puts v where its needs let it stand.
func (f *Frontier[K]) open(v int) {
	if f.unmet[v] == 0 {
		f.set(v, Ready)
	} else {
		f.set(v, Waiting)
	}
}

// finish marks v as done and releases what waited for nothing else.
func (f *Frontier[K]) finish(v int) (released []K) {
	f.set(v, Done)
	f.work++
	ranks := f.ranks[:0]
	for _, d := range f.g.dependents[v] {
		f.work++
		if f.unmet[d]--; f.unmet[d] == 0 && f.state[d] == Waiting {
			f.set(d, Ready)
			ranks = append(ranks, f.g.rank[d])
		}
	}
	f.ranks = ranks
	slices.Sort(ranks)
	if len(ranks) > 0 {
		released = make([]K, len(ranks))
	}
	for i, r := range ranks {
		released[i] = f.g.keys[f.g.byRank[r]]
	}
	return released
}

// set is the only place that moves a node, so that queue and counts agree with
// its state.
func (f *Frontier[K]) set(v int, s State) {
	if old := f.state[v]; old != "" {
		*f.count.of(old)--
		if old == Ready {
			f.ready.remove(f.g.rank[v])
		}
	}
	f.state[v] = s
	*f.count.of(s)++
	if s == Ready {
		f.ready.push(f.g.rank[v])
	}
}
