package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"forge/internal/atomicfile"
	"forge/internal/config"
	"forge/internal/discovery"
	"forge/internal/project"
	"forge/internal/refusal"
	"forge/internal/text"
	"forge/internal/work"
)

// files are what init writes where there is none.
func (i *initiation) files() []config.InitFile {
	name := i.agent.Name
	if i.agent.Configured {
		name = "" // it is named elsewhere
	}
	out := config.InitFiles(i.proposal, name)
	for n := range out {
		if out[n].Path == config.ProjectFile {
			out[n].Text += i.agentText() + i.reviews
		}
	}
	if i.agent.Kind == "script" && !i.agent.Configured {
		out = append(out, config.InitFile{Path: initScriptFile, Text: initScript})
	}
	return append(out, config.InitFile{Path: project.PlanFile, Text: i.planText()})
}

// agentText is what forge.toml says of an agent beside its name.
func (i *initiation) agentText() string {
	switch {
	case i.agent.Configured:
		return ""
	case i.agent.Name == "":
		return initNoAgent
	case i.agent.Kind == "exec":
		return initExec
	case i.agent.Kind == "script":
		return "\n[agents.dry]\nkind = \"script\"\nfile = \"" + initScriptFile + "\"\n"
	}
	return ""
}

const initNoAgent = `
# No agent was found when this file was made. Either install claude, or name a
# command that takes a prompt on stdin and prints its answer:
# [agent]
# use = "mine"
# [agents.mine]
# kind = "exec"
# command = ["./agent.sh"]
`

const initExec = `
# Your own agent: the prompt comes on stdin, stdout is what it says. A relative
# path is taken from the root of this checkout; no shell is involved.
[agents.mine]
kind = "exec"
command = ["./agent.sh"]
`

const initScriptFile = ".forge/agent.toml"

// initScript plays the example plan.
const initScript = `# What the agent "dry" does: the first [[step]] that matches an iteration is
# played. Forge's docs/script-agent.md lists all that it can do.
[[step]]
phase = "overview"
do = [
  { write = "OVERVIEW.md", content = "# Overview\n\nWritten by a script.\n" },
  { print = "<promise>OVERVIEW WRITTEN</promise>" },
]

[[step]]
phase = "overview-check"
do = [
  { write = "OVERVIEW.md", content = "\nChecked by a script.\n", append = true },
  { print = "<promise>OVERVIEW CHECKED</promise>" },
]
`

// planText is an example of two phases that any project can run as it stands,
// cheap and easily undone, to be replaced by the owner's own.
func (i *initiation) planText() string {
	proof := "test -s OVERVIEW.md"
	first := work.Phase{
		Number: "01", Name: "overview", Promise: "OVERVIEW WRITTEN", Budget: 3,
		Reasoning: "An example, to be replaced. Write OVERVIEW.md: at most ten lines on what this project is and where its parts are. Change nothing else.",
		Verify:    append(i.verifyCommands(), proof),
	}
	second := work.Phase{
		Number: "02", Name: "overview-check", Promise: "OVERVIEW CHECKED", Budget: 3, DependsOn: []string{"01"},
		Reasoning: "An example, to be replaced. Hold every sentence of OVERVIEW.md against the code and correct what is not so.",
	}
	if len(i.verifyCommands()) == 0 {
		second.Verify = []string{proof}
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	// A plan is plain strings and numbers, which always encode.
	_ = e.Encode(work.Plan{Phases: []work.Phase{first, second}})
	return b.String()
}

// verifyCommands are the project's own, as configured or proposed.
func (i *initiation) verifyCommands() []string {
	if i.configured {
		return append([]string{}, i.set.Verify.Commands...)
	}
	return append([]string{}, discovery.Lines(i.proposal.Verify)...)
}

// writeNew writes the files that are not there, and names the others.
func writeNew(root string, files []config.InitFile) (wrote, kept []string, err error) {
	folder := filepath.Join(root, ".forge")
	info, err := os.Lstat(folder)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		err = os.Mkdir(folder, 0o755)
	case err == nil && !info.IsDir():
		return nil, nil, refusal.New("make it a folder of this checkout", "%s is not a folder", folder)
	}
	if err != nil {
		return nil, nil, refusal.New("make the checkout writable for this user", "make .forge: %v", err)
	}
	for _, f := range files {
		path := filepath.Join(root, filepath.FromSlash(f.Path))
		// Also what is no file is somebody's, and stays.
		_, err := os.Lstat(path)
		if errors.Is(err, fs.ErrNotExist) {
			err = atomicfile.WriteNew(path, []byte(f.Text), 0o644)
			if err == nil {
				wrote = append(wrote, f.Path)
				continue
			}
		}
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return wrote, kept, refusal.New("make .forge writable for this user", "write %s: %v", f.Path, err)
		}
		kept = append(kept, f.Path)
	}
	return wrote, kept, nil
}

// checkWritten loads everything as forge run would and says what it would
// refuse, in files that were kept for instance.
func (i *initiation) checkWritten(ctx context.Context) {
	if i.base.Commit == "" {
		return
	}
	p, err := i.app.openProject(ctx)
	if err == nil {
		var plan *config.Plan
		if plan, err = p.Plan(); err == nil {
			_, _, err = p.Resolve(plan, config.PolicyFlags{})
		}
		p.Close()
	}
	if err != nil {
		for line := range strings.SplitSeq(err.Error(), "\n") {
			i.app.log.Warn("forge run would refuse: " + line)
		}
	}
}

func (i *initiation) sayDry(files []config.InitFile) error {
	out := i.app.Stdout
	for _, f := range files {
		if _, err := os.Lstat(i.at(f.Path)); err == nil {
			fmt.Fprintf(out, "\nWould keep  %s, which is there\n", f.Path)
			continue
		}
		fmt.Fprintf(out, "\nWould write %s\n", f.Path)
		if f.Path == config.ProjectFile || f.Path == project.PlanFile {
			fmt.Fprintln(out, text.Indent(strings.TrimSpace(f.Text)))
		}
	}
	fmt.Fprintln(out, "\nNothing was written: this was a dry run.")
	return nil
}
