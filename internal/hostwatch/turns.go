package hostwatch

import "maps"

// turns are for pull requests that may come to stand otherwise without news:
// checks end so, what a host computes, and other people's merges into the
// target. With each poll at most one of them is looked at, however many there
// are. One whose standing has not changed for a while can wait a part of that
// while, so that in the end they cost next to nothing.
type turns struct {
	polls int
	of    map[string]turn // by checkpoint
}

// turn is when a pull request is looked at without news.
type turn struct {
	mark  string // how it stands
	since int    // poll at which it was first seen to stand so
	next  int    // poll from which on it is due
}

// MostTurns is for how many polls one of them is left alone that is the only one.
const MostTurns = 40

// mostComputing is for how many polls one is looked at with each that its host
// computes: as a rule that takes moments.
const mostComputing = 3

// stands notes how a pull request stands that was looked at, and says for how
// many polls it has.
func (t *turns) stands(id, mark string) (polls int) {
	is, known := t.of[id]
	if !known || is.mark != mark {
		is = turn{mark: mark, since: t.polls}
	}
	polls = t.polls - is.since
	is.next = t.polls + min(1+polls/4, MostTurns)
	if t.of == nil {
		t.of = map[string]turn{}
	}
	t.of[id] = is
	return polls
}

// drop is for one that only news can change.
func (t *turns) drop(id string) { delete(t.of, id) }

// keep drops those that are not open any more.
func (t *turns) keep(open map[string]bool) {
	maps.DeleteFunc(t.of, func(id string, _ turn) bool { return !open[id] })
}

// poll begins the next poll, and says whose turn it is, "" = nobody's.
func (t *turns) poll() (id string) {
	t.polls++
	for other, o := range t.of {
		if o.next > t.polls {
			continue
		}
		if is := t.of[id]; id == "" || o.next < is.next || o.next == is.next && other < id {
			id = other
		}
	}
	return id
}
