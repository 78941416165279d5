package setup

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"forge/internal/agent"
	"forge/internal/config"
	"forge/internal/proc"
	"forge/internal/project"
	"forge/internal/text"
	"forge/internal/work"
)

// heartbeat is how often init says that a command is still running.
const heartbeat = 15 * time.Second

// The marks before a line.
const (
	markYes = "✓"
	markNo  = "✗"
)

// Telling is a setup that says at a terminal what it finds, as it finds it.
type Telling struct {
	*Setup
	Out io.Writer

	noVerify bool // it was said that nothing proves a phase
}

// say prints one line of what was found: what it is about, a mark, the words.
func (i *Telling) say(about, mark, format string, args ...any) {
	fmt.Fprintf(i.Out, "%-8s %1s %s\n", about, mark, text.Harmless(fmt.Sprintf(format, args...)))
}

// SayProject says which project it is.
func (i *Telling) SayProject() {
	i.say("Project", " ", "%s", i.Base.RepoRoot)
	if inside := i.Inside(); inside != "" {
		i.say("", " ", "the root of the git repository; you are in its folder %s", inside)
	}
	if i.Base.Commit == "" {
		i.say("", markNo, "it has no commit yet: forge run needs one to start from")
	}
}

// SayAgent says which agent was found.
func (i *Telling) SayAgent() {
	g := i.Agent
	switch {
	case g.Kind == "exec" && !g.Configured:
		i.say("Agent", " ", "a command of yours: put it into [agents.mine] of %s", config.ProjectFile)
	case g.Kind == "script" && !g.Configured:
		i.say("Agent", markYes, "a script, %s: it costs nothing and asks no model", ScriptFile)
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
		if why := wayIn(g.Found); why != "" {
			i.say("", " ", "%s", why)
		}
	}
}

// wayIn is what an agent that was found lacks. That it is not logged in is said
// beside its name, and not again here.
func wayIn(d agent.Detection) string {
	if _, way, said := strings.Cut(d.Why, " is not logged in: "); said && d.LoggedIn == agent.LoginNo {
		return way
	}
	return d.Why
}

// SaySandbox says what holds an agent.
func (i *Telling) SaySandbox(level proc.Level, caps proc.Capabilities, err error) {
	switch {
	case err != nil:
		i.say("Sandbox", markNo, "%v", err)
	case level == proc.LevelNone && i.Settings.Sandbox.Mode == "off":
		i.say("Sandbox", markNo, "off, as your configuration says: an agent can do what you can")
	case level == proc.LevelNone:
		i.say("Sandbox", markNo, "none works here: an agent can do what you can (%s)", text.OneLine(caps.Why, 300))
		i.say("", " ", "the way to one: %s", project.SandboxFix(i.Settings.Sandbox))
	case level == proc.LevelLandlock:
		i.say("Sandbox", markYes, "landlock; bubblewrap would be stronger (%s)", text.OneLine(caps.Why, 300))
	default:
		i.say("Sandbox", markYes, "%s", level)
	}
}

// SayNothing is for a project in which no command was found.
func (i *Telling) SayNothing() {
	if i.Settings.Verify.None {
		i.say("Verify", " ", "waived by verify.none")
		return
	}
	i.SayNoVerify()
}

// SayNoVerify says that nothing proves a phase.
func (i *Telling) SayNoVerify() {
	i.noVerify = true
	i.say("Verify", markNo, "there is no command: without one a phase is done by the agent's word alone")
	i.say("", " ", "put yours into [verify] commands of %s", config.ProjectFile)
}

// Untried says which commands were not tried.
func (i *Telling) Untried(c Commands, why string) {
	for _, kind := range []struct {
		about    string
		commands []string
	}{{"Setup", c.Worktree.Setup}, {"Verify", c.Verify}} {
		for _, one := range kind.commands {
			i.say(kind.about, "?", "%s (not tried: %s)", text.OneLine(one, 100), why)
		}
	}
}

// Trying says that commands are tried, and now and then that they still are.
func (i *Telling) Trying(kind string, commands []string) (over func()) {
	a := i.env
	began := a.Now()
	a.Log.Info("trying", kind, text.OneLine(strings.Join(commands, "; "), 80))
	ended := make(chan struct{})
	var beat sync.WaitGroup
	beat.Go(func() {
		tick := time.NewTicker(heartbeat)
		defer tick.Stop()
		for {
			select {
			case <-ended:
				return
			case <-tick.C:
				a.Log.Info("still trying", kind, since(a.Now().Sub(began)))
			}
		}
	})
	return func() {
		close(ended)
		beat.Wait()
	}
}

// Tried says what came of each command.
func (i *Telling) Tried(kind string, commands []string, rep work.CommandsReport, took time.Duration) {
	about := strings.ToUpper(kind[:1]) + kind[1:]
	// What fails need not be one of them: a copy or link, or setup once more
	// in the folder of verify.
	failed := rep.Failed()
	if !rep.OK && (failed == nil || !slices.Contains(commands, failed.Command)) {
		i.say(about, markNo, "%s", text.OneLine(rep.Problem, 300))
		return
	}
	for _, c := range commands {
		switch ran := ReportOf(rep, c); {
		case rep.OK || ran != nil && ran.OK:
			i.say(about, markYes, "%s", text.OneLine(c, 100))
		case ran == nil:
			i.say(about, "?", "%s (not tried, as the one before failed)", text.OneLine(c, 100))
		default:
			i.say(about, markNo, "%s: %s", text.OneLine(c, 100), HowItEnded(*ran))
			if end := lastLines(ran.Output, 8); end != "" {
				fmt.Fprintln(i.Out, text.Indent(text.Indent(text.Harmless(end))))
			}
		}
	}
	i.say("", " ", "tried for %.1f s on commit %s, in a folder of its own", took.Seconds(), text.Short(i.Base.Commit))
}

// Proven says how long a proof takes.
func (i *Telling) Proven(cold, warm time.Duration, problem string) {
	switch {
	case warm == 0:
		i.say("", " ", "cold, with empty caches; the proofs of a run are lent what the first one filled")
	case problem != "":
		i.say("Verify", markNo, "green at first and red when it was run again: %s", text.OneLine(problem, 200))
	default:
		i.say("", " ", "a proof takes %.1f s cold, with empty caches, and %.1f s warm, as in a run", cold.Seconds(), warm.Seconds())
	}
}

// SayReviewer says who reviews.
func (i *Telling) SayReviewer(r Reviewer) {
	switch {
	case r.Decided:
	case r.By != "":
		i.say("Reviews", markYes, "each phase is reviewed by %s", r.By)
	case r.Why != "":
		i.say("Reviews", markNo, "off: %s", r.Why)
	default:
		i.say("Reviews", " ", "off: there is no model in [llm], and no agent that is known to be logged in")
	}
}

func lastLines(body string, n int) string {
	lines := strings.Split(strings.TrimSpace(body), "\n")
	for k, l := range lines {
		lines[k] = text.OneLine(l, 160)
	}
	return strings.Join(lines[max(len(lines)-n, 0):], "\n")
}

// SayDry says what would be written.
func (i *Telling) SayDry(files []config.InitFile) error {
	out := i.Out
	for _, f := range files {
		if _, err := os.Lstat(i.At(f.Path)); err == nil {
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

// SayFiles says what was written, and what was there.
func (i *Telling) SayFiles(wrote, kept []string) {
	if len(wrote) > 0 {
		i.say("Wrote", " ", "%s", strings.Join(wrote, ", "))
	}
	if len(kept) > 0 {
		i.say("Kept", " ", "%s: already there, not touched", strings.Join(kept, ", "))
	}
}

// SayNext says what to type next, in the order in which it makes sense.
func (i *Telling) SayNext(wrote []string) {
	const or = "or " // before another way to do the step above
	var steps [][2]string
	add := func(what, why string) { steps = append(steps, [2]string{what, why}) }
	if i.Base.Commit == "" {
		add(`git add -A && git commit -m start`, "the commit that forge run starts from")
	}
	switch {
	case i.Agent.Name == "":
		add("install an agent", "then name it in "+config.ProjectFile)
	case i.Agent.Kind == "script" && !i.Agent.Configured:
	case i.Agent.Kind == "exec" && !i.Agent.Configured:
		add("edit "+config.ProjectFile, "the command of your agent")
	case !i.Agent.Found.Found:
		add("install the agent", text.OneLine(i.Agent.Found.Why, 100))
	case i.Agent.Found.LoggedIn == agent.LoginNo:
		add("log in", wayIn(i.Agent.Found))
	}
	switch {
	case i.Failed:
		add("mend what failed", "in the project, or in "+config.ProjectFile+": forge run starts from a project that passes")
	case i.noVerify:
		add("edit "+config.ProjectFile, "[verify] commands: what proves your project")
	}
	if slices.Contains(wrote, config.SpecFile) {
		add("edit "+config.SpecFile, "what is to be built")
	}
	if slices.Contains(wrote, project.PlanFile) {
		what := "the phases; what is there is an example that runs as it is"
		if i.Pattern != nil {
			what = "the phases, as in your pattern"
		}
		add("edit "+project.PlanFile, what)
		if i.Agent.Name != "" && i.Agent.Kind != "script" {
			add(or+"forge generate --replace", "your agent drafts them from the spec")
		}
	}
	add("forge list", "the plan as forge understands it")
	add("forge run", "asks you before each phase; --autonomous does not")
	fmt.Fprint(i.Out, "\nNext:\n")
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
	fmt.Fprint(i.Out, text.Table(rows[0], rows[1:]))
}

// since is a duration as a person reads it.
func since(d time.Duration) string { return d.Round(time.Second).String() }
