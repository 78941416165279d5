package jobs

import (
	"fmt"
	"strings"

	"forge/gates"
	"forge/internal/config"
	"forge/internal/redact"
	"forge/internal/text"
	"forge/internal/work"
)

// files are what the start commit adds to the base. What stands in them is for
// the agent, and part of the job's branch: secrets of the environment are
// taken out.
func (b *Brief) files(red *redact.Redactor) map[string][]byte {
	out := map[string][]byte{}
	put := func(name, content string) { out[work.JobDir+"/"+name] = []byte(red.String(content)) }
	put("workspace.md", b.workspace())
	put("tools/todos.md", toolsTodos)
	put("tools/verify.md", b.toolsVerify())
	put("tools/sandbox.md", b.toolsSandbox())
	for _, s := range b.sources {
		put("tools/data-"+s.Name+".md", toolsSource(s, b.spec.Settings.Sandbox.Network))
	}
	for name, data := range b.documents {
		out[work.JobDir+"/documents/"+name] = data
	}
	return out
}

func (b *Brief) workspace() string {
	job := b.spec.Job
	seen, _ := text.Reveal(job.Description)
	var t strings.Builder
	fmt.Fprintf(&t, "# Workspace\n\nWhat has to be remembered from one phase to the next.\n\n## The job\n\n%s\n\n", strings.TrimSpace(seen))
	fmt.Fprintf(&t, "## Level\n\n%s\n\n%s\n", b.origin, levelInWords(b.spec.Policy))
	t.WriteString("\n## Data sources\n\n")
	for _, s := range b.sources {
		fmt.Fprintf(&t, "- %s (%s): tools/data-%s.md\n", s.Name, s.Kind, s.Name)
	}
	if len(b.sources) == 0 {
		t.WriteString("none\n")
	}
	t.WriteString("\n## Documents\n\n")
	for _, name := range job.Documents {
		fmt.Fprintf(&t, "- documents/%s (%d bytes)\n", name, len(b.documents[name]))
	}
	if len(job.Documents) == 0 {
		t.WriteString("none\n")
	}
	return t.String()
}

// levelInWords says where a person looks at the job.
func levelInWords(p gates.Policy) string {
	var stops []string
	for _, at := range []struct {
		point gates.Point
		what  string
	}{
		{gates.PointPlanInitial, "after the first plan"}, {gates.PointPlanLater, "after every later plan"},
		{gates.PointTactical, "after every phase that does todos"}, {gates.PointFinal, "at the end of the job"},
	} {
		if p.At(at.point) == gates.Human {
			stops = append(stops, at.what)
		}
	}
	if !p.Looks.None() {
		stops = append(stops, "after some of its phases")
	}
	if len(stops) == 0 {
		return "The job goes on to its end without a person."
	}
	return "A person looks at the job " + strings.Join(stops, ", ") + "."
}

const toolsTodos = `# todos.yaml

The todos of the next tactical phase, 5 to 20 of them, in the order in which they are to be done:

    todos:
      - id: read
        title: Read the error log of last week
        done: false
      - id: cause
        title: Name the cause of the first error
        needs: [read]
        notes: The log is rotated at midnight.

- title: one line, at most 500 bytes, none twice
- id: a word that others may name in needs
- done: true or false; or status: open, in_progress or done
- needs: ids of todos that come first; no circles
- notes: text

There are no other keys. A todo counts as finished when it says so by "done: true" or "status: done", and in no other way.
`

func (b *Brief) toolsVerify() string {
	var t strings.Builder
	t.WriteString("# Verify\n\n")
	if len(b.spec.Job.Phase.Verify) == 0 {
		t.WriteString("The project names no commands that prove work. Say in plan.md how success is told from failure.\n")
		return t.String()
	}
	t.WriteString("What you claim is proven by these commands, run by Forge in a fresh folder. Run them yourself before you claim anything:\n\n")
	for _, c := range b.spec.Job.Phase.Verify {
		t.WriteString("    " + strings.ReplaceAll(c, "\n", "\n    ") + "\n")
	}
	return t.String()
}

func (b *Brief) toolsSandbox() string {
	set := b.spec.Settings.Sandbox
	network := "You can reach the network."
	if !set.Network {
		network = "There is no network."
	}
	where := "Commands run in a sandbox where the machine has one: you can write in the current folder and in a temporary one; the system's programs and the data sources are read-only; the user's other files are out of sight."
	if set.Mode == "off" {
		where = "Commands run without a sandbox. Change nothing outside of the current folder."
	}
	return "# Sandbox\n\n" + where + "\n\n" + network + "\n"
}

// toolsSource says what a data source is and how to look into it.
func toolsSource(s config.Source, network bool) string {
	var t strings.Builder
	fmt.Fprintf(&t, "# Data source %s\n\n", s.Name)
	if s.About != "" {
		fmt.Fprintf(&t, "%s\n\n", strings.TrimSpace(s.About))
	}
	switch s.Kind {
	case config.SourceFolder:
		fmt.Fprintf(&t, "A folder, read-only:\n\n    %s\n", s.Path)
	case config.SourceSQLite:
		fmt.Fprintf(&t, "An SQLite database, read-only:\n\n    %s\n\nOpen it without locks, since nothing can be written beside it:\n\n    sqlite3 %s .schema\n", s.Path, text.ShellWord("file:"+uriPath(s.Path)+"?mode=ro&immutable=1"))
	case config.SourceCommand:
		argv := make([]string, len(s.Command))
		for i, w := range s.Command {
			argv[i] = text.ShellWord(w)
		}
		fmt.Fprintf(&t, "A command that prints what it knows; run it in the current folder:\n\n    %s\n", strings.Join(argv, " "))
	case config.SourceHTTP:
		fmt.Fprintf(&t, "An address to read from:\n\n    %s\n", s.URL)
		if !network {
			t.WriteString("\nThe sandbox has no network: it cannot be reached from here.\n")
		}
	}
	t.WriteString("\nLook into it, and change nothing there.\n")
	return t.String()
}

// uriPath writes a path as SQLite's URIs want it.
func uriPath(path string) string {
	return strings.NewReplacer("%", "%25", "?", "%3f", "#", "%23").Replace(path)
}
