package mcp

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"forge/factory/web"
	"forge/internal/text"
	"forge/internal/text/texttest"
	"forge/internal/token"
	"forge/internal/work"
	"forge/orchestrator"
)

var nextOffset = regexp.MustCompile(`There is more: offset=(\d+)`)

// A long file comes in pages that are bounded, and together are the file.
func TestLongAnswersComeInPages(t *testing.T) {
	t.Parallel()
	f, p := newFake(t, "a")
	var b strings.Builder
	for n := range 9000 {
		fmt.Fprintf(&b, "line %d of ünïcode\n", n)
	}
	whole := b.String()
	f.files["to-a-r1-1:long.txt"] = whole
	c := connect(t, p, token.Grant{Tier: token.Read})
	got := ""
	pages := 0
	for offset := 0; ; pages++ {
		said, refused := c.ask("file", map[string]any{"run": "a-r1", "phase": "1", "path": "long.txt", "offset": offset})
		if refused != "" || len(said) > mostBytes+1024 {
			t.Fatalf("page from %d: %d bytes, refused %q", offset, len(said), refused)
		}
		data := inside(t, said)
		got += data
		m := nextOffset.FindStringSubmatch(said)
		if m == nil {
			break
		}
		got += "\n" // a page ends with a line, and a fence does not show its last line end
		offset, _ = strconv.Atoi(m[1])
	}
	if got+"\n" != whole || pages < 5 {
		t.Errorf("%d pages hold %d bytes of %d", pages, len(got), len(whole))
	}
	for _, offset := range []int{-5, len(whole) * 2} {
		if said, refused := c.ask("file", map[string]any{"run": "a-r1", "phase": "1", "path": "long.txt", "offset": offset}); refused != "" || len(said) > mostBytes+1024 {
			t.Errorf("offset %d: %d bytes, refused %q", offset, len(said), refused)
		}
	}
}

// Whatever others wrote stands between fences, with what nobody sees spelled out.
func TestWordsFromOutsideAreFenced(t *testing.T) {
	t.Parallel()
	for _, hostile := range texttest.Prompts() {
		f, p := newFake(t, "a")
		f.said["a-r11"] = []work.Turn{{Kind: work.TurnSaid, Text: hostile}}
		f.files["to-a-r1-1:a.go"] = hostile
		f.points["a-r1.q1"] = work.Checkpoint{ID: "a-r1.q1", Run: "a-r1", Phase: "1", Question: hostile, Status: work.CheckpointPending}
		c := connect(t, p, token.Grant{Run: "a-r1", Tier: token.Read})
		for tool, args := range map[string]map[string]any{
			"logs": {"phase": "1"}, "file": {"phase": "1", "path": "a.go"}, "questions": {}, "question": {"id": "a-r1.q1"},
		} {
			if tool == "file" && strings.Contains(hostile, "\x00") {
				continue // no text
			}
			said, refused := c.ask(tool, args)
			if refused != "" {
				t.Errorf("%s: %s", tool, refused)
			}
			texttest.Fenced(t, said)
		}
	}
}

// What is wrong is a tool's error with the way out, and Forge's own trouble is not
// told.
func TestErrorsNameTheWayOut(t *testing.T) {
	t.Parallel()
	_, p := newFake(t, "a")
	c := connect(t, p, token.Grant{Tier: token.Answer})
	for _, one := range []struct {
		tool string
		args map[string]any
		want string
	}{
		{"status", map[string]any{"run": "nope"}, "there is no run nope here (the tool runs lists those that you may see)"},
		{"logs", map[string]any{"phase": "3"}, "has no phase 3 (the tool plan names the phases)"},
		{"diff", map[string]any{"iteration": 2}, "an iteration is one of a phase (name its phase)"},
		{"file", map[string]any{"phase": "1", "path": "../../etc/passwd"}, "(the tool files lists them)"},
		{"question", map[string]any{"id": "nope"}, "(the tool questions lists what waits)"},
		{"answer", map[string]any{"id": "a-r1.q1", "revision": 1, "answer": "yes"}, "(approve, request_changes or reject)"},
		{"answer", map[string]any{"id": "a-r1.q1", "revision": 7, "answer": "approve"}, "Look again at what is asked now"},
		{"answer", map[string]any{"id": "a-r1.q1", "revision": 1, "answer": "request_changes"}, "Say it in comment"},
		{"issue", map[string]any{"issue": 99}, "There is no such issue."},
		{"issue_add", map[string]any{"title": ""}, "title"},
		{"issue_edit", map[string]any{"issue": 1, "version": 9, "title": "x"}, "Read the issue again"},
		{"issue_edit", map[string]any{"issue": 1, "version": 0}, "name the version"},
		{"job_start", map[string]any{"description": "x", "expert": "wizard"}, "wizard is no expert (the project has coder)"},
		{"status", map[string]any{"ruin": "x"}, "ruin"},
	} {
		if said, refused := c.ask(one.tool, one.args); said != "" || !strings.Contains(refused, one.want) {
			t.Errorf("%s %v: said %q, refused %q, want %q", one.tool, one.args, said, refused, one.want)
		}
	}

	p.Runs = brokenRuns{p.Runs}
	c = connect(t, p, token.Grant{Tier: token.Read})
	for _, run := range []string{"breaks", "panics"} {
		if said, refused := c.ask("status", map[string]any{"run": run}); said != "" || refused != errOwn.Error() {
			t.Errorf("a run that %s: said %q, refused %q", run, said, refused)
		}
	}
}

// A person hears who answered, through what, and the second answer is refused.
func TestAnAnswerIsGivenOnceInTheNameOfTheToken(t *testing.T) {
	t.Parallel()
	f, p := newFake(t, "a")
	c := connect(t, p, token.Grant{Run: "a-r1", Tier: token.Answer})
	args := map[string]any{"id": "a-r1.q1", "revision": 1, "answer": "approve", "comment": "good"}
	if said, refused := c.ask("answer", args); !strings.Contains(said, "a-r1.q1 is approved") {
		t.Fatalf("said %q, refused %q", said, refused)
	}
	if said, refused := c.ask("answer", args); said != "" || !strings.Contains(refused, "The first answer counts") {
		t.Errorf("answered twice: %q, %q", said, refused)
	}
	if len(f.changed) != 1 || !strings.HasSuffix(f.changed[0], "answered by editor for olga through mcp") {
		t.Errorf("changed: %v", f.changed)
	}
}

// Who follows a resource hears when it is another one, and not otherwise.
func TestFollowersHearOfChanges(t *testing.T) {
	t.Parallel()
	f, p := newFake(t, "a")
	c := connect(t, p, token.Grant{Tier: token.Read})
	file := "forge://runs/a-r1/phases/1/files/a.go"
	other := "forge://runs/a-r1/phases/2/files/a.go"
	for _, address := range []string{file, other} {
		if !c.follow(address) {
			t.Fatalf("%s is not followed", address)
		}
	}
	f.mu.Lock()
	f.last["a-r11"], f.version = "to-a-r1-1-again", 1
	f.mu.Unlock()
	select {
	case got := <-c.updated:
		if got != file {
			t.Errorf("heard of %s", got)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("nobody heard of the change")
	}
	select {
	case got := <-c.updated:
		t.Errorf("heard of %s, which is as it was", got)
	case <-time.After(50 * time.Millisecond):
	}
}

// Who looks for followers ends with the last of them, and with the server.
func TestNobodyLooksWhereNobodyFollows(t *testing.T) {
	t.Parallel()
	_, p := newFake(t, "a")
	c := connect(t, p, token.Grant{Tier: token.Read})
	if !c.follow("forge://runs/a-r1/events") {
		t.Fatal("not followed")
	}
	if err := c.Unsubscribe(t.Context(), &sdk.UnsubscribeParams{URI: "forge://runs/a-r1/events"}); err != nil {
		t.Fatal(err)
	}
	c.server.all.Wait() // it ends by itself
	if !c.follow("forge://runs/a-r1/events") {
		t.Fatal("not followed again")
	}
	c.server.Close()
}

// brokenRuns has trouble of its own.
type brokenRuns struct{ anyRuns }

func (b brokenRuns) Run(ctx context.Context, id string) (web.Run, error) {
	if id == "panics" {
		panic("a secret")
	}
	return web.Run{}, errors.New("open /home/olga/.forge: a secret")
}

// inside is what stands in the one fence of an answer.
func inside(t *testing.T, said string) string {
	t.Helper()
	_, rest, began := strings.Cut(said, "\n~~~data-")
	_, rest, _ = strings.Cut(rest, "\n")
	data, _, ended := strings.Cut(rest, "\n~~~end-")
	if !began || !ended {
		t.Fatalf("nothing is fenced: %q", text.Clip(said, 200))
	}
	return data
}

// Of a run of several repositories each is told, or the one that is named.
func TestLandedInSeveralRepositories(t *testing.T) {
	st, err := orchestrator.NewState("r1", orchestrator.Spec{
		Plan:         work.Plan{Phases: []work.Phase{{Number: "01", Name: "a", Promise: "A", Repository: "lib"}, {Number: "02", Name: "b", Promise: "B"}}},
		Repositories: []work.Repository{{Name: "lib", Base: work.Base{Commit: "lib0"}}}, Base: work.Base{Commit: "home0"},
		Settings: work.Settings{Phases: map[string]work.PhaseSettings{"01": {Budget: 1}, "02": {Budget: 1}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	st.Head, st.Beside = "home0", map[string]string{"lib": "lib1"}
	for name, want := range map[string]int{"": 1, "lib": 1, "home": 0, "nope": -1} {
		spans, err := landed(st, name)
		if got := len(spans); err != nil && want >= 0 || err == nil && got != want {
			t.Errorf("%q: %+v, %v", name, spans, err)
		}
		if want == 1 && (spans[0].From != "lib0" || spans[0].To != "lib1") {
			t.Errorf("%q: %+v", name, spans)
		}
	}
	var one orchestrator.State
	if spans, err := landed(&one, ""); err != nil || len(spans) != 0 {
		t.Errorf("of one repository: %+v, %v", spans, err)
	}
	if _, err := landed(&one, "lib"); err == nil {
		t.Error("a repository that it does not have is not refused")
	}
}
