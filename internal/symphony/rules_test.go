package symphony

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func settings(t *testing.T, more string) Settings {
	t.Helper()
	return parse(t, least+more, "", nil).Settings
}

func TestTheOrderOfDispatch(t *testing.T) {
	at := func(day int) time.Time { return time.Date(2026, 1, day, 0, 0, 0, 0, time.UTC) }
	all := []Issue{
		{Identifier: "none", Created: at(1)}, {Identifier: "low", Priority: 4, Created: at(1)}, {Identifier: "urgent", Priority: 1, Created: at(9)},
		{Identifier: "high-new", Priority: 2, Created: at(3)}, {Identifier: "high-old", Priority: 2, Created: at(2)}, {Identifier: "b", Priority: 3, Created: at(5)},
		{Identifier: "a", Priority: 3, Created: at(5)}, {Identifier: "odd", Priority: 9, Created: at(2)}, {Identifier: "ageless", Priority: 3},
	}
	slices.SortStableFunc(all, Order)
	var got []string
	for _, i := range all {
		got = append(got, i.Identifier)
	}
	if want := "urgent high-old high-new a b ageless low none odd"; strings.Join(got, " ") != want {
		t.Errorf("%v, want %s", got, want)
	}
}

func TestWhatIsDispatched(t *testing.T) {
	s := settings(t, "  active_states: [Todo, In Progress]\n  required_labels: [Agent]\n")
	fine := Issue{ID: "i", Identifier: "A-1", Title: "t", State: " todo ", Labels: []string{"agent"}}
	if no := s.NotDispatched(fine); no != "" {
		t.Errorf("it is not dispatched: %s", no)
	}
	for name, change := range map[string]func(*Issue){
		"no id":          func(i *Issue) { i.ID = "" },
		"no title":       func(i *Issue) { i.Title = "" },
		"no state":       func(i *Issue) { i.State = "" },
		"not active":     func(i *Issue) { i.State = "Human Review" },
		"over":           func(i *Issue) { i.State = "DONE" },
		"label is away":  func(i *Issue) { i.Labels = nil },
		"it is blocked":  func(i *Issue) { i.Blockers = []Blocker{{State: "Done"}, {Identifier: "A-2", State: "In Progress"}} },
		"nobody can say": func(i *Issue) { i.Blockers = []Blocker{{Identifier: "A-2"}} },
	} {
		i := fine
		change(&i)
		if s.NotDispatched(i) == "" {
			t.Errorf("%s: it is dispatched", name)
		}
	}
}

func TestBlockersOfTodo(t *testing.T) {
	s := settings(t, "")
	i := Issue{ID: "i", Identifier: "A-1", Title: "t", State: "Todo", Blockers: []Blocker{{Identifier: "A-2", State: "In Progress"}}}
	if s.NotDispatched(i) != "it waits for A-2" {
		t.Errorf("%q", s.NotDispatched(i))
	}
	i.Blockers[0].State = "cancelled "
	if no := s.NotDispatched(i); no != "" {
		t.Errorf("a blocker that is over holds it: %s", no)
	}
	// One that was begun goes on.
	i.State, i.Blockers[0].State = "In Progress", "Todo"
	if no := s.NotDispatched(i); no != "" {
		t.Errorf("what was begun is held: %s", no)
	}
}

func TestSlots(t *testing.T) {
	s := settings(t, "agent:\n  max_concurrent_agents: 3\n  max_concurrent_agents_by_state: {todo: 1}\n")
	for _, c := range []struct {
		running []string
		state   string
		want    bool
	}{
		{nil, "Todo", true}, {[]string{"todo"}, "Todo", false}, {[]string{"TODO "}, "In Progress", true}, {[]string{"a", "b"}, "Todo", true},
		{[]string{"a", "b", "c"}, "Todo", false}, {[]string{"a", "a", "a"}, "In Progress", false}, {[]string{"in progress", "in progress"}, "In Progress", true},
	} {
		if got := s.Room(c.running, c.state); got != c.want {
			t.Errorf("%v and %s: %v", c.running, c.state, got)
		}
	}
}

func TestReconcile(t *testing.T) {
	s := settings(t, "")
	for state, want := range map[string]Follow{"In Progress": GoOn, "todo": GoOn, "Human Review": Stop, "Done": Clean, "canceled": Clean, "": Wait} {
		if got := s.Reconcile(Issue{State: state}, true); got != want {
			t.Errorf("%s: %s, want %s", state, got, want)
		}
	}
	if got := s.Reconcile(Issue{State: "Done"}, false); got != Wait {
		t.Errorf("one of which nothing is known: %s", got)
	}
}

func TestRetriesAndTheirPauses(t *testing.T) {
	s := settings(t, "agent:\n  max_retry_backoff_ms: 100000\n")
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	var got []time.Duration
	for past := range 6 {
		r, ok := s.Next(Failed, past, now, "why")
		if !ok || r.Attempt != past+1 || r.Why != "why" {
			t.Fatalf("after %d: %+v, %v", past, r, ok)
		}
		got = append(got, r.Due.Sub(now))
	}
	want := []time.Duration{10 * time.Second, 20 * time.Second, 40 * time.Second, 80 * time.Second, 100 * time.Second, 100 * time.Second}
	if !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if d := settings(t, "").Backoff(50); d != 5*time.Minute {
		t.Errorf("the default's most is %v", d)
	}
	if d := settings(t, "agent: {max_retry_backoff_ms: 3000}\n").Backoff(1); d != 3*time.Second {
		t.Errorf("a cap below the first pause: %v", d)
	}
}

func TestAfterANormalEndItGoesOnSoon(t *testing.T) {
	s := settings(t, "")
	now := time.Now()
	r, ok := s.Next(Continues, 0, now, "turns used up")
	if !ok || r.Attempt != 1 || r.Due.Sub(now) != time.Second {
		t.Errorf("%+v, %v", r, ok)
	}
	// Not for ever: a person says then that it goes on.
	if _, ok := s.Next(Continues, s.MaxAttempts, now, ""); ok {
		t.Error("it goes on without an end")
	}
	if _, ok := settings(t, "forge: {max_attempts: 0}\n").Next(Failed, 0, now, ""); ok {
		t.Error("it is tried again though the file says not to")
	}
}

func TestARetryIsReadFromTheHistory(t *testing.T) {
	due := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	r := Retry{3, due, "agent: it failed: at 4: x"}
	if got, ok := ReadRetry(r.Line()); !ok || got != r {
		t.Errorf("%+v, %v", got, ok)
	}
	for _, line := range []string{"", "retry", "retry 1", "retry x at 2026-01-02T03:04:05Z: y", "retry 0 at 2026-01-02T03:04:05Z: y", "retry 1 at noon: y", "it failed"} {
		if _, ok := ReadRetry(line); ok {
			t.Errorf("%q is read as one", line)
		}
	}
	steps := []Step{{}, {Reason: r.Line()}, {}, {Reason: Retry{2, due, "w"}.Line()}}
	if past, last := Attempts(steps); past != 3 || last != r {
		t.Errorf("%d, %+v", past, last)
	}
	if past, _ := Attempts(append([]Step{{Person: true}}, steps...)); past != 0 {
		t.Errorf("a person's hand: %d", past)
	}
	if past, _ := Attempts(append([]Step{{}, {Landed: true}}, steps...)); past != 0 {
		t.Errorf("it was done since: %d", past)
	}
}

func TestKeysOfWorkspaces(t *testing.T) {
	for identifier, want := range map[string]string{"MT-649": "MT-649", "a.b_c-1": "a.b_c-1"} {
		if got := Key(identifier); got != want {
			t.Errorf("%s is %s", identifier, got)
		}
	}
	seen := map[string]string{}
	for _, identifier := range []string{"A/1", "A_1", "A 1", "A\\1", "..", ".", "../x", "x/../../y", ".forge", "Ä", "A-1.git", "A-1.index", "A-1.forge", strings.Repeat("x", 300), strings.Repeat("x", 301), "A\x001"} {
		got := Key(identifier)
		if other, twice := seen[got]; twice {
			t.Errorf("%q and %q share %s", identifier, other, got)
		}
		seen[got] = identifier
		if got == "" || got[0] == '.' || filepath.Base(got) != got || len(got) > maxKey+9 || Key(identifier) != got {
			t.Errorf("%q is %q", identifier, got)
		}
	}
}

func TestWorkspacesStayBelowTheirRoot(t *testing.T) {
	for _, identifier := range []string{"A-1", "..", "../../etc", "/etc", "a/b", "~"} {
		dir, err := Path("/srv/ws", identifier)
		if err != nil || filepath.Dir(dir) != "/srv/ws" {
			t.Errorf("%s is at %s, %v", identifier, dir, err)
		}
	}
	for _, dir := range []string{"/srv/ws", "/srv/other", "/srv/ws/a/b", "/srv/ws/../x", "ws/a", "/srv/wsx/a", "/srv/ws/."} {
		if Contained("/srv/ws", dir) == nil {
			t.Errorf("%s is taken for a workspace", dir)
		}
	}
	if Contained("ws", "ws/a") == nil || Contained("/a/../b", "/b/x") == nil {
		t.Error("a root that is not whole is taken")
	}
	if _, err := Path("/srv/ws", ""); err == nil {
		t.Error("an issue without an identifier has a workspace")
	}
}

func FuzzKey(f *testing.F) {
	f.Add("MT-1", "MT_1")
	f.Fuzz(func(t *testing.T, a, b string) {
		for _, one := range []string{a, b} {
			dir, err := Path("/srv/ws", one)
			if one != "" && (err != nil || filepath.Dir(dir) != "/srv/ws") {
				t.Fatalf("%q is at %q: %v", one, dir, err)
			}
		}
		if a != b && a != "" && b != "" && Key(a) == Key(b) {
			t.Fatalf("%q and %q share %s", a, b, Key(a))
		}
	})
}
