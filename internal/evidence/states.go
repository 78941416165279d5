package evidence

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"forge/internal/git"
)

// state is a trusted state: a commit whose first parent is the head of the
// target that it was made for, and whose second one, where it has one, is the
// state before it. The zero state is none.
type state struct {
	id, head, before string
	held             bool // the base that it was looked for has its head
}

// state returns a state on record; that of "" is none.
func (s *Store) state(ctx context.Context, id string) (state, error) {
	if id == "" {
		return state{}, nil
	}
	parents, err := s.repo.Parents(ctx, id)
	switch {
	case err != nil:
		return state{}, err
	case len(parents) == 1:
		return state{id: id, head: parents[0]}, nil
	case len(parents) == 2:
		return state{id: id, head: parents[0], before: parents[1]}, nil
	}
	return state{}, fmt.Errorf("%s is no trusted state", id)
}

// beginning is the state that the one for base grows out of: the target's own
// last one that base holds the head of, old being its newest; else that of
// another target that base grew out of last. A branch that begins at another
// one's work, or that is set back, does not trust more than was trusted there.
//
// There is none, and base is trusted as it is, before anything ran: where no
// state has to do with it, or base is older than the first one.
func (s *Store) beginning(ctx context.Context, old, base string) (state, error) {
	last, err := s.state(ctx, old)
	if err != nil || last.head == base {
		return last, err
	}
	own, older, err := s.within(ctx, last, base)
	if err != nil || own.id != "" {
		return own, err
	}
	refs, err := s.repo.RefsBelow(ctx, trustedRefs)
	if err != nil {
		return state{}, err
	}
	best, fewest := state{}, -1
	for _, id := range slices.Sorted(maps.Values(refs)) {
		other, err := s.state(ctx, id)
		if err != nil {
			return state{}, err
		}
		one, before, err := s.within(ctx, other, base)
		if err != nil {
			return state{}, err
		}
		older = older || before
		if one.id == "" {
			continue
		}
		since, err := s.repo.History(ctx, one.head, base)
		if err != nil {
			return state{}, err
		}
		if fewest < 0 || len(since) < fewest {
			best, fewest = one, len(since)
		}
	}
	if best.id != "" || older || last.id == "" {
		return best, nil
	}
	// Its history was written anew.
	there, err := s.repo.Exists(ctx, last.head)
	if err != nil || there {
		return last, err
	}
	return s.unforged(ctx, base)
}

// unforged is the state of base where no commit of those on record is left, since
// the repository was made anew or its history was cut: what base grew out of before
// Forge's first commit was people's own. None is that of a base which is all theirs.
func (s *Store) unforged(ctx context.Context, base string) (state, error) {
	commits, err := s.repo.History(ctx, "", base)
	if err != nil {
		return state{}, err
	}
	at := slices.IndexFunc(commits, func(c git.Commit) bool { return forges(c.Message) })
	if at < 0 {
		return state{}, nil
	}
	first := commits[at].ID
	parents, err := s.repo.Parents(ctx, first)
	if err != nil {
		return state{}, err
	}
	if len(parents) > 0 {
		first = parents[0]
	}
	return state{id: first, head: first}, nil
}

// within is the newest of last and the states before it whose head base holds.
// Where there is none, older says that base is older than the first of them,
// which was trusted as a whole.
func (s *Store) within(ctx context.Context, last state, base string) (one state, older bool, err error) {
	for one = last; one.id != ""; {
		if one.held, err = s.holds(ctx, base, one.head); err != nil || one.held {
			return one, false, err
		}
		if one.before == "" {
			older, err = s.holds(ctx, one.head, base)
			return state{}, older, err
		}
		if one, err = s.state(ctx, one.before); err != nil {
			return state{}, false, err
		}
		one = s.past(ctx, one, base)
	}
	return state{}, false, nil
}

// mostPast is how many commits one look back goes over.
const mostPast = 2000

// past goes back from a state over those whose heads base does not hold, as far as one
// question tells: results land while runs begin, and each has a state of its own. The
// first state is not gone over, and what git cannot tell is left to be asked one by one.
func (s *Store) past(ctx context.Context, one state, base string) state {
	beyond, err := s.repo.Beyond(ctx, base, one.id, mostPast)
	if err != nil {
		return one
	}
	for one.before != "" {
		if _, not := beyond[one.head]; !not {
			break
		}
		parents, known := beyond[one.before]
		if !known || len(parents) == 0 || len(parents) > 2 {
			break
		}
		one = state{id: one.before, head: parents[0]}
		if len(parents) == 2 {
			one.before = parents[1]
		}
	}
	return one
}

// behind says that base is older than the head of a state.
func (s *Store) behind(ctx context.Context, old, base string) (bool, error) {
	last, err := s.state(ctx, old)
	if err != nil || last.id == "" || last.head == base {
		return false, err
	}
	return s.holds(ctx, last.head, base)
}

// holds is git's word, and no for a commit that the user's git has dropped.
func (s *Store) holds(ctx context.Context, commit, ancestor string) (bool, error) {
	held, err := s.repo.Holds(ctx, commit, ancestor)
	if err == nil {
		return held, nil
	}
	for _, id := range []string{commit, ancestor} {
		if there, gone := s.repo.Exists(ctx, id); gone != nil || !there {
			return false, gone
		}
	}
	return false, err
}
