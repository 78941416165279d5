package dag

import "fmt"

// Reopen lets failed and skipped nodes run again: each becomes ready or waiting,
// as its needs say. The keys are taken as one set, in any order, and all or none
// are reopened. A node that needs a failed or skipped one outside the set is
// refused, since it would wait for ever; the dependents of a reopened node that
// are not in the set stay skipped.
func (f *Frontier[K]) Reopen(keys ...K) error {
	nodes, set, err := f.findAll("reopen", keys, Failed, Skipped)
	if err != nil {
		return err
	}
	for _, v := range nodes {
		f.work++
		for _, need := range f.g.needs[v] {
			f.work++
			if s := f.state[need]; (s == Failed || s == Skipped) && !set[need] {
				return fmt.Errorf("reopen %v: %v, which it needs, is %s: %w", f.g.keys[v], f.g.keys[need], s, ErrTransition)
			}
		}
	}
	for _, v := range nodes {
		f.cause[v] = -1
		f.open(v)
	}
	return nil
}

// LeaveOut counts waiting and ready nodes as done without their needs being
// done: the nodes of a graph that this execution does not ask for. The keys are
// taken as one set and all or none are left out.
func (f *Frontier[K]) LeaveOut(keys ...K) error {
	nodes, _, err := f.findAll("leave out", keys, Waiting, Ready)
	if err != nil {
		return err
	}
	for _, v := range nodes {
		f.finish(v)
	}
	return nil
}

// findAll looks the keys up, each node once.
func (f *Frontier[K]) findAll(verb string, keys []K, allowed ...State) (nodes []int, set map[int]bool, err error) {
	set = make(map[int]bool, len(keys))
	for _, k := range keys {
		v, err := f.find(verb, k, allowed...)
		if err != nil {
			return nil, nil, err
		}
		if !set[v] {
			set[v] = true
			nodes = append(nodes, v)
		}
	}
	return nodes, set, nil
}
