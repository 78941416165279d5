package symphony

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// around are surroundings with these variables.
func around(variables map[string]string) Surroundings {
	return Surroundings{Getenv: func(name string) string { return variables[name] }, Home: "/home/me", Dir: "/src/project", Temp: "/tmp"}
}

// least is a front matter that says no more than has to be said.
const least = "tracker:\n  kind: linear\n  api_key: key\n  project_slug: slug\n"

func parse(t *testing.T, front, body string, variables map[string]string) *Workflow {
	t.Helper()
	w, err := Parse("WORKFLOW.md", "---\n"+front+"---\n"+body, around(variables))
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func problems(t *testing.T, text string) []Problem {
	t.Helper()
	_, err := Parse("WORKFLOW.md", text, around(nil))
	var all *Error
	if !errors.As(err, &all) {
		t.Fatalf("%q: %v", text, err)
	}
	return all.Problems
}

func TestFrontMatterAndBody(t *testing.T) {
	w := parse(t, least, "\n\n  Work on {{ issue.identifier }}.\n\n", nil)
	if w.Prompt != "Work on {{ issue.identifier }}." {
		t.Errorf("the body is %q", w.Prompt)
	}
	// Without front matter all of it is body: what is missing then is said.
	all := problems(t, "just a prompt\n")
	var classes []Class
	for _, p := range all {
		classes = append(classes, p.Class)
	}
	if !slices.Equal(classes, []Class{UnknownTracker, MissingKey, MissingSlug}) {
		t.Errorf("a file without front matter: %v", all)
	}
	for _, ends := range []string{"\r\n", "\n"} {
		text := strings.ReplaceAll("---\n"+least+"---\nbody\n", "\n", ends)
		if w, err := Parse("W", "\uFEFF"+text, around(nil)); err != nil || w.Prompt != "body" || w.Settings.Tracker.Slug != "slug" {
			t.Errorf("with %q: %v", ends, err)
		}
	}
}

func TestAMissingFileIsATypedError(t *testing.T) {
	err := Missing("WORKFLOW.md", os.ErrNotExist)
	if ClassOf(err) != MissingFile || !strings.HasPrefix(err.Error(), "WORKFLOW.md: missing_workflow_file: ") {
		t.Errorf("%v", err)
	}
}

func TestBrokenYAMLIsATypedError(t *testing.T) {
	p := problems(t, "---\ntracker:\n  kind: linear\n  api_key: [\n---\nbody\n")
	if p[0].Class != ParseError || p[0].Line < 3 || p[0].Line > 5 {
		t.Errorf("%+v", p)
	}
	if p := problems(t, "---\ntracker: 1\n"); p[0].Class != ParseError || p[0].Line != 1 {
		t.Errorf("front matter without an end: %+v", p)
	}
	if p := problems(t, "---\npolling: {}\npolling: {}\n"+least+"---\n"); p[0].Class != ParseError || p[0].Line != 3 {
		t.Errorf("a key that stands twice: %+v", p)
	}
}

func TestFrontMatterThatIsNoMapIsATypedError(t *testing.T) {
	for _, front := range []string{"- a\n- b\n", "words\n", "3\n"} {
		if p := problems(t, "---\n"+front+"---\n"); p[0].Class != NotAMap || p[0].Line != 2 {
			t.Errorf("%q: %+v", front, p)
		}
	}
}

func TestDefaults(t *testing.T) {
	got := parse(t, least, "", nil).Settings
	want := Settings{
		Tracker: Tracker{Kind: "linear", Endpoint: "https://api.linear.app/graphql", APIKey: "key", Slug: "slug",
			Active: []string{"Todo", "In Progress"}, Terminal: []string{"Closed", "Cancelled", "Canceled", "Duplicate", "Done"}},
		Poll: 30 * time.Second, Root: "/tmp/symphony_workspaces", Hooks: Hooks{Timeout: time.Minute}, MaxAgents: 10, ByState: map[string]int{},
		MaxTurns: 20, MaxBackoff: 5 * time.Minute, Codex: Codex{Command: "codex app-server", TurnTimeout: time.Hour, ReadTimeout: 5 * time.Second, Stall: 5 * time.Minute},
		Port: -1, MaxAttempts: 10,
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestEachSettingIsRead(t *testing.T) {
	w := parse(t, `tracker: {kind: linear, endpoint: "http://127.0.0.1:1/graphql", api_key: k, project_slug: s, active_states: "Todo, Rework ,", terminal_states: [Done], required_labels: [Agent]}
polling: {interval_ms: "5000"}
workspace: {root: ws}
hooks: {after_create: "a\nb", before_run: b, after_run: c, before_remove: d, timeout_ms: 1500}
agent: {max_concurrent_agents: "3", max_turns: 7, max_retry_backoff_ms: 60000}
codex: {command: codex app-server, model: m, turn_timeout_ms: 1000, read_timeout_ms: 2000, stall_timeout_ms: 0}
server: {port: 0}
forge: {max_attempts: 0, states: {working: W, reviewing: R, done: D}}
`, "", nil)
	want := Settings{
		Tracker: Tracker{Kind: "linear", Endpoint: "http://127.0.0.1:1/graphql", APIKey: "k", Slug: "s", Active: []string{"Todo", "Rework"}, Terminal: []string{"Done"}, Labels: []string{"Agent"}},
		Poll:    5 * time.Second, Root: "/src/project/ws", Hooks: Hooks{"a\nb", "b", "c", "d", 1500 * time.Millisecond}, MaxAgents: 3, ByState: map[string]int{},
		MaxTurns: 7, MaxBackoff: time.Minute, Codex: Codex{Command: "codex app-server", Model: "m", TurnTimeout: time.Second, ReadTimeout: 2 * time.Second, ReadNamed: true},
		Port: 0, States: StageNames{"W", "R", "D"},
	}
	if !reflect.DeepEqual(w.Settings, want) {
		t.Errorf("got  %+v\nwant %+v", w.Settings, want)
	}
}

func TestAHookTimeoutThatIsNoneIsTheDefault(t *testing.T) {
	for _, n := range []string{"0", "-5"} {
		w := parse(t, least+"hooks:\n  timeout_ms: "+n+"\n", "", nil)
		if w.Settings.Hooks.Timeout != time.Minute || len(w.Notes) != 1 || w.Notes[0].Line != 7 {
			t.Errorf("%s: %v, %+v", n, w.Settings.Hooks.Timeout, w.Notes)
		}
	}
}

func TestTheKindOfTrackerIsHeld(t *testing.T) {
	p := problems(t, "---\ntracker:\n  kind: trello\n  api_key: k\n  project_slug: s\n---\n")
	if len(p) != 1 || p[0].Class != UnknownTracker || p[0].Line != 2 {
		t.Errorf("%+v", p)
	}
}

func TestVariablesOfTheKeyAndOfPaths(t *testing.T) {
	front := "tracker:\n  kind: linear\n  api_key: $MY_KEY\n  project_slug: s\nworkspace:\n  root: $WHERE/ws\n"
	w := parse(t, front, "", map[string]string{"MY_KEY": "secret", "WHERE": "/data"})
	if s := w.Settings; s.Tracker.APIKey != "secret" || s.Tracker.KeyName != "MY_KEY" || s.Root != "/data/ws" {
		t.Errorf("%+v", s)
	}
	// What a variable stands for that is empty is missing, and its value is never said.
	_, err := Parse("W", "---\n"+front+"---\n", around(map[string]string{"WHERE": "/data"}))
	if ClassOf(err) != MissingKey || !strings.Contains(err.Error(), "set MY_KEY") {
		t.Errorf("%v", err)
	}
	_, err = Parse("W", "---\n"+front+"---\n", around(map[string]string{"MY_KEY": "secret"}))
	if err == nil || !strings.Contains(err.Error(), "set WHERE") || strings.Contains(err.Error(), "secret") {
		t.Errorf("%v", err)
	}
	// Without a word of a key it is that of the tracker's own variable.
	w = parse(t, "tracker: {kind: linear, project_slug: s}\n", "", map[string]string{"LINEAR_API_KEY": "own"})
	if w.Settings.Tracker.APIKey != "own" || w.Settings.Tracker.KeyName != "LINEAR_API_KEY" {
		t.Errorf("%+v", w.Settings.Tracker)
	}
}

func TestPathsAreExpanded(t *testing.T) {
	for root, want := range map[string]string{
		"~/ws": "/home/me/ws", "~": "/home/me", "/a/../b/": "/b", "ws": "/src/project/ws", "./x": "/src/project/x", "${WHERE}": "/data", "a~b": "/src/project/a~b",
	} {
		w := parse(t, least+"workspace:\n  root: \""+root+"\"\n", "", map[string]string{"WHERE": "/data"})
		if w.Settings.Root != want {
			t.Errorf("%s is %s, want %s", root, w.Settings.Root, want)
		}
	}
	if p := problems(t, "---\n"+least+"workspace:\n  root: /\n---\n"); p[0].Class != InvalidSetting {
		t.Errorf("%+v", p)
	}
}

func TestTheCommandStaysAsItStands(t *testing.T) {
	command := `codex --config 'x="y"' app-server proxy --sock "${CODEX_HOME:-$HOME/.codex}/s.sock"`
	w := parse(t, least+"codex:\n  command: "+command+"\n", "", map[string]string{"CODEX_HOME": "/never"})
	if w.Settings.Codex.Command != command {
		t.Errorf("the command is %q", w.Settings.Codex.Command)
	}
	words := w.Settings.Codex.Words()
	if len(words) != 4 || words[0] != "bash" || words[1] != "-lc" || !strings.Contains(words[2].(string), "\n"+command+"\n") {
		t.Errorf("it is started as %q", words)
	}
	for command, want := range map[string][]any{
		"codex app-server":                   nil,
		"/opt/codex app-server":              {"/opt/codex"},
		"codex --config 'a b' app-server":    {"codex", "--config", "a b"},
		`my "codex" --x="a b"   app-server `: {"my", "codex", "--x=a b"},
	} {
		if got := (Codex{Command: command}).Words(); !reflect.DeepEqual(got, want) {
			t.Errorf("%s is started as %q, want %q", command, got, want)
		}
	}
	for _, command := range []string{"A=1 codex app-server", "cd x && codex app-server", "codex app-server | tee log", "wrapper", "codex app-server $X"} {
		if got := (Codex{Command: command}).Words(); len(got) != 4 || got[0] != "bash" || !strings.Contains(got[2].(string), command) {
			t.Errorf("%s is started as %q", command, got)
		}
	}
}

func TestLimitsByState(t *testing.T) {
	w := parse(t, least+"agent:\n  max_concurrent_agents_by_state:\n    ' In Progress ': 2\n    Todo: '3'\n    Bad: 0\n    Worse: many\n", "", nil)
	if want := map[string]int{"in progress": 2, "todo": 3}; !reflect.DeepEqual(w.Settings.ByState, want) {
		t.Errorf("%v, want %v", w.Settings.ByState, want)
	}
	if len(w.Notes) != 2 {
		t.Errorf("what is no limit is not said: %+v", w.Notes)
	}
}

func TestUnknownKeysAreLetPassAndSaid(t *testing.T) {
	w := parse(t, least+"future: {a: 1}\ncodex:\n  service_tier: fast\n  approval_policy: never\n", "", nil)
	var said []string
	for _, n := range w.Notes {
		said = append(said, n.In("W"))
	}
	if len(said) != 3 || !strings.HasPrefix(said[0], "W:6: unknown_setting: ") || !strings.Contains(strings.Join(said, "\n"), "stricter_setting: codex.approval_policy") {
		t.Errorf("%q", said)
	}
}

func TestAllProblemsAreNamedAtOnce(t *testing.T) {
	_, err := Parse("WORKFLOW.md", "---\ntracker:\n  kind: trello\npolling:\n  interval_ms: soon\nagent:\n  max_turns: 0\n---\n\n{{ issue.title\n", around(nil))
	want := []string{"WORKFLOW.md:2: unsupported", "WORKFLOW.md:5: ", "WORKFLOW.md:7: ", "WORKFLOW.md:2: missing_tracker_api_key", "WORKFLOW.md:2: missing_tracker_project_slug", "WORKFLOW.md:10: template_parse_error"}
	for _, w := range want {
		if err == nil || !strings.Contains(err.Error(), w) {
			t.Errorf("%v\nlacks %s", err, w)
		}
	}
}

func TestNoStateIsActiveAndOver(t *testing.T) {
	p := problems(t, "---\n"+least+"  active_states: [Todo, done]\n---\n")
	if len(p) != 1 || p[0].Class != InvalidSetting {
		t.Errorf("%+v", p)
	}
}

func TestTheBlockForge(t *testing.T) {
	w := parse(t, least+`codex:
  model: m
forge:
  max_attempts: 2
  verify:
    commands: ["go test ./..."]
    timeout_secs: 60
  cost: {run_usd: 2.5, day_usd: 10}
  factory:
    plan: draft
    max_running: 1
  phases:
    overrides:
      "db-*": {budget: 3}
  reviews:
    specialists:
      - {type: security, gate: true}
`, "", nil)
	lines := strings.Split(w.TOML(), "\n")
	for line, want := range map[int]string{
		11: `"verify"."commands" = ["go test ./..."]`, 12: `"verify"."timeout_secs" = 60`, 13: `"cost"."run_usd" = 2.5`,
		16: `"factory"."max_running" = 1`, 19: `"phases"."overrides"."db-*"."budget" = 3`, 21: `"reviews"."specialists" = [{"gate" = true, "type" = "security"}]`,
	} {
		if lines[line-1] != want {
			t.Errorf("line %d is %q, want %q", line, lines[line-1], want)
		}
	}
	all := w.TOML()
	for _, want := range []string{`"factory"."plan" = "single"`, `"defaults"."budget" = 20`, `"limits"."idle_secs" = 300`, `"limits"."iteration_secs" = 3600`, `"agent"."use" = "codex"`, `"agents"."codex"."model" = "m"`} {
		if strings.Count(all, want+"\n") != 1 {
			t.Errorf("%s\nlacks %s", all, want)
		}
	}
	for _, not := range []string{"draft", "max_attempts", "start_secs", `"max_running" = 10`} {
		if strings.Contains(all, not) {
			t.Errorf("%s\nhas %s", all, not)
		}
	}
	// What a file does not name about proof is not said to the configuration.
	if plain := parse(t, least, "", nil).TOML(); strings.Contains(plain, "verify") || strings.Contains(plain, "proof") || strings.Contains(plain, "reviews") || strings.Contains(plain, "sandbox") {
		t.Errorf("a file without the block says %s", plain)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("---\n" + least + "---\n{% if attempt %}{{ attempt }}{% endif %}{{ issue.labels | join: ', ' }}")
	f.Add("---\na: &a [*a]\n---\n")
	f.Add("---\nforge: {a: {b: [1, {c: 2020-01-01}]}}\n" + least + "---\n")
	f.Add("---\n---\n{%")
	f.Fuzz(func(t *testing.T, text string) {
		w, err := Parse("W", text, around(map[string]string{"LINEAR_API_KEY": "k"}))
		if (w == nil) == (err == nil) {
			t.Fatalf("%v and %v", w, err)
		}
		if err != nil {
			if ClassOf(err) == "" {
				t.Fatalf("%v has no class", err)
			}
			return
		}
		_ = w.TOML()
		s := w.Settings
		if s.Poll <= 0 || s.MaxAgents < 1 || s.MaxTurns < 1 || s.Hooks.Timeout <= 0 || !filepath.IsAbs(s.Root) || s.Tracker.APIKey == "" || strings.TrimSpace(s.Codex.Command) == "" {
			t.Fatalf("%+v", s)
		}
		if out, err := w.Render(Issue{ID: "i", Identifier: "A-1", Title: "t", State: "Todo"}, 0); err == nil && len(out) > 2*maxRendered+len(text) {
			t.Fatalf("%d bytes", len(out))
		}
	})
}
