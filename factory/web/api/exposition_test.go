package api

import (
	"strings"
	"testing"
)

func TestFiguresForPrometheus(t *testing.T) {
	f := figures{}
	f.tell("forge_issues", 2, "column", "ready", "project", `a "b" \c`+"\n\xff")
	f.tell("forge_project_up", 1, "project", "p")
	f.tell("forge_issues", 1e9, "column", "done", "project", "p")
	f.tell("forge_event_streams", 0.5)
	var b strings.Builder
	f.write(&b)
	const want = `# HELP forge_issues Issues on the board, by column.
# TYPE forge_issues gauge
forge_issues{column="done",project="p"} 1e+09
forge_issues{column="ready",project="a \"b\" \\c\n` + "\uFFFD" + `"} 2
# HELP forge_event_streams Open event streams of the API.
# TYPE forge_event_streams gauge
forge_event_streams 0.5
# HELP forge_project_up Whether the project's journal could be read.
# TYPE forge_project_up gauge
forge_project_up{project="p"} 1
`
	if got := b.String(); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}
