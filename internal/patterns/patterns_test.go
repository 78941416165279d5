package patterns

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// past makes n phases of an agent, of which so many were done with 1, 2, 3, …
// iterations.
func past(agent, about string, n, done int) []Phase {
	var out []Phase
	for i := range n {
		out = append(out, Phase{
			Run: "r", Number: fmt.Sprint(i), Name: "phase", About: about, Agent: agent,
			Done: i < done, Iterations: i + 1, Budget: 20, Time: time.Duration(i+1) * time.Second,
		})
	}
	return out
}

func TestStats(t *testing.T) {
	usd := 0.5
	all := append(past("a", "", 10, 10), past("b", "", 4, 0)...)
	all[2].USD = &usd
	got := By(all, func(p Phase) string { return p.Agent })
	if len(got) != 2 || got[0].Name != "a" || got[1].Name != "b" {
		t.Fatalf("the groups are %+v", got)
	}
	a, b := got[0], got[1]
	if a.Few || a.Done.Hits != 10 || *a.Iterations != (Spread{Low: 3, Median: 5, High: 8, Most: 9}) || *a.Seconds != *a.Iterations || a.USD.Median != 0.5 {
		t.Errorf("a is %+v, iterations %+v, cost %+v", a, a.Iterations, a.USD)
	}
	// Phases that failed say nothing of what a phase takes.
	if !b.Few || b.Done.Hits != 0 || b.Done.Of != 4 || b.Iterations != nil || b.USD != nil {
		t.Errorf("b is %+v", b)
	}
}

func TestBetter(t *testing.T) {
	for _, tt := range []struct {
		a, b int // done of 20
		want string
	}{{20, 2, "a"}, {2, 20, "b"}, {12, 10, ""}, {20, 20, ""}} {
		if got := Better(Of("a", past("a", "", 20, tt.a)), Of("b", past("b", "", 20, tt.b))); got != tt.want {
			t.Errorf("%d and %d of 20: %q is better, want %q", tt.a, tt.b, got, tt.want)
		}
	}
	if got := Better(Of("a", past("a", "", 4, 4)), Of("b", past("b", "", 20, 0))); got != "" {
		t.Errorf("of four phases it is concluded that %s is better", got)
	}
}

func TestAdvice(t *testing.T) {
	likely := past("own", "add a flag to the command line parser", 10, 10)
	other := past("own", "rewrite the storage engine on pages", 10, 10)
	for i := range other {
		other[i].Iterations = 15
	}
	plan := Planned{Number: "01", Name: "phase", About: "add another flag to the parser", Agent: "own", Budget: 3}

	got := Advise(plan, append(likely, other...))
	if got.Suggested == nil || *got.Suggested != 9 || got.From != "phases like it" || got.Past.Done.Of != 10 || !strings.Contains(got.Why, "would run out") {
		t.Errorf("of phases like it: %+v", got)
	}
	plan.About = "something else altogether"
	if got := Advise(plan, append(likely, other...)); got.From != "all phases" || *got.Suggested != 15 {
		t.Errorf("of all: %+v", got)
	}
	for i := range other {
		other[i].Type = "refactor"
	}
	plan.Type = "refactor"
	if got := Advise(plan, append(likely, other...)); got.From != "phases of type refactor" || got.Past.Done.Of != 10 {
		t.Errorf("of its type: %+v", got)
	}
	// What mostly fails is not mended by a number.
	if got := Advise(plan, past("own", "", 10, 4)); got.Suggested != nil || !strings.Contains(got.Why, "only 4 of 10") {
		t.Errorf("of what fails: %+v", got)
	}
	if got := Advise(plan, append(past("own", "", 20, 11), past("best", "", 20, 20)...)); got.Agent != "best" {
		t.Errorf("the agent is %q: %+v", got.Agent, got)
	}
	if got := Advise(plan, append(past("own", "", 20, 11), past("best", "", 4, 4)...)); got.Agent != "" {
		t.Errorf("four phases suggest the agent %q", got.Agent)
	}
}

// Whatever the past is: under five phases nothing is suggested, a budget is one
// that a phase of the past was done with, and the order of the past is of no
// account.
func TestAdviceHolds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SampledFrom([]string{"", "add a flag", "add the flag now", "rewrite storage", "docs"})
		var all []Phase
		for range rapid.IntRange(0, 30).Draw(t, "phases") {
			all = append(all, Phase{
				About: words.Draw(t, "about"), Agent: rapid.SampledFrom([]string{"a", "b"}).Draw(t, "agent"), Type: rapid.SampledFrom([]string{"", "test"}).Draw(t, "type"),
				Done: rapid.Bool().Draw(t, "done"), Iterations: rapid.IntRange(0, 9).Draw(t, "iterations"),
			})
		}
		plan := Planned{About: words.Draw(t, "planned"), Type: rapid.SampledFrom([]string{"", "test"}).Draw(t, "its type"), Agent: "a", Budget: rapid.IntRange(0, 9).Draw(t, "budget")}
		got := Advise(plan, all)
		if len(all) < Few && (got.Suggested != nil || got.Agent != "") {
			t.Fatalf("%d phases suggest %+v", len(all), got)
		}
		if got.Suggested != nil {
			seen := *got.Suggested == 1
			for _, p := range all {
				seen = seen || p.Done && p.Iterations == *got.Suggested
			}
			if !seen {
				t.Fatalf("nothing of the past was done with %d: %+v", *got.Suggested, all)
			}
		}
		mixed := rapid.Permutation(all).Draw(t, "mixed")
		if other := Advise(plan, mixed); fmt.Sprint(other.Why, other.From, other.Agent) != fmt.Sprint(got.Why, got.From, got.Agent) {
			t.Fatalf("in another order: %+v, not %+v", other, got)
		}
	})
}

func TestLikeness(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want float64
	}{{"", "", 0}, {"Add a flag", "flag: ADD it", 1}, {"add flag", "add page", 1.0 / 3}, {"x y z", "x y z", 0}} {
		if got := jaccard(wordsOf(tt.a), wordsOf(tt.b)); got != tt.want {
			t.Errorf("%q and %q are alike by %v, want %v", tt.a, tt.b, got, tt.want)
		}
	}
}
