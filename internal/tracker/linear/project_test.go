package linear_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"forge/factory/tracker"
	"forge/internal/symphony"
	"forge/internal/tracker/linear"
	"forge/internal/tracker/trackertest"
	"forge/internal/work"
)

// told is what a server was asked.
type told struct {
	Query     string         `json:"query"`
	Variables map[string]any `json:"variables"`
}

// projectOf is a project on a Linear, with all that it asks.
func projectOf(t *testing.T, l *trackertest.Linear, change func(*symphony.Settings)) (*linear.Project, *[]told) {
	t.Helper()
	asked := &[]told{}
	settings := func() symphony.Settings {
		s := symphony.Settings{Tracker: symphony.Tracker{Kind: "linear", Endpoint: l.URL, APIKey: l.Token, Slug: trackertest.ProjectSlug, Active: []string{"Todo", "In Progress"}, Terminal: []string{"Done"}}}
		if change != nil {
			change(&s)
		}
		return s
	}
	return linear.NewProject(settings, listening{asked}), asked
}

// listening notes what is asked.
type listening struct{ asked *[]told }

func (l listening) RoundTrip(r *http.Request) (*http.Response, error) {
	body, _ := io.ReadAll(r.Body)
	var q told
	_ = json.Unmarshal(body, &q)
	*l.asked = append(*l.asked, q)
	r.Body = io.NopCloser(strings.NewReader(string(body)))
	return http.DefaultTransport.RoundTrip(r)
}

func number(n int64) int64 { return linear.Number(fmt.Sprintf("%s-%d", trackertest.Team, n)) }

func TestIdentifiersAreNumbers(t *testing.T) {
	seen := map[int64]string{}
	for _, name := range []string{"A-1", "A-2", "AA-1", "ENG-123", "ZZZZZZZ-67108863", "A0-1", "0A-1", "9999999-1"} {
		n := linear.Number(name)
		if n <= 0 || linear.Identifier(n) != name || seen[n] != "" {
			t.Errorf("%s is %d, which is %s and %s", name, n, linear.Identifier(n), seen[n])
		}
		seen[n] = name
	}
	for _, name := range []string{"", "ENG", "ENG-", "-1", "ENG-0", "ENG--1", "ENG-67108864", "TOOLONGX-1", "A_B-1", "ENG-x"} {
		if n := linear.Number(name); n != 0 {
			t.Errorf("%q is %d", name, n)
		}
	}
}

func TestProjectIsAskedByItsSlugAndStates(t *testing.T) {
	l := trackertest.StartLinear(t)
	p, asked := projectOf(t, l, nil)
	one := l.Open(t, trackertest.Writer, "one", "")
	two := l.Open(t, trackertest.Writer, "two", "")
	l.SetState(t, trackertest.Writer, two, "In Review")
	numbers, mark, err := p.Changed(t.Context(), work.TrackerMark{})
	if err != nil || !slices.Equal(numbers, []int64{number(one)}) {
		t.Fatalf("%v, %v", numbers, err)
	}
	filter, _ := (*asked)[0].Variables["filter"].(map[string]any)
	if got := fmt.Sprint(filter); !strings.Contains(got, "project:map[slugId:map[eq:"+trackertest.ProjectSlug+"]]") || !strings.Contains(got, "state:map[name:map[in:[Todo In Progress]]]") {
		t.Errorf("the filter is %s", got)
	}
	// Later looks are at what changed since the newest of the ones before.
	for range 2 {
		if _, mark, err = p.Changed(t.Context(), mark); err != nil {
			t.Fatal(err)
		}
	}
	if numbers, again, err := p.Changed(t.Context(), mark); err != nil || len(numbers) != 0 || again != mark {
		t.Errorf("without news: %v, %v", numbers, err)
	}
	l.SetState(t, trackertest.Writer, one, "Done")
	if numbers, _, err = p.Changed(t.Context(), mark); err != nil || !slices.Contains(numbers, number(one)) {
		t.Errorf("what is over by now is not told: %v, %v", numbers, err)
	}
}

func TestOtherActiveStatesAreLookedForAnew(t *testing.T) {
	l := trackertest.StartLinear(t)
	active := []string{"Todo"}
	p, _ := projectOf(t, l, func(s *symphony.Settings) { s.Tracker.Active = active })
	n := l.Open(t, trackertest.Writer, "one", "")
	l.SetState(t, trackertest.Writer, n, "In Review")
	l.Open(t, trackertest.Writer, "two", "")
	_, mark, err := p.Changed(t.Context(), work.TrackerMark{})
	if err != nil {
		t.Fatal(err)
	}
	active = []string{"Todo", "In Review"}
	if numbers, _, err := p.Changed(t.Context(), mark); err != nil || !slices.Contains(numbers, number(n)) {
		t.Errorf("%v, %v", numbers, err)
	}
}

func TestIssuesByStateAndById(t *testing.T) {
	l := trackertest.StartLinear(t)
	p, asked := projectOf(t, l, nil)
	for range 2 {
		if names, err := p.ByStates(t.Context(), nil); err != nil || names != nil {
			t.Errorf("%v, %v", names, err)
		}
		if states, err := p.StatesOf(t.Context(), nil); err != nil || len(states) != 0 {
			t.Errorf("%v, %v", states, err)
		}
	}
	if len(*asked) != 0 {
		t.Errorf("of nothing it is asked %v", *asked)
	}
	var want []string
	for i := range 5 {
		n := l.Open(t, trackertest.Writer, fmt.Sprint(i), "")
		l.SetState(t, trackertest.Writer, n, "Done")
		want = append([]string{fmt.Sprintf("%s-%d", trackertest.Team, n)}, want...) // the newest first, as Linear tells them
	}
	l.Shorten(2)
	if names, err := p.ByStates(t.Context(), []string{"Done"}); err != nil || !slices.Equal(names, want) {
		t.Errorf("over pages: %v, %v; want %v", names, err, want)
	}
	if len(*asked) != 3 {
		t.Errorf("%d pages were read", len(*asked))
	}
	if _, err := p.Read(t.Context(), number(1)); err != nil {
		t.Fatal(err)
	}
	is, _ := p.Seen(number(1))
	states, err := p.StatesOf(t.Context(), []string{is.ID})
	if err != nil || len(states) != 1 || states[is.ID] != "Done" {
		t.Errorf("%v, %v", states, err)
	}
	if query := (*asked)[len(*asked)-1].Query; !strings.Contains(query, "$ids:[ID!]") {
		t.Errorf("ids are asked for by %s", query)
	}
}

func TestAnIssueIsNormalized(t *testing.T) {
	l := trackertest.StartLinear(t)
	p, _ := projectOf(t, l, nil)
	blocker := l.Open(t, trackertest.Writer, "first", "")
	n := l.Open(t, trackertest.Writer, "then", "words")
	l.Label(t, trackertest.Writer, n)
	l.Block(t, n, blocker)
	r, err := p.Read(t.Context(), number(n))
	if err != nil {
		t.Fatal(err)
	}
	is, ok := p.Seen(number(n))
	if !ok || is.Identifier != fmt.Sprintf("%s-%d", trackertest.Team, n) || is.Title != "then" || is.Description != "words" || is.State != "Todo" || is.Priority != 2 || is.Branch == "" || is.Created.IsZero() {
		t.Errorf("%+v", is)
	}
	if !slices.Equal(is.Labels, []string{strings.ToLower(trackertest.Label)}) {
		t.Errorf("labels %v", is.Labels)
	}
	if len(is.Blockers) != 1 || is.Blockers[0].State != "Todo" || is.Blockers[0].Identifier != fmt.Sprintf("%s-%d", trackertest.Team, blocker) || is.Blockers[0].ID == "" {
		t.Errorf("blockers %+v", is.Blockers)
	}
	if len(r.Blockers) != 1 || r.Blockers[0].Number != number(blocker) || !r.Blockers[0].Open || r.State != linear.Wanted || !r.Open {
		t.Errorf("%+v", r)
	}
	// What was begun waits for nobody.
	l.SetState(t, trackertest.Writer, n, "In Progress")
	if r, err := p.Read(t.Context(), number(n)); err != nil || len(r.Blockers) != 0 {
		t.Errorf("%+v, %v", r.Blockers, err)
	}
}

// The text counts as it was when somebody of the team brought the issue into an
// active state.
func TestWhoBroughtAnIssueIntoAnActiveStateCounts(t *testing.T) {
	l := trackertest.StartLinear(t)
	p, _ := projectOf(t, l, nil)
	bound := func(n int64) (tracker.Bound, bool) {
		t.Helper()
		r, err := p.Read(t.Context(), number(n))
		if err != nil {
			t.Fatal(err)
		}
		return tracker.Bind(r, linear.Given, tracker.Seen{})
	}
	n := l.Open(t, trackertest.Writer, "one", "")
	if b, ok := bound(n); !ok || b.Hold != "" || b.By != trackertest.Writer {
		t.Errorf("made in an active state: %+v, %v", b, ok)
	}
	l.Body(t, trackertest.Reader, n, "another")
	if b, _ := bound(n); b.Hold != tracker.HoldChanged {
		t.Errorf("edited by another since: %+v", b)
	}
	l.SetState(t, trackertest.Writer, n, "In Review")
	l.SetState(t, trackertest.Owner, n, "Todo")
	if b, ok := bound(n); !ok || b.Hold != "" || b.By != trackertest.Owner {
		t.Errorf("brought back by another: %+v, %v", b, ok)
	}
	l.SetState(t, trackertest.Owner, n, "In Progress")
	if b, ok := bound(n); !ok || b.By != trackertest.Owner {
		t.Errorf("from one active state to another: %+v, %v", b, ok)
	}
	m := l.Open(t, trackertest.Reader, "two", "")
	if b, _ := bound(m); b.Hold != tracker.HoldReader {
		t.Errorf("made by a guest: %+v", b)
	}
}

// A state that Forge itself brings an issue into, so that people look at it, takes
// nothing away; who else brings one there does.
func TestForgesOwnStatesTakeNothingAway(t *testing.T) {
	l := trackertest.StartLinear(t)
	p, _ := projectOf(t, l, func(s *symphony.Settings) { s.States.Reviewing = "in review" })
	n := l.Open(t, trackertest.Writer, "one", "")
	l.SetState(t, trackertest.Owner, n, "In Review")
	r, err := p.Read(t.Context(), number(n))
	if b, ok := tracker.Bind(r, linear.Given, tracker.Seen{}); err != nil || r.State != linear.Wanted || !ok || b.By != trackertest.Writer || b.Hold != "" {
		t.Errorf("%+v, %+v, %v", r, b, err)
	}
	l.SetState(t, trackertest.Writer, n, "Todo")
	l.SetState(t, trackertest.Writer, n, "In Review")
	if r, err := p.Read(t.Context(), number(n)); err != nil || r.State == linear.Wanted {
		t.Errorf("by a person: %+v, %v", r.State, err)
	}
}

func TestWhatIsNotOfTheProjectIsGone(t *testing.T) {
	l := trackertest.StartLinear(t)
	n := l.Open(t, trackertest.Writer, "one", "")
	p, _ := projectOf(t, l, func(s *symphony.Settings) { s.Tracker.Slug = "another" })
	for _, number := range []int64{number(n), number(99)} {
		if r, err := p.Read(t.Context(), number); err != nil || !r.Gone {
			t.Errorf("%+v, %v", r, err)
		}
	}
	p, _ = projectOf(t, l, nil)
	if _, err := p.Read(t.Context(), number(n)); err != nil {
		t.Fatal(err)
	}
	l.Delete(t, n)
	if r, err := p.Read(t.Context(), number(n)); err != nil || !r.Gone {
		t.Errorf("deleted: %+v, %v", r, err)
	}
	if _, ok := p.Seen(number(n)); ok {
		t.Error("it is still known")
	}
}

func TestALabelThatIsRequired(t *testing.T) {
	l := trackertest.StartLinear(t)
	p, _ := projectOf(t, l, func(s *symphony.Settings) { s.Tracker.Labels = []string{" " + strings.ToUpper(trackertest.Label)} })
	n := l.Open(t, trackertest.Writer, "one", "")
	if r, err := p.Read(t.Context(), number(n)); err != nil || r.State == linear.Wanted {
		t.Errorf("without it: %+v, %v", r.State, err)
	}
	l.Label(t, trackertest.Writer, n)
	if r, err := p.Read(t.Context(), number(n)); err != nil || r.State != linear.Wanted {
		t.Errorf("with it: %+v, %v", r.State, err)
	}
}

func TestErrorsOfAProject(t *testing.T) {
	answers := map[string]struct {
		status int
		body   string
		want   work.HostKind
	}{
		"no success":          {http.StatusForbidden, `{}`, work.HostForbidden},
		"errors of GraphQL":   {http.StatusOK, `{"errors":[{"message":"no","extensions":{"code":"AUTHENTICATION_ERROR"}}]}`, work.HostUnauthorized},
		"no answer of Linear": {http.StatusOK, `{"data":{"list":7}}`, work.HostWrong},
		"no list":             {http.StatusOK, `{"data":{}}`, work.HostWrong},
		"no JSON":             {http.StatusOK, `<html>`, work.HostWrong},
		"a page without end":  {http.StatusOK, `{"data":{"list":{"pageInfo":{"hasNextPage":true,"endCursor":null},"nodes":[]}}}`, work.HostWrong},
	}
	for name, a := range answers {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(a.status)
			fmt.Fprint(w, a.body)
		}))
		p := linear.NewProject(func() symphony.Settings {
			return symphony.Settings{Tracker: symphony.Tracker{Endpoint: s.URL, APIKey: "k", Slug: "s", Active: []string{"Todo"}}}
		}, nil)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		names, err := p.ByStates(ctx, []string{"Todo"})
		cancel()
		if work.HostKindOf(err) != a.want || len(names) != 0 {
			t.Errorf("%s: %v, %v", name, names, err)
		}
		s.Close()
	}
	away := linear.NewProject(func() symphony.Settings {
		return symphony.Settings{Tracker: symphony.Tracker{Endpoint: "http://127.0.0.1:1/graphql", APIKey: "k", Slug: "s"}}
	}, nil)
	if _, err := away.ByStates(t.Context(), []string{"Todo"}); work.HostKindOf(err) != work.HostUnreachable {
		t.Errorf("nobody is there: %v", err)
	}
}
