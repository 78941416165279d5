package pullrequest

import (
	"context"
	"fmt"
	"strings"

	"forge/internal/host"
	"forge/internal/text"
	"forge/internal/work"
)

// WithChecks reads what the checks of an open pull request's head say.
func WithChecks(ctx context.Context, h host.Host, look *work.PullLook) error {
	if look.State != work.PullOpen || look.Head == "" {
		return nil
	}
	ci, err := h.Checks(ctx, look.Head)
	if err == nil {
		look.CI, look.Checks = ci, ci.State
	}
	return err
}

// ChecksMayChange says that the checks of an open pull request may come to stand
// otherwise without news: they begin, run, or may be run again.
func ChecksMayChange(look work.PullLook) bool {
	return look.State == work.PullOpen && look.Checks != work.ChecksPassed
}

// TellFlaky says which checks failed on the head, and passed when they ran again.
func TellFlaky(look work.PullLook) text.Markdown {
	var names []text.Markdown
	for _, n := range look.CI.Flaky[:min(len(look.CI.Flaky), mostNamed)] {
		names = append(names, text.Code(n))
	}
	return text.Format("Flaky: on the same commit (%s) these checks failed first and passed when they ran again: %s. Forge changes nothing for that.", text.Short(look.Head), text.Join(", ", names...))
}

// mostLogs is of how many failed checks the logs are read.
const mostLogs = 3

// WithLogs reads the logs of failed checks. One that cannot be read is told
// without: what failed is known.
func WithLogs(ctx context.Context, h host.Host, look *work.PullLook, warn func(what any, pairs ...any)) {
	for i, c := range look.CI.Failed[:min(len(look.CI.Failed), mostLogs)] {
		c, err := h.CheckLog(ctx, c)
		if err != nil {
			warn("the log of a failed check is not told", "check", c.Name, "err", err)
			continue
		}
		look.CI.Failed[i] = c
	}
}

// mostOfChecks is what of failed checks is told at once, in bytes.
const mostOfChecks = 6 << 10

// mostNamed is how many failed checks are named.
const mostNamed = 10

// tellChecks is what failed, for the agent: names and words are the host's and
// whoever's code ran there, so they stand in a fence, in about so many bytes.
func tellChecks(look work.PullLook, most int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Checks of the code host fail on commit %s of this pull request: %s. Mend the cause in the work. Do not change what CI runs, or its tests, to make it green: that holds your result.\n",
		text.Short(look.Head), text.Number(len(look.CI.Failed), "check"))
	var said strings.Builder
	shown := look.CI.Failed[:min(len(look.CI.Failed), mostNamed)]
	logs := 0
	for _, c := range shown {
		if c.Log != "" || c.Words != "" {
			logs++
		}
	}
	// For the sentence above, the names and what is around them.
	each := (most - 700 - 150*len(shown)) / max(logs, 1)
	for _, c := range shown {
		fmt.Fprintf(&said, "Check %s failed", text.OneLine(c.Name, 100))
		if c.Step != "" {
			fmt.Fprintf(&said, " in step %s", text.OneLine(c.Step, 100))
		}
		said.WriteString("\n")
		words := c.Words
		if c.Log != "" {
			words = "The end of its log:\n" + text.End(c.Log, max(each, 0))
		}
		if words != "" && each > 100 {
			said.WriteString(text.Cut(words, each+30) + "\n\n")
		}
	}
	text.Fence(&b, "What failed", said.String())
	return strings.TrimSpace(b.String())
}
