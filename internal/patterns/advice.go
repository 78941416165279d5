package patterns

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode"
)

// Planned is a phase that is to come.
type Planned struct {
	Number, Name, Type, About, Agent string
	Budget                           int
}

// Advice is what the past suggests for a phase.
type Advice struct {
	Phase  string `json:"phase"`
	Name   string `json:"name"`
	Budget int    `json:"budget"` // as it is planned
	// From says which phases it rests on: those that are alike by their words,
	// else those of the same type, else all. Past is what they took.
	From string `json:"from"`
	Past Group  `json:"past"`
	// Suggested is a budget that nine in ten of them that were done came out
	// with; nil = the past does not tell.
	Suggested *int   `json:"suggested_budget"`
	Agent     string `json:"suggested_agent,omitempty"` // that did them better than the planned one
	Why       string `json:"why"`
}

// alike is the likeness from which on two phases are of one kind.
const alike = 0.3

// Advise says what the past suggests for a phase.
func Advise(p Planned, past []Phase) Advice {
	out := Advice{Phase: p.Number, Name: p.Name, Budget: p.Budget}
	chosen, from := choose(p, past)
	out.From, out.Past = from, Of(from, chosen)
	switch {
	case out.Past.Few:
		out.Why = fmt.Sprintf("%d past phases are too few to suggest anything", len(chosen))
		return out
	case 2*out.Past.Done.Hits < out.Past.Done.Of:
		out.Why = fmt.Sprintf("only %d of %d were done: a larger budget alone will hardly help; smaller phases may", out.Past.Done.Hits, out.Past.Done.Of)
		return out
	}
	n := max(int(math.Ceil(out.Past.Iterations.Most)), 1)
	out.Suggested = &n
	switch {
	case p.Budget == 0 || n == p.Budget:
		out.Why = "nine in ten of those that were done took at most that many"
	case n > p.Budget:
		out.Why = fmt.Sprintf("with %d it would run out where nine in ten took up to %d", p.Budget, n)
	default:
		out.Why = fmt.Sprintf("nine in ten took at most %d; more is spent on phases that do not come out", n)
	}
	out.Agent = betterAgent(p.Agent, chosen)
	return out
}

// fromAll says that phases of all kinds are what is rested on.
const fromAll = "all phases"

// choose picks the phases that say most about p.
func choose(p Planned, past []Phase) ([]Phase, string) {
	words := wordsOf(p.Name + " " + p.About)
	like := keep(past, func(q Phase) bool { return jaccard(words, wordsOf(q.Name+" "+q.About)) >= alike })
	if len(like) >= Few {
		return like, "phases like it"
	}
	same := keep(past, func(q Phase) bool { return q.Type == p.Type })
	if p.Type != "" && len(same) >= Few {
		return same, "phases of type " + p.Type
	}
	return past, fromAll
}

// betterAgent is the agent that did phases better than the planned one, where
// that can be told.
func betterAgent(planned string, past []Phase) string {
	groups := By(past, func(q Phase) string { return q.Agent })
	at := slices.IndexFunc(groups, func(g Group) bool { return g.Name == planned })
	if at < 0 {
		return ""
	}
	best := ""
	low := 0.0
	for _, g := range groups {
		if g.Name != planned && Better(g, groups[at]) == g.Name && *g.Done.Low > low {
			best, low = g.Name, *g.Done.Low
		}
	}
	return best
}

func keep(all []Phase, ok func(Phase) bool) []Phase {
	var out []Phase
	for _, p := range all {
		if ok(p) {
			out = append(out, p)
		}
	}
	return out
}

// wordsOf are the words of a text that have three letters or more.
func wordsOf(s string) map[string]bool {
	out := map[string]bool{}
	for _, w := range strings.FieldsFunc(strings.ToLower(s), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		if len([]rune(w)) >= 3 {
			out[w] = true
		}
	}
	return out
}

// jaccard is how much of two sets is common to both, from 0 to 1; two empty ones
// have nothing in common.
func jaccard(a, b map[string]bool) float64 {
	both := 0
	for w := range a {
		if b[w] {
			both++
		}
	}
	all := len(a) + len(b) - both
	if all == 0 {
		return 0
	}
	return float64(both) / float64(all)
}
