package review

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"forge/internal/work"
)

// answering answers every question with the same.
type answering struct {
	answer string
	err    error
	asked  *Question
}

func (a answering) Ask(_ context.Context, q Question) (Reply, error) {
	*a.asked = q
	usd := 0.5
	r := Reply{JSON: []byte(a.answer), Usage: work.Usage{CostUSD: &usd}, Model: "m", Request: []byte(q.User), Answer: []byte(a.answer)}
	if a.err == nil {
		return r, q.Check(r.JSON)
	}
	return r, a.err
}

func TestVotes(t *testing.T) {
	two := []Change{{Files: []File{}}, {Files: []File{}}}
	for _, tt := range []struct {
		name, answer string
		err          error
		want         []work.Score // nil = no vote
		why          string
	}{
		{"each", `{"B": {"score": 3, "critique": "b"}, "A": {"score": 10, "critique": " a "}}`, nil, []work.Score{{Score: 10, Critique: "a"}, {Score: 3, Critique: "b"}}, ""},
		{"one is missing", `{"A": {"score": 1, "critique": ""}}`, nil, nil, "B is missing"},
		{"one too many", `{"A": {"score": 1, "critique": ""}, "B": {"score": 1, "critique": ""}, "C": {"score": 1, "critique": ""}}`, nil, nil, "3 fields"},
		{"one twice", `{"A": {"score": 1, "critique": ""}, "A": {"score": 1, "critique": ""}, "B": {"score": 1, "critique": ""}}`, nil, nil, "twice"},
		{"above the best", `{"A": {"score": 11, "critique": ""}, "B": {"score": 1, "critique": ""}}`, nil, nil, "whole number from 0 to 10"},
		{"below the worst", `{"A": {"score": -1, "critique": ""}, "B": {"score": 1, "critique": ""}}`, nil, nil, "A.score"},
		{"a half", `{"A": {"score": 1.5, "critique": ""}, "B": {"score": 1, "critique": ""}}`, nil, nil, "whole number"},
		{"a word", `{"A": {"score": "10", "critique": ""}, "B": {"score": 1, "critique": ""}}`, nil, nil, "a number"},
		{"without a critique", `{"A": {"score": 1}, "B": {"score": 1, "critique": ""}}`, nil, nil, "critique is missing"},
		{"more than is asked", `{"A": {"score": 1, "critique": "", "winner": true}, "B": {"score": 1, "critique": ""}}`, nil, nil, "more than score and critique"},
		{"no object", `[1, 2]`, nil, nil, "not a JSON object"},
		{"an error", "", errors.New("the agent ended agent_failed"), nil, "agent_failed"},
	} {
		var q Question
		got := Vote(t.Context(), answering{answer: tt.answer, err: tt.err, asked: &q}, VoteInput{PhaseName: "p", Summary: "add it", Changes: two, Keep: func([]byte) string { return "blob" }})
		if !slices.Equal(got.Scores, tt.want) || !strings.Contains(got.Why, tt.why) || (got.Why == "") != (tt.want != nil) {
			t.Errorf("%s: %+v, want %v (%q)", tt.name, got, tt.want, tt.why)
		}
		if got.Usage.CostUSD == nil || *got.Usage.CostUSD != 0.5 || got.Request != "blob" {
			t.Errorf("%s: what it cost and was asked is %+v", tt.name, got)
		}
		if !json.Valid(q.Schema) || !strings.Contains(q.User, "Change B") || strings.Contains(q.User, "Change C") {
			t.Errorf("%s: it is asked %s by %s", tt.name, q.User, q.Schema)
		}
	}
}

// Whatever an answer says: it is points within their bounds for each change, or none.
func FuzzVote(f *testing.F) {
	f.Add(`{"A": {"score": 10, "critique": "a"}, "B": {"score": 3, "critique": "b"}}`, 2)
	f.Add(`{"A": {"score": 1e1, "critique": "a"}}`, 1)
	f.Add(`{"A": null}`, 1)
	f.Add("", 3)
	f.Fuzz(func(t *testing.T, answer string, n int) {
		n = max(n, 0) % (work.MaxTries + 1)
		scores, err := readVote([]byte(answer), n)
		if err != nil {
			if scores != nil {
				t.Errorf("%v beside %v", scores, err)
			}
			return
		}
		if len(scores) != n {
			t.Errorf("%d changes get %d scores", n, len(scores))
		}
		for _, s := range scores {
			if s.Score < 0 || s.Score > work.MostScore {
				t.Errorf("%d points", s.Score)
			}
		}
	})
}
