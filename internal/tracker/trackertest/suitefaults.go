package trackertest

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"forge/factory/tracker"
	"forge/internal/work"
)

// Server is a tracker of Forge's own, which can be told to misbehave.
type Server interface {
	People
	// Fail lets the next requests fail.
	Fail(times, status int, header http.Header, body string)
	// Shorten lets pages end early; 0 = no more.
	Shorten(most int)
	// Clock sets the tracker's clock.
	Clock(now time.Time)
	// Move moves an issue to another project.
	Move(t testing.TB, n int64)
	// OpenLabelled opens an issue that has the label from the beginning on.
	OpenLabelled(t testing.TB, who, title, body string) int64
}

// Stateful is a server of a tracker with states of its own.
type Stateful interface {
	State(t testing.TB, n int64) string
	SetState(t testing.TB, who string, n int64, state string)
	// Forbid lets no issue go to a state, or lets it again.
	Forbid(state string, forbidden bool)
}

// Names are the states of the servers of Forge's own.
func Names() tracker.States {
	return tracker.States{Working: stateWorking, Reviewing: stateReview, Done: stateDone}
}

// Wrong are adapters that ask the same server with a wrong token, and for a
// project that is not there.
type Wrong struct{ Token, Project tracker.Host }

// RunFaults holds an adapter against a server that misbehaves. limited is how the
// tracker says that it was asked too often, and has to be waited for two minutes.
func RunFaults(t *testing.T, w World, s Server, wrong Wrong, limited func(s Server)) {
	f := &fixture{TB: t, World: w}
	t.Run("Limited", func(t *testing.T) {
		f.TB = t
		f.limited(s, limited)
	})
	t.Run("Unwell", func(t *testing.T) {
		f.TB = t
		f.unwell(s)
	})
	t.Run("Refused", func(t *testing.T) {
		f.TB = t
		f.refused(s, wrong)
	})
	t.Run("ShortPages", func(t *testing.T) {
		f.TB = t
		f.shortPages(s)
	})
	t.Run("Moved", func(t *testing.T) {
		f.TB = t
		n := f.chosen("Moved away")
		s.Move(f, n)
		f.not("moved to another project", n, tracker.HoldGone)
	})
	t.Run("LabelledFromTheStart", func(t *testing.T) {
		f.TB = t
		f.counts("opened by a writer with its label", s.OpenLabelled(f, Writer, "New", "Please."), tracker.Seen{}, none)
		f.counts("opened by a reader with its label", s.OpenLabelled(f, Reader, "New", "Please."), tracker.Seen{}, tracker.HoldReader)
	})
	t.Run("Clock", func(t *testing.T) {
		f.TB = t
		f.clock(s)
	})
}

// limited: who is asked to wait hears for how long.
func (f *fixture) limited(s Server, limit func(Server)) {
	n := f.chosen("Limited")
	report, _ := tracker.Tell(strings.Repeat("ab", 16), work.Issue{ID: 1, Column: work.ColumnInProgress})
	_, mark, err := f.Tracker.Changed(f.Context(), work.TrackerMark{})
	if err != nil {
		f.Fatal(err)
	}
	for what, do := range map[string]func() error{
		"read": func() error { _, err := f.Tracker.Read(f.Context(), n); return err },
		"list": func() error { _, _, err := f.Tracker.Changed(f.Context(), mark); return err },
		"post": func() error { return f.Tracker.Post(f.Context(), n, report) },
	} {
		limit(s)
		err := do()
		if work.HostKindOf(err) != work.HostRateLimited {
			f.Errorf("%s: %v, want that it is asked to wait", what, err)
		}
		if wait := tracker.Wait(time.Second, 0, err); wait < 110*time.Second || wait > 130*time.Second {
			f.Errorf("%s: waits %s, want two minutes", what, wait)
		}
		s.Fail(0, 0, nil, "")
		if err := do(); err != nil {
			f.Errorf("%s, later: %v", what, err)
		}
	}
}

// unwell: an error of the server's and an answer that is none are never taken for
// one, whatever is asked, and leave nothing behind.
func (f *fixture) unwell(s Server) {
	n := f.chosen("Unwell")
	_, mark, err := f.Tracker.Changed(f.Context(), work.TrackerMark{})
	if err != nil {
		f.Fatal(err)
	}
	for status, body := range map[int]string{http.StatusBadGateway: "<html>bad gateway</html>", http.StatusOK: "<html>sign in</html>"} {
		s.Fail(100, status, nil, body)
		if r, err := f.Tracker.Read(f.Context(), n); err == nil {
			f.Errorf("%d: read %+v", status, r)
		} else if kind := work.HostKindOf(err); kind != work.HostUnreachable && kind != work.HostWrong {
			f.Errorf("%d: %v", status, err)
		}
		if numbers, next, err := f.Tracker.Changed(f.Context(), mark); err == nil || next != mark {
			f.Errorf("%d: %v changed, up to %v, %v", status, numbers, next, err)
		}
		s.Fail(0, 0, nil, "")
		f.counts("afterwards", n, tracker.Seen{}, none)
	}
	n = f.chosen("Half an answer")
	s.Fail(1, http.StatusOK, http.Header{"Content-Length": {"5000"}}, `{"data":`)
	if r, err := f.Tracker.Read(f.Context(), n); err == nil && !r.Open {
		f.Errorf("an answer that broke off: %+v", r)
	}
	s.Fail(0, 0, nil, "")
}

// refused: a wrong token and a wrong project are told apart, and an issue of neither
// is never taken for one that is gone.
func (f *fixture) refused(s Server, wrong Wrong) {
	n := f.chosen("Refused")
	for want, on := range map[work.HostKind]tracker.Host{work.HostUnauthorized: wrong.Token, work.HostNoRepository: wrong.Project} {
		_, err := on.Read(f.Context(), n)
		_, _, changed := on.Changed(f.Context(), work.TrackerMark{})
		if work.HostKindOf(err) != want || work.HostKindOf(changed) != want {
			f.Errorf("read: %v; changed: %v; want %s", err, changed, want)
		}
	}
	s.Fail(100, http.StatusForbidden, nil, "{}")
	if r, err := f.Tracker.Read(f.Context(), n); err == nil {
		f.Errorf("what is forbidden is read as %+v", r)
	}
	s.Fail(0, 0, nil, "")
}

// shortPages: a page that is not full is not the last one.
func (f *fixture) shortPages(s Server) {
	n := f.People.Open(f, Reader, "Short pages", "")
	const many = 23
	for i := range many {
		f.People.Say(f, Reader, n, strconv.Itoa(i))
	}
	f.People.Label(f, Writer, n)
	f.People.Title(f, Reader, n, "Changed after the label")
	s.Shorten(3)
	defer s.Shorten(0)
	if r := f.counts("with short pages", n, tracker.Seen{}, tracker.HoldChanged); len(r.Comments) != many {
		f.Errorf("%d comments of %d", len(r.Comments), many)
	}
	numbers, _, err := f.Tracker.Changed(f.Context(), work.TrackerMark{})
	if err != nil || len(numbers) <= 3 {
		f.Errorf("changed with short pages: %v, %v", numbers, err)
	}
}

// clock: what counts is the tracker's clock, however far off it is.
func (f *fixture) clock(s Server) {
	for _, now := range []time.Time{time.Date(2041, 5, 6, 7, 8, 9, 0, time.UTC), time.Date(2040, 5, 6, 7, 8, 9, 0, time.UTC)} {
		s.Clock(now)
		n := f.People.Open(f, Reader, "At another time", "Please.")
		_, mark, err := f.Tracker.Changed(f.Context(), work.TrackerMark{})
		if err != nil {
			f.Fatal(err)
		}
		f.People.Label(f, Writer, n)
		f.counts("labelled", n, tracker.Seen{}, none)
		f.People.Body(f, Reader, n, "other")
		f.counts("edited later", n, tracker.Seen{}, tracker.HoldChanged, tracker.HoldUnknown)
		if now.Year() > 2040 {
			continue // it is set back next, so that nothing is newer than the mark
		}
		if _, same, err := f.Tracker.Changed(f.Context(), mark); err != nil || same.Since.Before(mark.Since) {
			f.Errorf("the mark goes back from %v to %v, %v", mark, same, err)
		}
	}
}

// RunStates holds an adapter of a tracker with states against one. unnamed is the
// same one where no states are configured.
func RunStates(t *testing.T, w World, unnamed tracker.Host, s Stateful) {
	f := &fixture{TB: t, World: w}
	tell := func(n int64, column work.Column) tracker.Report {
		r, _ := tracker.Tell(fmt.Sprintf("%032x", n), work.Issue{ID: n, Column: column})
		return r
	}
	const working, reviewing, done = work.ColumnInProgress, work.ColumnInReview, work.ColumnDone
	is := func(what string, n int64, want string) {
		t.Helper()
		if got := s.State(t, n); got != want {
			t.Errorf("%s: it is in %q, want %q", what, got, want)
		}
	}
	post := func(on tracker.Host, n int64, column work.Column) {
		t.Helper()
		if err := on.Post(t.Context(), n, tell(n, column)); err != nil {
			t.Error(err)
		}
	}
	n := f.chosen("On its way")
	if r := f.counts("new", n, tracker.Seen{}, none); r.State != stateTodo || r.Priority != work.PriorityHigh {
		t.Errorf("state %q, priority %q", r.State, r.Priority)
	}
	for _, step := range []struct {
		column work.Column
		want   string
	}{{working, stateWorking}, {working, stateWorking}, {reviewing, stateReview}, {done, stateDone}, {done, stateDone}, {working, stateDone}} {
		post(f.Tracker, n, step.column)
		is(string(step.column), n, step.want)
	}
	f.not("done", n, tracker.HoldClosed)

	n = f.chosen("Left alone")
	post(unnamed, n, working)
	is("where no state is named", n, stateTodo)
	post(unnamed, n, done)
	is("done, where no state is named", n, stateDone)

	// What the tracker does not allow is said, and holds that issue alone.
	n = f.chosen("Not allowed")
	s.Forbid(stateWorking, true)
	err := f.Tracker.Post(t.Context(), n, tell(n, working))
	if err == nil || !tracker.OfIssue(err) {
		t.Errorf("a state that is not allowed: %v", err)
	}
	if comments := f.People.Comments(f, n); len(comments) != 1 {
		t.Errorf("it is not told how it stands: %v", comments)
	}
	is("not allowed", n, stateTodo)
	s.Forbid(stateWorking, false)
	post(f.Tracker, n, working)
	is("allowed again", n, stateWorking)
}
