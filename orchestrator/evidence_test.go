package orchestrator

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"forge/internal/work"
)

// spoken is a landing in short: phase, files (? = nobody knows which), and what
// was said as "security+c1" or "security-c1"; a name that ends in a question
// mark is advisory.
func spoken(phase, files string, said ...string) Landing {
	l := Landing{Phase: phase, Files: strings.Fields(files), Known: files != "?"}
	for _, s := range said {
		who, id, yes := strings.Cut(s, "+")
		if !yes {
			who, id, _ = strings.Cut(s, "-")
		}
		name, advisory := strings.CutSuffix(who, "?")
		l.Said = append(l.Said, Said{Reviewer: name, Gating: !advisory, CriterionAnswer: work.CriterionAnswer{ID: id, Met: yes, Evidence: "a.go:1"}})
	}
	return l
}

func TestWeigh(t *testing.T) {
	const plain = "it is quick"
	type step struct {
		Landing
		same, rework bool
	}
	of := func(l Landing) step { return step{Landing: l} }
	rework := func(l Landing) step { return step{Landing: l, rework: true} }
	same := func(l Landing) step { return step{Landing: l, same: true, rework: true} }
	tests := []struct {
		name   string
		text   string
		passed []string
		steps  []step
		want   []string // by who + or -
		met    bool
	}{
		{"nothing", plain, []string{"make test"}, nil, nil, false},
		{"a command that passed", "`make test` passes", []string{"go vet", "make test"}, nil, []string{"verify +"}, true},
		{"spaces around it", "` make test ` passes", []string{"make test"}, nil, []string{"verify +"}, true},
		{"the second of two", "`make x` or `make test`", []string{"make test"}, nil, []string{"verify +"}, true},
		{"a command that did not run", "`make bench` passes", []string{"make test"}, nil, nil, false},
		{"part of a command", "`make` passes", []string{"make test"}, nil, nil, false},
		{"more than the command", "`make test -v`", []string{"make test"}, nil, nil, false},
		{"no backticks", "make test passes", []string{"make test"}, nil, nil, false},
		{"an open backtick", "`make test", []string{"make test"}, nil, nil, false},
		{"between two codes", "`a`make test`b`", []string{"make test"}, nil, nil, false},
		{"nobody can see it", "fine <!-- `make test` -->", []string{"make test"}, nil, nil, false},
		{"nothing passed", "`make test` passes", nil, nil, nil, false},
		{"an empty code", "`` passes", []string{""}, nil, nil, false},
		{"a reviewer", plain, nil, []step{of(spoken("01", "a", "security+c1"))}, []string{"security +"}, true},
		{"an advisory one", plain, nil, []step{of(spoken("01", "a", "speed?+c1"))}, []string{"speed +"}, true},
		{"of another criterion", plain, nil, []step{of(spoken("01", "a", "security+c2"))}, nil, false},
		{"a gating no", plain, nil, []step{of(spoken("01", "a", "security-c1"))}, []string{"security -"}, false},
		{"an advisory no says nothing", plain, nil, []step{of(spoken("01", "a", "speed?-c1", "security+c1"))}, []string{"security +"}, true},
		{"a no beside a yes", plain, nil, []step{of(spoken("01", "a", "architecture+c1", "security-c1", "speed?+c1"))}, []string{"security -"}, false},
		{"a no after a yes", plain, nil, []step{of(spoken("01", "a", "security+c1")), of(spoken("02", "b", "security-c1"))}, []string{"security -"}, false},
		{"a yes after a no", plain, nil, []step{of(spoken("01", "a", "security-c1")), of(spoken("02", "b", "security+c1"))}, []string{"security +"}, true},
		{"an advisory yes after a no", plain, nil, []step{of(spoken("01", "a", "security-c1")), of(spoken("02", "b", "speed?+c1"))}, []string{"security -"}, false},
		{"a command does not outweigh a no", "`make test`", []string{"make test"}, []step{of(spoken("01", "a", "security-c1"))}, []string{"verify +", "security -"}, false},
		{"other files leave it", plain, nil, []step{of(spoken("01", "a", "security+c1")), of(spoken("02", "b c"))}, []string{"security +"}, true},
		{"the same file voids it", plain, nil, []step{of(spoken("01", "a b", "security+c1")), of(spoken("02", "b c"))}, nil, false},
		{"nobody knows which files", plain, nil, []step{of(spoken("01", "a", "security+c1")), of(spoken("02", "?"))}, nil, false},
		{"nobody knew which files", plain, nil, []step{of(spoken("01", "?", "security+c1")), of(spoken("02", "b"))}, nil, false},
		{"rework voids it, whatever it touches", plain, nil, []step{of(spoken("01", "a", "security+c1")), rework(spoken("02", "b"))}, nil, false},
		{"unless the reviewer speaks again", plain, nil, []step{of(spoken("01", "a", "security+c1")), rework(spoken("02", "b", "security+c1"))}, []string{"security +"}, true},
		{"rework that changed nothing", plain, nil, []step{of(spoken("01", "a", "security+c1")), same(spoken("01", "a"))}, []string{"security +"}, true},
		{"rework voids a no, and proves nothing", plain, nil, []step{of(spoken("01", "a", "security-c1")), rework(spoken("02", "b"))}, nil, false},
		{"a yes does not come back when the no against it is void", plain, nil,
			[]step{of(spoken("01", "a", "security+c1")), of(spoken("02", "b", "security-c1")), of(spoken("03", "b"))}, nil, false},
	}
	for _, tt := range tests {
		var all []Landing
		for _, s := range tt.steps {
			all = land(all, s.Landing, s.same, s.rework)
		}
		evidence := weigh([]work.Criterion{{ID: "c1", Text: tt.text}}, all, proof{"01", tt.passed}, "head")
		var got []string
		for _, e := range evidence {
			who, sign := e.Who, "-"
			if e.By != work.EvidenceReviewer {
				who = string(e.By)
			}
			if e.Met {
				sign = "+"
			}
			if e.Criterion != "c1" || e.Commit != "head" || e.What == "" {
				t.Errorf("%s: %+v", tt.name, e)
			}
			got = append(got, who+" "+sign)
		}
		if !slices.Equal(got, tt.want) || met(evidence) != tt.met {
			t.Errorf("%s: %q, met %v; want %q, %v", tt.name, got, met(evidence), tt.want, tt.met)
		}
	}
	if e := []work.Evidence{{By: work.EvidenceReviewer}, {By: work.EvidencePerson, Met: true}}; !met(e) {
		t.Error("a person's word does not count")
	}
}

// The landings that went before are values: what is decided later does not
// reach back into a state that was kept.
func TestLandLeavesThePastAlone(t *testing.T) {
	before := land(nil, spoken("01", "a", "security+c1", "architecture+c2"), false, false)
	land(before, spoken("02", "b", "security-c1"), false, false)
	land(before, spoken("02", "a"), false, false)
	if got := before[0].Said; len(got) != 2 || got[0].ID != "c1" || got[1].ID != "c2" {
		t.Errorf("the past now reads %+v", got)
	}
}

func TestPathMarks(t *testing.T) {
	var many []work.FileChange
	for i := range mostPaths + 1 {
		many = append(many, work.FileChange{Path: fmt.Sprint(i)})
	}
	if got := PathMarks(many); got != nil {
		t.Errorf("%d marks of too many paths", len(got))
	}
	if got := PathMarks(many[:mostPaths]); len(got) != mostPaths || len(got[0]) != 8 {
		t.Errorf("%d marks, such as %q", len(got), got[0])
	}
}
