package agenteval

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// played is a trial of agents of known skill at n tasks.
func played(rnd *rand.Rand, n int, skills map[string]float64, order ...string) *Trial {
	t := New("t", time.Unix(0, 0))
	t.Agents, t.Tries = order, 1
	for i := range n {
		t.Tasks = append(t.Tasks, Task{Commit: fmt.Sprint(i)})
		for _, agent := range order {
			d := Try{Task: fmt.Sprint(i), Agent: agent, Nth: 1, Status: Unsolved, USD: new(0.5)}
			if rnd.Float64() < skills[agent] {
				d.Status = Solved
			}
			t.Done = append(t.Done, d)
		}
	}
	return t
}

// Agents of known skill are ranked rightly, the intervals hold the skill about as
// often as they say, and between equals a difference is seldom said to be one.
func TestScoresOfKnownSkill(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(1, 2))
	const trials, tasks = 2000, 40
	skills := map[string]float64{"good": 0.8, "fair": 0.5, "poor": 0.2, "twin": 0.5}
	ranked, wrong, covered, scores := 0, 0, 0, 0
	for range trials {
		trial := played(rnd, tasks, skills, "twin", "poor", "good", "fair")
		all := Scores(trial)
		if all[0].Agent == "good" && all[3].Agent == "poor" {
			ranked++
		}
		for _, s := range all {
			scores++
			if p := skills[s.Agent]; *s.Solved.Low <= p && p <= *s.Solved.High {
				covered++
			}
		}
		for _, p := range Pairs(trial) {
			if !p.Noise && (p.A == "fair" && p.B == "twin" || p.A == "twin" && p.B == "fair") {
				wrong++
			}
		}
	}
	if share := float64(ranked) / trials; share < 0.98 {
		t.Errorf("ranked rightly in %.3f of the trials", share)
	}
	if share := float64(covered) / float64(scores); share < 0.93 || share > 0.98 {
		t.Errorf("the intervals of 95 %% hold the skill in %.3f", share)
	}
	if share := float64(wrong) / trials; share > 0.05 {
		t.Errorf("of two that are the same, one is said to be better in %.3f", share)
	}
}

// What nobody could say counts for nobody, and as unsolved in the worst case; a
// price that is missing makes none up.
func TestScoresOfTheUnknown(t *testing.T) {
	t.Parallel()
	trial := New("t", time.Unix(0, 0))
	trial.Agents, trial.Tries = []string{"a", "b"}, 1
	trial.Tasks = []Task{{Commit: "1"}, {Commit: "2"}, {Commit: "3"}}
	trial.Done = []Try{
		{Task: "1", Agent: "a", Nth: 1, Status: Solved, USD: new(1.0), Seconds: 10},
		{Task: "2", Agent: "a", Nth: 1, Status: Unknown, Seconds: 1000},
		{Task: "3", Agent: "a", Nth: 1, Status: Unsolved, USD: new(3.0), Seconds: 20},
		{Task: "1", Agent: "b", Nth: 1, Status: Solved, Seconds: 1},
		{Task: "2", Agent: "b", Nth: 1, Status: Solved, USD: new(1.0), Seconds: 2},
	}
	all := Scores(trial)
	if all[0].Agent != "b" || all[0].USD != nil || all[0].PerSolved != nil || *all[0].Seconds != 1.5 {
		t.Errorf("b is %+v", all[0])
	}
	if a := all[1]; a.Solved.Hits != 1 || a.Solved.Of != 2 || a.Worst.Of != 3 || a.Unknown != 1 || *a.USD != 2 || *a.PerSolved != 4 || *a.Seconds != 15 {
		t.Errorf("a is %+v", a)
	}
	p := Pairs(trial)[0]
	if p.Pairs != 1 || p.Both != 1 || p.Left != 1 || p.P != 1 || !p.Noise {
		t.Errorf("the pair is %+v", p)
	}
	left := trial.Left()
	if len(left) != 1 || left[0] != (Try{Task: "3", Agent: "b", Nth: 1}) {
		t.Errorf("left is %+v", left)
	}
}

// A page holds words of others as words, and stands by itself.
func TestPageOfATrial(t *testing.T) {
	t.Parallel()
	trial := New("t", time.Unix(0, 0))
	trial.Agents, trial.Tries, trial.Head = []string{"<b>a</b>"}, 1, "0123456789abcdef"
	trial.Tasks = []Task{{Commit: "0123456789abcdef", Title: `<script src="//x">`}}
	trial.Done = []Try{{Task: "0123456789abcdef", Agent: "<b>a</b>", Nth: 1, Status: Solved, Why: `"><img src=x>`}}
	var page bytes.Buffer
	if err := WriteHTML(&page, trial); err != nil {
		t.Fatal(err)
	}
	for _, never := range []string{"<b>a", "<script", "<img", "http://", "https://", "src=\"//"} {
		if strings.Contains(page.String(), never) {
			t.Errorf("the page holds %s", never)
		}
	}
	for _, want := range []string{"1 of 1", "left:20.7%", "21–100 %", "0123456789ab"} {
		if !strings.Contains(page.String(), want) {
			t.Errorf("the page lacks %s:\n%s", want, page.String())
		}
	}
	if said := Text(trial, true); strings.Contains(said, "\x1b") || !strings.Contains(said, "solved") {
		t.Errorf("the text is %q", said)
	}
}

// A stored trial of another version, or none at all, is said to be so.
func TestReadATrial(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"", "{", "{}", `{"v":2,"id":"x"}`, `{"v":1}`} {
		if _, err := Read([]byte(bad)); err == nil {
			t.Errorf("%q was read", bad)
		}
	}
	if got, err := Read([]byte(`{"v":1,"id":"x"}`)); err != nil || got.ID != "x" {
		t.Errorf("got %+v, %v", got, err)
	}
}
