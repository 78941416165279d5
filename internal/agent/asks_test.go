package agent

import (
	"fmt"
	"strings"
	"testing"

	"forge/internal/work"
)

// What Claude Code's model asks by the tool of its own is a question, as if it had
// been said; what a subagent asks is not, and neither is what only looks like it.
func TestClaudeAsksByItsOwnTool(t *testing.T) {
	t.Parallel()
	ask := func(parent, tool, questions string) string {
		return `{"type":"assistant","message":{"id":"m7","content":[{"type":"tool_use","id":"u7","name":"` + tool + `","input":{"questions":[` + questions + `]}}]},"parent_tool_use_id":` + parent + `}`
	}
	const blue = `{"question":"Which blue?","header":"Colour","options":[{"label":"cobalt","description":"dark"},{"label":"azure","description":"light"}],"multiSelect":false}`
	long := `{"question":"` + strings.Repeat("long ", 100) + `","header":"","options":[]}`
	for name, c := range map[string]struct {
		lines []string
		want  string
		wrong string
	}{
		"one":                  {[]string{ask("null", claudeAskTool, blue)}, "[{Which blue? [cobalt azure] Colour}]", ""},
		"told twice":           {[]string{ask("null", claudeAskTool, blue), ask("null", claudeAskTool, blue)}, "[{Which blue? [cobalt azure] Colour}]", ""},
		"two":                  {[]string{ask("null", claudeAskTool, blue+`,{"question":"Is hunter2hunter2 right?"}`)}, "[{Which blue? [cobalt azure] Colour} {Is [redacted] right? [] }]", ""},
		"a subagent's":         {[]string{ask(`"u1"`, claudeAskTool, blue)}, "[]", ""},
		"by another tool":      {[]string{ask("null", "Survey", blue)}, "[]", ""},
		"choices that are odd": {[]string{ask("null", claudeAskTool, `{"question":"Which?","header":"","options":[{"label":""},{"label":"a"}]}`)}, "[{Which? [] }]", ""},
		"too long":             {[]string{ask("null", claudeAskTool, long)}, "[]", "its text has more than"},
	} {
		r := readClaude(work.IterationRequest{}, exited(0), append(append([]string{lineInit}, c.lines...), strings.Replace(lineOK, "<promise>DONE</promise>", "", 1))...)
		if got := fmt.Sprint(r.Signals.Questions); got != c.want || len(r.Signals.Problems) > 0 != (c.wrong != "") || !strings.Contains(strings.Join(r.Signals.Problems, ""), c.wrong) {
			t.Errorf("%s: asked %s, problems %q", name, got, r.Signals.Problems)
		}
	}
}

// What codex's model asks by the tool of its own is a question too, and it is told
// to end its turn. A secret is not asked for: the answer would stand in the journal.
func TestCodexAsksByItsOwnTool(t *testing.T) {
	t.Parallel()
	ask := `echo '{"id":"a","method":"` + codexAsks + `","params":{"threadId":"T1","turnId":"t1","itemId":"i","isBlocking":true,"questions":[{"id":"q1","header":"Colour","question":"Which blue?","options":[{"label":"cobalt","description":""},{"label":"azure","description":""}]},{"id":"q2","header":"","question":"The password?","isSecret":true}]}}'; next` + "\n"
	r, _, told := servedBy(t, "opens\n"+ask+codexSaysDone+"over completed; next", nil)
	if got := fmt.Sprint(r.Signals.Questions); got != "[{Which blue? [cobalt azure] Colour}]" || r.Outcome != work.OutcomeOK || len(r.Denied) != 0 {
		t.Errorf("asked %s: %+v", got, r)
	}
	for _, want := range []string{`"q1":{"answers":["This question is written down`, `"q2":{"answers":["Secrets are not asked for here`} {
		if !strings.Contains(told, want) {
			t.Errorf("no answer %s:\n%s", want, told)
		}
	}
}
