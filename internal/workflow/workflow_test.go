package workflow

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"charm.land/log/v2"

	"forge/factory"
	"forge/internal/board"
	"forge/internal/project/projecttest"
	"forge/internal/refusal"
	"forge/internal/symphony"
	"forge/internal/tracker/linear"
	"forge/internal/tracker/trackertest"
	"forge/internal/work"
)

const front = "---\ntracker: {kind: linear, endpoint: \"%s\", api_key: $LINEAR_API_KEY, project_slug: slug}\nworkspace: {root: ../ws}\n%s---\n%s"

// world is a runner in a project of its own.
type world struct {
	*Runner
	t    *testing.T
	file string
	said bytes.Buffer
}

func newWorld(t *testing.T, more string) *world {
	t.Helper()
	w := &world{t: t}
	env := projecttest.New(t, "", "")
	env.Log = log.NewWithOptions(&w.said, log.Options{Formatter: log.LogfmtFormatter})
	env.Environ = append(env.Environ, "LINEAR_API_KEY=secret-key", "MARK=seen")
	w.file = filepath.Join(env.Dir, "WORKFLOW.md")
	w.write(more, "Do {{ issue.identifier }}")
	k, env, err := Open(t.Context(), env, w.file)
	if err != nil {
		t.Fatal(err)
	}
	b, err := board.Open(t.Context(), env, true)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	w.Runner = New(k, b)
	return w
}

func (w *world) write(more, body string) {
	w.t.Helper()
	if err := os.WriteFile(w.file, fmt.Appendf(nil, front, "http://127.0.0.1:1/graphql", more, body), 0o644); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) look(name string) string {
	text, _ := os.ReadFile(name)
	return string(text)
}

func exists(name string) bool {
	_, err := os.Lstat(name)
	return err == nil
}

// at puts an issue of a Linear onto the world's tracker, as the board has it.
func (w *world) at(l *trackertest.Linear) work.Issue {
	w.t.Helper()
	n := l.Open(w.t, trackertest.Writer, "a title", "")
	identifier := fmt.Sprintf("%s-%d", trackertest.Team, n)
	w.Project = linear.NewProject(func() symphony.Settings {
		s := w.Kept.Settings()
		s.Tracker.Endpoint, s.Tracker.APIKey, s.Tracker.Slug = l.URL, l.Token, trackertest.ProjectSlug
		return s
	}, nil)
	i, err := w.Board.Add(w.t.Context(), work.Issue{Title: "t", Column: work.ColumnReady, Priority: work.PriorityNormal}, factory.Place{At: factory.Bottom}, factory.By{Name: "ann", Door: "cli"})
	if err != nil {
		w.t.Fatal(err)
	}
	i.Source = Tracker + "#" + identifier
	return i
}

func TestBeforeRunHoldsAnAttempt(t *testing.T) {
	w := newWorld(t, "hooks:\n  before_run: echo before >>../said; test ! -f ../no\n  after_run: echo after >>../said; exit 1\n")
	i := w.at(trackertest.StartLinear(t))
	begun, err := w.Begin(t.Context(), i, func(string) (bool, error) { return false, nil })
	if err != nil || begun.Prompt != "Do WORK-1" {
		t.Fatalf("%+v, %v", begun, err)
	}
	did := 0
	do := func() error { did++; return nil }
	if err := w.Around(t.Context(), i, begun.Workspace, do); err != nil || did != 1 {
		t.Errorf("%v, %d", err, did)
	}
	if err := w.Around(t.Context(), i, begun.Workspace, func() error { return errors.New("it failed") }); err == nil {
		t.Error("a failure is lost")
	}
	above := filepath.Dir(begun.Workspace)
	if err := os.WriteFile(filepath.Join(above, "no"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := w.Around(t.Context(), i, begun.Workspace, do); err == nil || did != 1 || !strings.Contains(err.Error(), "hook before_run") {
		t.Errorf("%v, %d", err, did)
	}
	if got := w.look(filepath.Join(above, "said")); got != "before\nafter\nbefore\nafter\nbefore\n" {
		t.Errorf("%q", got)
	}
	// Outside of its root nothing is done.
	if err := w.Around(t.Context(), i, t.TempDir(), do); err == nil || did != 1 {
		t.Errorf("%v, %d", err, did)
	}
}

// What after_create makes has to be the repository that is worked on.
func TestAnotherRepositoryIsNotWorkedIn(t *testing.T) {
	w := newWorld(t, "hooks:\n  after_create: git init -q . && git -c user.name=a -c user.email=a@example.invalid commit -q --allow-empty -m one\n")
	i := w.at(trackertest.StartLinear(t))
	if _, err := w.Begin(t.Context(), i, func(string) (bool, error) { return false, nil }); err == nil || !strings.Contains(err.Error(), "git fetch in the checkout") {
		t.Errorf("%v", err)
	}
	got, err := w.Begin(t.Context(), i, func(string) (bool, error) { return true, nil })
	if err != nil || len(got.Head) != 40 {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestAPromptThatCannotBeMadeFailsTheAttempt(t *testing.T) {
	w := newWorld(t, "")
	i := w.at(trackertest.StartLinear(t))
	w.write("", "line\n{{ nobody }}")
	if _, err := w.Kept.Look(); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Begin(t.Context(), i, nil); err == nil || !strings.Contains(err.Error(), "template_render_error: line 2") {
		t.Errorf("%v", err)
	}
}

// A card names its run before that begins: the state says what there is, and is no
// error.
func TestARunThatHasNotBegunCountsNothing(t *testing.T) {
	w := newWorld(t, "")
	if c, err := w.countRun(t.Context(), "i1-261127-none"); err != nil || c.seq != 0 {
		t.Errorf("%+v, %v", c, err)
	}
}

func TestNoSlotIsSaid(t *testing.T) {
	now := time.Now()
	o := one{retry: &symphony.Retry{Attempt: 2, Due: now.Add(time.Minute), Why: "it failed"}}
	if row := o.retryRow(now); row.Error != "it failed" || row.Attempt != 2 {
		t.Errorf("%+v", row)
	}
	if row := o.retryRow(now.Add(2 * time.Minute)); row.Error != symphony.NoSlot || row.Attempt != 2 {
		t.Errorf("%+v", row)
	}
}

type deaf struct{}

func (deaf) Write([]byte) (int, error) { return 0, errors.New("no room") }

func TestALogThatFailsStopsNothing(t *testing.T) {
	w := newWorld(t, "hooks: {after_create: echo made >made}\n")
	w.Board.Log = log.New(deaf{})
	if dir, err := w.workspace(t.Context(), someone("A-1")); err != nil || w.look(dir+"/made") != "made\n" {
		t.Errorf("%v", err)
	}
}

func someone(identifier string) symphony.Issue {
	return symphony.Issue{ID: "id-" + identifier, Identifier: identifier, Title: "t", State: "Todo"}
}

func TestAWorkspaceIsMadeOnceAndUsedAgain(t *testing.T) {
	w := newWorld(t, "hooks:\n  after_create: echo \"$MARK ${LINEAR_API_KEY:-no key}\" >made; pwd >>made\n")
	dir, err := w.workspace(t.Context(), someone("A-1"))
	if err != nil {
		t.Fatal(err)
	}
	if want := "seen no key\n" + dir + "\n"; w.look(dir+"/made") != want || filepath.Base(dir) != "A-1" {
		t.Errorf("%s: %q", dir, w.look(dir+"/made"))
	}
	if err := os.WriteFile(dir+"/made", []byte("kept"), 0o644); err != nil {
		t.Fatal(err)
	}
	again, err := w.workspace(t.Context(), someone("A-1"))
	if err != nil || again != dir || w.look(dir+"/made") != "kept" {
		t.Errorf("%s, %v: %q", again, err, w.look(dir+"/made"))
	}
	if other, err := w.workspace(t.Context(), someone("A/1")); err != nil || other == dir {
		t.Errorf("another issue has %s, %v", other, err)
	}
}

func TestWhatStandsInAWorkspacesPlaceIsLeftAlone(t *testing.T) {
	w := newWorld(t, "")
	root := w.Kept.Settings().Root
	for name, make := range map[string]func(at string) error{
		"a file":              func(at string) error { return os.WriteFile(at, []byte("mine"), 0o644) },
		"somebody's folder":   func(at string) error { return os.Mkdir(at, 0o755) },
		"a link to elsewhere": func(at string) error { return os.Symlink(t.TempDir(), at) },
	} {
		at := filepath.Join(root, symphony.Key(name))
		if err := errors.Join(os.MkdirAll(root, 0o755), make(at)); err != nil {
			t.Fatal(err)
		}
		if dir, err := w.workspace(t.Context(), someone(name)); err == nil || !exists(at) {
			t.Errorf("%s became the workspace %s", name, dir)
		}
		if err := w.remove(t.Context(), someone(name)); err != nil || !exists(at) {
			t.Errorf("%s was removed: %v", name, err)
		}
	}
}

func TestAfterCreateThatFailsMakesNoWorkspace(t *testing.T) {
	for name, c := range map[string]struct{ script, want string }{
		"it fails":          {"echo some output; exit 7", "it ended with 7: some output"},
		"it takes too long": {"sleep 60", "it took longer than 300ms"},
	} {
		w := newWorld(t, "hooks:\n  timeout_ms: 300\n  after_create: "+c.script+"\n")
		_, err := w.workspace(t.Context(), someone("A-1"))
		if err == nil || !strings.Contains(err.Error(), "hook after_create: "+c.want) {
			t.Errorf("%s: %v", name, err)
		}
		left, _ := os.ReadDir(w.Kept.Settings().Root)
		if len(left) != 0 {
			t.Errorf("%s: it leaves %v", name, left)
		}
	}
}

func TestADeadAfterCreateIsDoneAgain(t *testing.T) {
	w := newWorld(t, "hooks:\n  after_create: echo whole >made\n")
	dir, err := place(w.Kept.Settings().Root, "A-1")
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(writeNote(dir, note{Identifier: "A-1"}), os.Mkdir(dir, 0o755), os.WriteFile(dir+"/half", nil, 0o644)); err != nil {
		t.Fatal(err)
	}
	if _, err := w.workspace(t.Context(), someone("A-1")); err != nil || exists(dir+"/half") || w.look(dir+"/made") != "whole\n" {
		t.Errorf("%v: %q", err, w.look(dir+"/made"))
	}
}

// Hooks find the repository that they made, and the agent never does: whoever dies in
// between loses nothing.
func TestTheRepositoryOfHooksIsOutOfReach(t *testing.T) {
	w := newWorld(t, "hooks:\n  after_create: git init -q . && git config forge.mark theirs\n")
	dir, err := w.workspace(t.Context(), someone("A-1"))
	if err != nil || exists(dir+"/.git") {
		t.Fatalf("%v, the agent has the repository", err)
	}
	if err := os.Mkdir(dir+"/.git", 0o755); err != nil { // the agent's own
		t.Fatal(err)
	}
	mark := "git config --get forge.mark >>../marks"
	for range 2 {
		if err := withGit(dir, func() error { return w.hook(t.Context(), someone("A-1"), dir, "before_run", mark) }); err != nil || exists(dir+"/.git") {
			t.Fatal(err)
		}
	}
	n, err := readNote(dir)
	if err != nil {
		t.Fatal(err)
	}
	n.Inside = true
	if err := errors.Join(writeNote(dir, n), os.Rename(dir+symphony.GitEnd, dir+"/.git")); err != nil {
		t.Fatal(err)
	}
	if _, err := w.workspace(t.Context(), someone("A-1")); err != nil || exists(dir+"/.git") || !exists(dir+symphony.GitEnd) {
		t.Errorf("after a death in a hook: %v", err)
	}
	if got := w.look(filepath.Join(filepath.Dir(dir), "marks")); got != "theirs\ntheirs\n" {
		t.Errorf("hooks saw %q", got)
	}
}

func TestBeforeRemoveIsHeardAndNotObeyed(t *testing.T) {
	w := newWorld(t, "hooks:\n  timeout_ms: 300\n  before_remove: basename \"$PWD\" >>../removed; sleep 60\n")
	dir, err := w.workspace(t.Context(), someone("A-1"))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // twice is once
		if err := w.remove(t.Context(), someone("A-1")); err != nil {
			t.Fatal(err)
		}
	}
	left, _ := os.ReadDir(filepath.Dir(dir))
	if len(left) != 1 || w.look(filepath.Join(filepath.Dir(dir), "removed")) != "A-1\n" {
		t.Errorf("%v", left)
	}
}

func TestAReplacedWorkspaceIsNotWorkedIn(t *testing.T) {
	w := newWorld(t, "")
	dir, err := w.workspace(t.Context(), someone("A-1"))
	if err != nil {
		t.Fatal(err)
	}
	root := w.Kept.Settings().Root
	if err := hold(root, dir); err != nil {
		t.Fatal(err)
	}
	if hold(root, filepath.Join(root, "A-1", "inner")) == nil || hold(root, t.TempDir()) == nil || hold(root, root) == nil {
		t.Error("a folder out of place is held for a workspace")
	}
	if err := errors.Join(os.Remove(dir), os.Symlink(t.TempDir(), dir)); err != nil {
		t.Fatal(err)
	}
	if hold(root, dir) == nil {
		t.Error("a link is held for a workspace")
	}
}

func TestLogsNameTheIssueAndHideTheKey(t *testing.T) {
	w := newWorld(t, "hooks:\n  after_create: echo secret-key; exit 1\n")
	_, err := w.workspace(t.Context(), someone("A-1"))
	if err == nil || strings.Contains(err.Error()+w.said.String(), "secret-key") {
		t.Errorf("%v\n%s", err, w.said.String())
	}
	for _, want := range []string{"issue_id=id-A-1", "issue_identifier=A-1", "hook=after_create", "outcome=started", "outcome=failed", "reason="} {
		if !strings.Contains(w.said.String(), want) {
			t.Errorf("the log lacks %s:\n%s", want, w.said.String())
		}
	}
}

func TestAFileIsReadAgainAndTheLastGoodIsKept(t *testing.T) {
	w := newWorld(t, "polling: {interval_ms: 1000}\n")
	k := w.Kept
	if changed, err := k.Look(); changed || err != nil {
		t.Errorf("nothing changed: %v, %v", changed, err)
	}
	w.write("polling: {interval_ms: 2000}\nagent: {max_concurrent_agents: 3}\n", "New {{ issue.title }}")
	if changed, err := k.Look(); !changed || err != nil || k.Settings().Poll != 2*time.Second || !strings.Contains(w.look(k.settings), `"factory"."max_running" = 3`) {
		t.Errorf("%v, %v, %v", changed, err, k.Settings().Poll)
	}
	for name, broken := range map[string]string{"its YAML": "x: [\n", "a setting": "polling: {interval_ms: never}\n", "a key of forge.toml": "forge:\n  verify: {comands: []}\n"} {
		w.write(broken, "x")
		changed, err := k.Look()
		if !changed || err == nil || k.Wrong() == "" || k.Settings().Poll != 2*time.Second || !strings.Contains(w.look(k.settings), `"factory"."max_running" = 3`) {
			t.Errorf("%s: %v, %v, %v", name, changed, err, k.Settings().Poll)
		}
		if changed, err := k.Look(); changed || err == nil {
			t.Errorf("%s is said twice: %v", name, err)
		}
	}
	if err := os.Remove(w.file); err != nil {
		t.Fatal(err)
	}
	if _, err := k.Look(); symphony.ClassOf(err) != symphony.MissingFile || k.Settings().Poll != 2*time.Second {
		t.Errorf("%v", err)
	}
	w.write("polling: {interval_ms: 3000}\n", "x")
	if changed, err := k.Look(); !changed || err != nil || k.Wrong() != "" || k.Settings().Poll != 3*time.Second {
		t.Errorf("mended: %v, %v", changed, err)
	}
}

func TestWatchSaysWhatIsWrong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "")
		reloads := 0
		ctx, cancel := context.WithCancel(t.Context())
		w.write("x: [\n", "")
		over := make(chan struct{})
		go func() {
			defer close(over)
			w.Kept.Watch(ctx, func() { reloads++; cancel() })
		}()
		for w.Kept.Wrong() == "" {
			time.Sleep(10 * time.Millisecond)
		}
		w.write("", "")
		<-over
		if reloads != 1 || !strings.Contains(w.said.String(), "workflow_parse_error") || !strings.Contains(w.said.String(), "read again") {
			t.Errorf("%d reloads:\n%s", reloads, w.said.String())
		}
	})
}

func TestWhichFileIsRead(t *testing.T) {
	dir := t.TempDir()
	other := filepath.Join(dir, "other.md")
	for named, want := range map[string]string{"": "/w/WORKFLOW.md", "x.md": "/w/x.md", "../x.md": "/x.md", other: other, dir: filepath.Join(dir, "WORKFLOW.md")} {
		if got := Find("/w", named); got != want {
			t.Errorf("%q is %s, want %s", named, got, want)
		}
	}
	env := projecttest.New(t, "", "")
	_, _, err := Open(t.Context(), env, filepath.Join(env.Dir, "WORKFLOW.md"))
	var refused *refusal.Error
	if !errors.As(err, &refused) || !strings.Contains(refused.What, "missing_workflow_file") {
		t.Errorf("%v", err)
	}
}

// settled puts an issue on the board, and what became of it.
func (w *world) settled(i work.Issue, ended factory.Ended) work.Issue {
	w.t.Helper()
	ended, err := w.Settle(w.t.Context(), i, ended)
	if err != nil {
		w.t.Fatal(err)
	}
	claimed := i
	claimed.Column = work.ColumnInProgress
	now, _, ok := factory.Settled(claimed, ended, nil)
	if now.Column = i.Column; !ok {
		return i
	}
	change, err := w.Board.PlanEdit(w.t.Context(), i, now, factory.By{Name: "factory", Door: "factory"})
	if err == nil {
		_, err = w.Board.Journal.ChangeBoard(w.t.Context(), change)
	}
	if err != nil {
		w.t.Fatal(err)
	}
	i, err = w.Board.Journal.Issue(w.t.Context(), i.Project, i.ID)
	if err != nil {
		w.t.Fatal(err)
	}
	return i
}

func TestWhatFailedIsTriedAgainUntilItWasOftenEnough(t *testing.T) {
	w := newWorld(t, "forge: {max_attempts: 3}\n")
	i, err := w.Board.Add(t.Context(), work.Issue{Title: "t", Column: work.ColumnReady, Priority: work.PriorityNormal}, factory.Place{At: factory.Bottom}, factory.By{Name: "ann", Door: "cli"})
	if err != nil {
		t.Fatal(err)
	}
	for attempt := 1; attempt <= 3; attempt++ {
		ended, err := w.Settle(t.Context(), i, factory.Ended{Outcome: work.RunFailed, Reason: "the agent failed"})
		want := 10 * time.Second << (attempt - 1)
		if err != nil || ended.Retry == "" || ended.Until.Sub(w.Board.Checkout.Now()).Round(time.Second) != want {
			t.Fatalf("attempt %d: %+v, %v", attempt, ended, err)
		}
		i = w.settled(i, factory.Ended{Outcome: work.RunFailed, Reason: "the agent failed"})
		r, ok := symphony.ReadRetry(i.Reason)
		if !ok || r.Attempt != attempt || i.State != "" || r.Why != "the agent failed" {
			t.Fatalf("the card says %q, %s", i.Reason, i.State)
		}
		if again, err := w.Again(t.Context(), i); !again || err != nil {
			t.Errorf("it is not gone on with: %v", err)
		}
	}
	if i = w.settled(i, factory.Ended{Outcome: work.RunFailed, Reason: "the agent failed"}); i.State != work.IssueFailed || !strings.Contains(i.Reason, "3 times") {
		t.Errorf("the card says %q, %s", i.Reason, i.State)
	}
	if again, err := w.Again(t.Context(), i); again || err != nil {
		t.Errorf("%v, %v", again, err)
	}
	for _, ended := range []factory.Ended{{Outcome: work.RunCompleted}, {Outcome: work.RunFrozen}, {Outcome: work.RunFailed, Rejected: true}, {Outcome: work.RunCancelled}, {Outcome: work.RunLimit}} {
		if got, err := w.Settle(t.Context(), i, ended); err != nil || got.Retry != "" {
			t.Errorf("%+v became %+v, %v", ended, got, err)
		}
	}
}

func TestUsedUpTurnsGoOnSoon(t *testing.T) {
	w := newWorld(t, "")
	i, err := w.Board.Add(t.Context(), work.Issue{Title: "t", Column: work.ColumnReady, Priority: work.PriorityNormal}, factory.Place{At: factory.Bottom}, factory.By{Name: "ann", Door: "cli"})
	if err != nil {
		t.Fatal(err)
	}
	got, err := w.Settle(t.Context(), i, factory.Ended{Outcome: work.RunFailed, Reason: "its tries are used up", Exhausted: true})
	if r, ok := symphony.ReadRetry(got.Retry); err != nil || !ok || r.Attempt != 1 || got.Until.Sub(w.Board.Checkout.Now()) > 2*time.Second {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestTokensAreCountedOnce(t *testing.T) {
	n := func(v int64) *int64 { return &v }
	event := func(seq int64, kind work.EventKind, data any) work.Event {
		body, _ := json.Marshal(data)
		return work.Event{Seq: seq, Kind: kind, Iteration: int(seq), Time: time.Unix(seq*10, 0), Data: body}
	}
	var c counted
	events := []work.Event{
		event(1, work.RunStarted, nil), event(2, work.IterationStarted, nil),
		event(3, work.IterationFinished, work.IterationFinishedData{Session: "thread", Usage: work.Usage{InputTokens: n(10), OutputTokens: n(5)}, Total: work.Usage{InputTokens: n(10), OutputTokens: n(5)}}),
		event(4, work.IterationStarted, nil),
		event(5, work.IterationFinished, work.IterationFinishedData{Session: "thread", Usage: work.Usage{InputTokens: n(7)}, Total: work.Usage{InputTokens: n(17), OutputTokens: n(5)}}),
		event(6, work.RunFinished, nil),
	}
	for _, e := range slices.Concat(events, events, events[2:]) {
		c.count(e)
	}
	if c.tokens != (Tokens{17, 5, 22}) || c.turns != 2 || sessionOf(c) != "thread-4" || c.seconds != 50 {
		t.Errorf("%+v", c)
	}
}

func TestTheStateIsServedToThisMachineAlone(t *testing.T) {
	w := newWorld(t, "")
	s := httptest.NewServer(w.Handler())
	defer s.Close()
	ask := func(method, path, host, origin string) (int, string) {
		req, err := http.NewRequest(method, s.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if host != "" {
			req.Host = host
		}
		if origin != "" {
			req.Header.Set("Origin", origin)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, _ := io.ReadAll(resp.Body)
		return resp.StatusCode, string(body)
	}
	status, body := ask("GET", "/api/v1/state", "", "")
	for _, want := range []string{`"counts":{"running":0,"retrying":0}`, `"running":[]`, `"retrying":[]`, `"codex_totals":{"input_tokens":0,"output_tokens":0,"total_tokens":0,"seconds_running":0}`, `"rate_limits":null`, `"generated_at":`} {
		if status != http.StatusOK || !strings.Contains(body, want) {
			t.Errorf("%d %s lacks %s", status, body, want)
		}
	}
	for _, c := range []struct {
		method, path, host, origin string
		want                       int
		says                       string
	}{
		{"POST", "/api/v1/refresh", "", "", 202, `"operations":["poll","reconcile"]`},
		{"GET", "/api/v1/refresh", "", "", 405, "method_not_allowed"},
		{"DELETE", "/api/v1/state", "", "", 405, "method_not_allowed"},
		{"GET", "/api/v1/A-1", "", "", 404, "issue_not_found"},
		{"GET", "/", "", "", 200, "WORKFLOW.md: 0 running"},
		{"GET", "/api/v1/state", "evil.example", "", 403, "not_local"},
		{"POST", "/api/v1/refresh", "", "http://evil.example", 403, "not_local"},
	} {
		if status, body := ask(c.method, c.path, c.host, c.origin); status != c.want || !strings.Contains(body, c.says) {
			t.Errorf("%s %s: %d %s", c.method, c.path, status, body)
		}
	}
	w.Board.Close()
	if status, body := ask("GET", "/api/v1/state", "", ""); status != http.StatusServiceUnavailable || !strings.Contains(body, "unavailable") {
		t.Errorf("without a journal: %d %s", status, body)
	}
}
