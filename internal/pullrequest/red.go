package pullrequest

import (
	"forge/internal/text"
	"forge/internal/work"
	"forge/orchestrator"
)

// waysOn are what a person can do about a push of their own that is red.
const waysOn = "Forge holds this, and its agent is not set on what people push. Push what mends it and approve that; or ask for changes, or write `/forge fix`, to have the agent mend it."

// TellRed asks those who pushed what verify is red on: what failed, the end of what
// it said, and the ways on. All of that is somebody else's text.
func TellRed(r orchestrator.RedPush) text.Markdown {
	what := text.Inline(text.OneLine(r.Problem, 300))
	if r.Command != "" {
		what = text.Format("%s fails", text.Code(text.OneLine(r.Command, 300)))
	}
	said := text.Format("%s: what you pushed is not proven. On %s, %s.", pushers(r.By), text.Code(text.Short(r.Commit)), what)
	if r.Output != "" {
		said = text.Join("\n\n", said, text.Own("The end of its output:"), text.CodeBlock(r.Output))
	}
	return text.Join("\n\n", said, text.Own(waysOn))
}

// TellRedChecks asks those who pushed what checks of the host fail on.
func TellRedChecks(look work.PullLook, by []string) text.Markdown {
	var all []text.Markdown
	for _, c := range look.CI.Failed[:min(len(look.CI.Failed), mostNamed)] {
		one := text.Format("Check %s failed.", text.Code(text.OneLine(c.Name, 100)))
		switch {
		case c.Log != "":
			one = text.Join("\n\n", one, text.CodeBlock(text.End(c.Log, mostOfComment)))
		case c.Words != "":
			one = text.Join("\n\n", one, text.CodeBlock(text.Cut(c.Words, mostOfComment)))
		}
		all = append(all, one)
	}
	head := text.Format("%s: checks fail on what you pushed (%s).", pushers(by), text.Code(text.Short(look.Head)))
	return text.Join("\n\n", head, text.Join("\n\n", all...), text.Own(waysOn))
}

// pushers are the names of those who pushed, as their commits have them.
func pushers(by []string) text.Markdown {
	if len(by) == 0 {
		return text.Own("Whoever pushed to this branch")
	}
	var names []text.Markdown
	for _, name := range by {
		names = append(names, text.Inline(text.OneLine(name, 60)))
	}
	return text.Join(", ", names...)
}
