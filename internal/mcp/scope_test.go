package mcp

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"forge/internal/token"
)

// target is what a call names.
type target struct{ project, run, phase string }

// argsOf are the ways in which each tool can name a target.
var argsOf = map[string]func(target) []map[string]any{
	"runs":     func(to target) []map[string]any { return []map[string]any{{}, {"after": to.run}} },
	"status":   inPhase(nil),
	"plan":     inPhase(nil),
	"why":      inPhase(map[string]any{"all": true}),
	"logs":     inPhase(map[string]any{"iteration": 1}),
	"findings": inPhase(nil),
	"search": func(to target) []map[string]any {
		return []map[string]any{{"words": "mark"}, {"words": "mark run:" + to.run + " phase:" + cmp.Or(to.phase, "1")}}
	},
	"diff":  inPhase(nil),
	"files": inPhase(nil),
	"file":  inPhase(map[string]any{"path": "a.go"}),
	"questions": func(to target) []map[string]any {
		return []map[string]any{{"run": to.run, "all": true}, {"all": true}, {"after": to.run}}
	},
	"question": func(to target) []map[string]any {
		return []map[string]any{{"id": to.run + ".q" + to.phase, "diff": true}}
	},
	"tell":   inPhase(map[string]any{"text": "use tabs"}),
	"rewind": inPhase(map[string]any{"iteration": 1}),
	"answer": func(to target) []map[string]any {
		return []map[string]any{{"id": to.run + ".q" + to.phase, "revision": 1, "answer": "approve"}}
	},
	"ask": func(to target) []map[string]any {
		return []map[string]any{{"text": "What of " + to.run + "?", "choices": []string{to.phase + "a"}}}
	},
	"issues":     func(target) []map[string]any { return []map[string]any{{}} },
	"issue":      func(target) []map[string]any { return []map[string]any{{"issue": 1}} },
	"issue_add":  func(target) []map[string]any { return []map[string]any{{"title": "more"}} },
	"issue_edit": func(target) []map[string]any { return []map[string]any{{"issue": 1, "version": 1, "title": "other"}} },
	"issue_move": func(target) []map[string]any { return []map[string]any{{"issue": 1, "column": "ready"}} },
	"job_start":  func(target) []map[string]any { return []map[string]any{{"description": "work"}} },
}

// inPhase names a run and phase in every way.
func inPhase(more map[string]any) func(target) []map[string]any {
	return func(to target) []map[string]any {
		var out []map[string]any
		ways := []map[string]any{{"run": to.run, "phase": to.phase}, {"phase": to.phase}}
		if to.phase == "" {
			ways = []map[string]any{{"run": to.run}, {}}
		}
		for _, args := range ways {
			maps.Copy(args, more)
			out = append(out, args)
		}
		return out
	}
}

var (
	marked   = regexp.MustCompile(`mark:([^/;]*)/([^/;]*)/([^/;]*);`)
	planMark = regexp.MustCompile(`plan:([^/;]*)/([^/;]*);`)
)

// leaks are what a text says of what the grant is not for.
func leaks(g token.Grant, project, text string) []string {
	var out []string
	for _, m := range marked.FindAllStringSubmatch(text, -1) {
		if m[1] != project || g.Run != "" && m[2] != g.Run || g.Phase != "" && m[3] != g.Phase {
			out = append(out, m[0])
		}
	}
	for _, m := range planMark.FindAllStringSubmatch(text, -1) {
		if m[1] != project || g.Run != "" && m[2] != g.Run {
			out = append(out, m[0])
		}
	}
	return out
}

// Every tool, with every scope, is tried against every run, job, phase and question
// of its own and of another project: nothing outside the scope is read or changed.
func TestNoToolLeavesItsScope(t *testing.T) {
	t.Parallel()
	var names []string
	for _, one := range tools() {
		if names = append(names, one.name); argsOf[one.name] == nil {
			t.Errorf("the tool %s is not in the table", one.name)
		}
	}
	calls, shown := 0, map[string]bool{}
	for scope, g := range map[string]token.Grant{
		"the project": {},
		"a run":       {Run: "a-r1"},
		"a job":       {Run: "a-j1"},
		"a phase":     {Run: "a-r1", Phase: "1"},
		"a job phase": {Run: "a-j1", Phase: "2"},
		theAgent:      {Run: "a-r1", Phase: "1"},
	} {
		// The highest tier that there is for the scope may do the most.
		if g.Tier = token.Answer; g.Phase != "" {
			g.Tier = token.Read
		}
		mine, p := newFake(t, "a")
		other, _ := newFake(t, "b")
		c := connect(t, p, g)
		if scope == theAgent {
			c = connectAgent(t, p, g)
		}
		for _, tool := range names {
			for f, runs := range map[*fake][]string{mine: mine.runs, other: {"b-r1"}} {
				for _, run := range runs {
					for _, phase := range []string{"", "1", "2"} {
						if tool == "plan" && phase != "" || f == other && phase == "2" {
							continue // no more than without
						}
						for _, args := range argsOf[tool](target{f.id, run, phase}) {
							calls++
							before := len(mine.changed)
							said, refused := c.ask(tool, args)
							if strings.Contains(said, "mark:") || len(mine.changed) > before {
								shown[scope+" "+tool] = true
							}
							for _, what := range append(mine.changed[before:], said, refused) {
								if found := leaks(g, "a", what); len(found) > 0 {
									t.Errorf("%s: %s %v reaches %s", scope, tool, args, found)
								}
							}
						}
					}
				}
			}
		}
		if n := len(mine.changed); g.Phase != "" && n > 0 {
			t.Errorf("%s changed something: %s", scope, mine.changed)
		}
		if asks := len(c.asked) > 0; asks != (scope == theAgent) {
			t.Errorf("%s can ask a person: %t", scope, asks)
		}
		if n := len(other.changed); n > 0 {
			t.Errorf("%s changed another project: %s", scope, other.changed)
		}
	}
	if calls < 1200 {
		t.Errorf("only %d calls were made", calls)
	}
	t.Logf("%d calls", calls)
	// The table is worth something only where there was something to be leaked.
	for _, tool := range names {
		if slices.Contains([]string{"runs", "issue_add", "issue_edit", "issue_move", "ask"}, tool) {
			continue // they say numbers alone, or nothing of a run
		}
		if !shown["the project "+tool] {
			t.Errorf("%s never showed or changed anything", tool)
		}
	}
	for _, tool := range []string{"status", "why", "logs", "findings", "search", "diff", "files", "file", "questions", "question"} {
		for _, scope := range []string{"a phase", theAgent} {
			if !shown[scope+" "+tool] {
				t.Errorf("%s shows %s nothing of its own phase", tool, scope)
			}
		}
	}
}

// Nothing is done that takes a higher tier, whatever a client asks for.
func TestNoToolLeavesItsTier(t *testing.T) {
	t.Parallel()
	schemas := sdk.NewSchemaCache()
	for _, scope := range []string{"", "a-r1"} {
		for tier := token.Read; tier <= token.Answer; tier++ {
			f, p := newFake(t, "a")
			c := connect(t, p, token.Grant{Run: scope, Tier: tier}, func(c *Config) { c.schemas = schemas })
			for _, one := range tools() {
				said, _ := c.ask(one.name, argsOf[one.name](target{"a", "a-r1", "1"})[0])
				if may := tier >= one.tier && (scope == "" || !one.whole) && !one.asks; (said != "") != may {
					t.Errorf("run %q, tier %s: %s says %q", scope, tier, one.name, said)
				}
				if tier < token.Comment && len(f.changed) > 0 {
					t.Errorf("tier %s: %s changes %s", tier, one.name, f.changed)
				}
			}
		}
	}
}

// A client is told of the tools that its token allows, and of no others.
func TestToolsByScopeAndTier(t *testing.T) {
	t.Parallel()
	look := []string{"diff", "file", "files", "findings", "logs", "plan", "question", "questions", "runs", "search", "status", "why"}
	for _, one := range []struct {
		grant token.Grant
		want  []string
	}{
		{token.Grant{Tier: token.Read}, append([]string{"issue", "issues"}, look...)},
		{token.Grant{Run: "a-r1", Tier: token.Read}, look},
		{token.Grant{Run: "a-r1", Phase: "1", Tier: token.Read}, look},
		{token.Grant{Run: "a-r1", Tier: token.Answer}, append([]string{"tell", "rewind", "answer"}, look...)},
		{token.Grant{Tier: token.Act}, append([]string{"issue", "issues", "issue_add", "issue_edit", "issue_move", "job_start", "tell", "rewind"}, look...)},
	} {
		_, p := newFake(t, "a")
		c := connect(t, p, one.grant)
		var got []string
		for tool, err := range c.Tools(t.Context(), nil) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, tool.Name)
		}
		slices.Sort(got)
		slices.Sort(one.want)
		if !slices.Equal(got, one.want) {
			t.Errorf("%+v: tools %v, want %v", one.grant, got, one.want)
		}
	}
}

// Resources are within the scope as well, also those that are subscribed to.
func TestResourcesStayInTheirScope(t *testing.T) {
	t.Parallel()
	for _, g := range []token.Grant{{}, {Run: "a-r1"}, {Run: "a-r1", Phase: "1"}} {
		g.Tier = token.Read
		_, p := newFake(t, "a")
		c := connect(t, p, g)
		own := 0
		for _, run := range []string{"a-r1", "a-r2", "a-j1", "b-r1"} {
			for _, phase := range phases {
				addresses := []string{"forge://runs/" + run + "/phases/" + phase + "/files/a.go"}
				if phase == "1" {
					addresses = append(addresses, "forge://runs/"+run+"/events")
				}
				for _, address := range addresses {
					out, err := c.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: address})
					said := fmt.Sprint(err)
					if err == nil {
						said = out.Contents[0].Text
					}
					if found := leaks(g, "a", said); len(found) > 0 {
						t.Errorf("%+v: %s tells %s", g, address, found)
					}
					if err == nil && strings.Contains(said, "mark:") {
						own++
					}
					foreign := !strings.HasPrefix(run, "a-") || g.Run != "" && run != g.Run || g.Phase != "" && strings.Contains(address, "/phases/") && phase != g.Phase
					if c.follow(address) == foreign {
						t.Errorf("%+v: follows %s: %t", g, address, !foreign)
					}
				}
			}
		}
		if own == 0 {
			t.Errorf("%+v reads nothing of its own", g)
		}
	}
}

// What a token no longer allows is refused in the middle of a session.
func TestATokenThatEndsMidSession(t *testing.T) {
	t.Parallel()
	still := true
	_, p := newFake(t, "a")
	c := connect(t, p, token.Grant{Tier: token.Read}, func(c *Config) { c.Still = func() bool { return still } })
	if _, refused := c.ask("status", nil); refused != "" {
		t.Fatal(refused)
	}
	still = false
	said, refused := c.ask("status", nil)
	if said != "" || !strings.Contains(refused, "expired or was revoked") {
		t.Errorf("a revoked token reads %q, refused %q", said, refused)
	}
	if last := c.records[len(c.records)-1]; last.Refused == "" || last.Tool != "status" {
		t.Errorf("the refusal is recorded as %+v", last)
	}
}

// Every call is on record: who, through what, for what, and that it was refused.
func TestEveryCallIsRecorded(t *testing.T) {
	t.Parallel()
	_, p := newFake(t, "a")
	c := connect(t, p, token.Grant{ID: "t1", Run: "a-r1", Tier: token.Comment})
	c.ask("tell", map[string]any{"phase": "1", "text": "use tabs"})
	c.ask("status", map[string]any{"run": "a-r2"})
	if _, err := c.ReadResource(context.Background(), &sdk.ReadResourceParams{URI: "forge://runs/a-r1/events"}); err != nil {
		t.Fatal(err)
	}
	want := []Call{
		{Tool: "tell", About: "phase=1"},
		{Tool: "status", About: "run=a-r2", Refused: "there is no run a-r2 here (the tool runs lists those that you may see)"},
		{Tool: "resources/read", About: "run=a-r1 run=a-r1"},
	}
	for i := range want {
		want[i].At, want[i].Token, want[i].Who, want[i].Tier, want[i].Door, want[i].Project = noon, "t1", "editor for olga", token.Comment, "mcp", "/a"
	}
	if !slices.Equal(c.records, want) {
		t.Errorf("recorded:\n%+v\nwant\n%+v", c.records, want)
	}
}

// What cannot be recorded is not shown.
func TestWithoutARecordNothingIsShown(t *testing.T) {
	t.Parallel()
	_, p := newFake(t, "a")
	c := connect(t, p, token.Grant{Tier: token.Read}, func(c *Config) { c.Record = func(Call) error { return fmt.Errorf("disk full") } })
	if said, refused := c.ask("status", nil); said != "" || !strings.Contains(refused, "its log says why") {
		t.Errorf("said %q, refused %q", said, refused)
	}
}
