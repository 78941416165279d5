package setup

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"

	"forge/internal/atomicfile"
	"forge/internal/config"
	"forge/internal/discovery"
	"forge/internal/project"
	"forge/internal/refusal"
	"forge/internal/work"
)

// Files are what is written where there is none.
func (s *Setup) Files() []config.InitFile {
	name := s.Agent.Name
	if s.Agent.Configured {
		name = "" // it is named elsewhere
	}
	out := config.InitFiles(s.proposal, name)
	for n := range out {
		if out[n].Path == config.ProjectFile {
			out[n].Text += s.agentText() + s.reviews
		}
	}
	if s.Agent.Kind == "script" && !s.Agent.Configured {
		out = append(out, config.InitFile{Path: ScriptFile, Text: script})
	}
	plan := s.planText()
	if s.Pattern != nil {
		plan = s.Pattern.text()
		for n := range out {
			if out[n].Path == config.SpecFile && s.Pattern.Spec != "" {
				out[n].Text = s.Pattern.Spec
			}
		}
	}
	return append(out, config.InitFile{Path: project.PlanFile, Text: plan})
}

// agentText is what forge.toml says of an agent beside its name.
func (s *Setup) agentText() string {
	switch {
	case s.Agent.Configured:
		return ""
	case s.Agent.Name == "":
		return noAgent
	case s.Agent.Kind == "exec":
		return execAgent
	case s.Agent.Kind == "script":
		return "\n[agents.dry]\nkind = \"script\"\nfile = \"" + ScriptFile + "\"\n"
	}
	return ""
}

const noAgent = `
# No agent was found when this file was made. Either install claude, or name a
# command that takes a prompt on stdin and prints its answer:
# [agent]
# use = "mine"
# [agents.mine]
# kind = "exec"
# command = ["./agent.sh"]
`

const execAgent = `
# Your own agent: the prompt comes on stdin, stdout is what it says. A relative
# path is taken from the root of this checkout; no shell is involved.
[agents.mine]
kind = "exec"
command = ["./agent.sh"]
`

// ScriptFile is what the agent "dry" plays.
const ScriptFile = ".forge/agent.toml"

// script plays the example plan.
const script = `# What the agent "dry" does: the first [[step]] that matches an iteration is
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
func (s *Setup) planText() string {
	proof := "test -s OVERVIEW.md"
	first := work.Phase{
		Number: "01", Name: "overview", Promise: "OVERVIEW WRITTEN", Budget: 3,
		Reasoning: "An example, to be replaced. Write OVERVIEW.md: at most ten lines on what this project is and where its parts are. Change nothing else.",
		Verify:    append(s.verifyCommands(), proof),
	}
	second := work.Phase{
		Number: "02", Name: "overview-check", Promise: "OVERVIEW CHECKED", Budget: 3, DependsOn: []string{"01"},
		Reasoning: "An example, to be replaced. Hold every sentence of OVERVIEW.md against the code and correct what is not so.",
	}
	if len(s.verifyCommands()) == 0 {
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
func (s *Setup) verifyCommands() []string {
	if s.Configured {
		return append([]string{}, s.Settings.Verify.Commands...)
	}
	return append([]string{}, discovery.Lines(s.proposal.Verify)...)
}

// Write writes the files that are not there, and names the others.
func (s *Setup) Write(files []config.InitFile) (wrote, kept []string, err error) {
	folder := s.At(".forge")
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
		path := s.At(f.Path)
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

// Check loads everything as forge run would, and returns what it would refuse,
// in files that were kept for instance. Without a commit nothing can be checked.
func (s *Setup) Check(ctx context.Context) error {
	if s.Base.Commit == "" {
		return nil
	}
	p, err := project.Open(ctx, s.env)
	if err != nil {
		return err
	}
	defer p.Close()
	plan, err := p.Plan()
	if err == nil {
		_, _, err = p.Resolve(plan, config.PolicyFlags{})
	}
	return err
}
