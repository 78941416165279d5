package api

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// family is a name of /metrics, with its kind and what it means.
type family struct{ name, kind, help string }

// families are the names that are told, in the order in which they are. The figures
// of the process itself come after them.
func families() []family {
	return []family{
		{"forge_issues", "gauge", "Issues on the board, by column."},
		{"forge_issues_running", "gauge", "Issues that are worked on now."},
		{"forge_floor_serving", "gauge", "Whether some process works on the board."},
		{"forge_floor_paused", "gauge", "Whether nothing new is claimed."},
		{"forge_checkpoints_pending", "gauge", "Checkpoints that wait for a person, counted up to 500."},
		{"forge_runs", "gauge", "Runs and jobs, by how they stand."},
		{"forge_cost_usd", "gauge", "Money that runs and jobs are known to have cost."},
		{"forge_runs_cost_unknown", "gauge", "Runs and jobs of which the cost, or a part of it, is not known."},
		{"forge_event_streams", "gauge", "Open event streams of the API."},
		{"forge_host_webhooks_total", "counter", "Webhooks of code hosts since the server began, by what became of them."},
		{"forge_calls_total", "counter", "Calls by name on trackers and pull requests since the server began, by their end."},
		{"forge_project_up", "gauge", "Whether the project's journal could be read."},
	}
}

// figures are what was read, by the names of their families: labels and values as
// lines of Prometheus' text format, which wants those of a family in one place.
type figures map[string][]string

// tell adds a figure; labels are names, in their order, each with its value.
func (f figures) tell(name string, value float64, labels ...string) {
	quoted := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)
	var said []string
	for pair := range slices.Chunk(labels, 2) {
		said = append(said, pair[0]+`="`+quoted.Replace(strings.ToValidUTF8(pair[1], "\uFFFD"))+`"`)
	}
	line := name
	if len(said) > 0 {
		line += "{" + strings.Join(said, ",") + "}"
	}
	f[name] = append(f[name], line+" "+strconv.FormatFloat(value, 'g', -1, 64))
}

// write says them all. Whoever does not listen any more is not told of it.
func (f figures) write(w io.Writer) {
	for _, one := range families() {
		lines := f[one.name]
		if len(lines) == 0 {
			continue
		}
		slices.Sort(lines)
		_, _ = fmt.Fprintf(w, "# HELP %s %s\n# TYPE %s %s\n%s\n", one.name, one.help, one.name, one.kind, strings.Join(lines, "\n"))
	}
}
