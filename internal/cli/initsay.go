package cli

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"forge/internal/agent"
	"forge/internal/config"
	"forge/internal/proc"
	"forge/internal/project"
	"forge/internal/text"
	"forge/internal/work"
)

// The marks before a line.
const (
	markYes = "✓"
	markNo  = "✗"
)

// say prints one line of what was found: what it is about, a mark, the words.
func (i *initiation) say(about, mark, format string, args ...any) {
	fmt.Fprintf(i.app.Stdout, "%-8s %1s %s\n", about, mark, text.Harmless(fmt.Sprintf(format, args...)))
}

func (i *initiation) sayProject() {
	i.say("Project", " ", "%s", i.base.RepoRoot)
	if inside := i.inside(); inside != "" {
		i.say("", " ", "the root of the git repository; you are in its folder %s", inside)
	}
	if i.base.Commit == "" {
		i.say("", markNo, "it has no commit yet: forge run needs one to start from")
	}
}

func (i *initiation) sayAgent() {
	g := i.agent
	switch {
	case g.Kind == "exec" && !g.Configured:
		i.say("Agent", " ", "a command of yours: put it into [agents.mine] of %s", config.ProjectFile)
	case g.Kind == "script" && !g.Configured:
		i.say("Agent", markYes, "a script, %s: it costs nothing and asks no model", initScriptFile)
	case g.Name == "":
		i.say("Agent", markNo, "none found")
		for _, why := range g.Others {
			i.say("", " ", "%s", why)
		}
		i.say("", " ", "or use a command of your own: forge init --agent exec")
	case !g.Found.Found:
		i.say("Agent", markNo, "%s: %s", g.Name, g.Found.Why)
	default:
		text := strings.TrimSpace(g.Name + " " + g.Found.Version)
		mark := map[agent.Login]string{agent.LoginYes: markYes, agent.LoginNo: markNo}[g.Found.LoggedIn]
		switch g.Found.LoggedIn {
		case agent.LoginYes:
			text += ", logged in"
		case agent.LoginNo:
			text += ", not logged in"
		case agent.LoginUnknown:
			text += ", whether it is logged in shows when it runs"
		}
		if g.Kind == "script" || g.Kind == "exec" {
			text, mark = g.Name+" ("+g.Found.Path+")", markYes
		}
		i.say("Agent", mark, "%s", text)
		if g.Found.Why != "" {
			i.say("", " ", "%s", g.Found.Why)
		}
	}
}

func (i *initiation) saySandbox(level proc.Level, caps proc.Capabilities, err error) {
	switch {
	case err != nil:
		i.say("Sandbox", markNo, "%v", err)
	case level == proc.LevelNone && i.set.Sandbox.Mode == "off":
		i.say("Sandbox", markNo, "off, as your configuration says: an agent can do what you can")
	case level == proc.LevelNone:
		i.say("Sandbox", markNo, "none works here: an agent can do what you can (%s)", text.OneLine(caps.Why, 300))
		i.say("", " ", "the way to one: %s", project.SandboxFix())
	case level == proc.LevelLandlock:
		i.say("Sandbox", markYes, "landlock; bubblewrap would be stronger (%s)", text.OneLine(caps.Why, 300))
	default:
		i.say("Sandbox", markYes, "%s", level)
	}
}

// sayNothing is for a project in which no command was found.
func (i *initiation) sayNothing() {
	if i.set.Verify.None {
		i.say("Verify", " ", "waived by verify.none")
		return
	}
	i.sayNoVerify()
}

func (i *initiation) sayNoVerify() {
	i.say("Verify", markNo, "there is no command: without one a phase is done by the agent's word alone")
	i.say("", " ", "put yours into [verify] commands of %s", config.ProjectFile)
}

func (i *initiation) sayUntried(t commandTry, why string) {
	for _, kind := range []struct {
		about    string
		commands []string
	}{{"Setup", t.worktree.Setup}, {"Verify", t.commands}} {
		for _, c := range kind.commands {
			i.say(kind.about, "?", "%s (not tried: %s)", text.OneLine(c, 100), why)
		}
	}
}

// sayTried says what came of each command.
func (i *initiation) sayTried(kind string, commands []string, rep work.CommandsReport, took time.Duration) {
	about := strings.ToUpper(kind[:1]) + kind[1:]
	// What fails need not be one of them: a copy or link, or setup once more
	// in the folder of verify.
	failed := rep.Failed()
	if !rep.OK && (failed == nil || !slices.Contains(commands, failed.Command)) {
		i.say(about, markNo, "%s", text.OneLine(rep.Problem, 300))
		return
	}
	for _, c := range commands {
		switch ran := reportOf(rep, c); {
		case rep.OK || ran != nil && ran.OK:
			i.say(about, markYes, "%s", text.OneLine(c, 100))
		case ran == nil:
			i.say(about, "?", "%s (not tried, as the one before failed)", text.OneLine(c, 100))
		default:
			i.say(about, markNo, "%s: %s", text.OneLine(c, 100), howItEnded(*ran))
			if end := lastLines(ran.Output, 8); end != "" {
				fmt.Fprintln(i.app.Stdout, text.Indent(text.Indent(text.Harmless(end))))
			}
		}
	}
	i.say("", " ", "tried for %.1f s on commit %s, in a folder of its own", took.Seconds(), text.Short(i.base.Commit))
}

func lastLines(body string, n int) string {
	lines := strings.Split(strings.TrimSpace(body), "\n")
	for k, l := range lines {
		lines[k] = text.OneLine(l, 160)
	}
	return strings.Join(lines[max(len(lines)-n, 0):], "\n")
}

func (i *initiation) sayFiles(wrote, kept []string) {
	if len(wrote) > 0 {
		i.say("Wrote", " ", "%s", strings.Join(wrote, ", "))
	}
	if len(kept) > 0 {
		i.say("Kept", " ", "%s: already there, not touched", strings.Join(kept, ", "))
	}
}

// sayNext says what to type next, in the order in which it makes sense.
func (i *initiation) sayNext(wrote []string) {
	const or = "or " // before another way to do the step above
	var steps [][2]string
	add := func(what, why string) { steps = append(steps, [2]string{what, why}) }
	if i.base.Commit == "" {
		add(`git add -A && git commit -m start`, "the commit that forge run starts from")
	}
	switch {
	case i.agent.Name == "":
		add("install an agent", "then name it in "+config.ProjectFile)
	case i.agent.Kind == "script" && !i.agent.Configured:
	case i.agent.Kind == "exec" && !i.agent.Configured:
		add("edit "+config.ProjectFile, "the command of your agent")
	case !i.agent.Found.Found:
		add("install the agent", text.OneLine(i.agent.Found.Why, 100))
	case i.agent.Found.LoggedIn == agent.LoginNo:
		add("log in", i.agent.Found.Why)
	}
	if i.failed {
		add("mend what failed", "in the project, or in "+config.ProjectFile+": forge run starts from a project that passes")
	}
	if slices.Contains(wrote, config.SpecFile) {
		add("edit "+config.SpecFile, "what is to be built")
	}
	if slices.Contains(wrote, project.PlanFile) {
		add("edit "+project.PlanFile, "the phases; what is there is an example that runs as it is")
		if i.agent.Name != "" && i.agent.Kind != "script" {
			add(or+"forge generate --replace", "your agent drafts them from the spec")
		}
	}
	add("forge list", "the plan as forge understands it")
	add("forge run", "asks you before each phase; --autonomous does not")
	fmt.Fprint(i.app.Stdout, "\nNext:\n")
	var rows [][]string
	n := 0
	for _, s := range steps {
		head := fmt.Sprintf("  %d. ", n+1)
		if strings.HasPrefix(s[0], or) {
			head = "     "
		} else {
			n++
		}
		rows = append(rows, []string{head + s[0], s[1]})
	}
	fmt.Fprint(i.app.Stdout, text.Table(rows[0], rows[1:]))
}
