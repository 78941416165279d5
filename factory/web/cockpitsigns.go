package web

import (
	"fmt"
	"regexp"

	"forge/orchestrator"
)

// sign is one fact at the head of a decision: what speaks for it, what against.
type sign struct {
	Kind string // good, warn, bad, plain
	Text string
}

// Mark is a character that says the kind without its colour; "" = a plain fact.
func (s sign) Mark() string {
	switch s.Kind {
	case "good":
		return "✓"
	case "warn":
		return "!"
	case "bad":
		return "✗"
	}
	return ""
}

// Signs are what a person wants to know of a change at once.
func (d cockpitData) Signs() []sign {
	var out []sign
	if len(d.Files) > 0 {
		out = append(out, sign{"plain", fmt.Sprintf("%s, +%d −%d", plural(len(d.Files), "file", "files"), d.Total.Added, d.Total.Removed)})
	}
	switch {
	case d.Verify != nil && d.Verify.OK:
		out = append(out, sign{"good", "your checks passed on exactly this commit"})
	case d.Verify != nil:
		out = append(out, sign{"bad", "your checks failed"})
	case len(d.Files) > 0:
		out = append(out, sign{"warn", "nothing was checked"})
	}
	if n := d.unmet(); n > 0 {
		out = append(out, sign{"warn", plural(n, "criterion", "criteria") + " without evidence"})
	}
	if n := len(d.InDoubt); n > 0 {
		out = append(out, sign{"warn", plural(n, "doubt", "doubts") + " about the proof"})
	}
	if n := len(d.Protected) + len(d.Gone); n > 0 {
		out = append(out, sign{"warn", plural(n, "file that decides the proof was", "files that decide the proof were") + " changed"})
	}
	if n := len(d.Findings); n > 0 {
		out = append(out, sign{"warn", plural(n, "finding", "findings") + " of reviewers"})
	}
	return out
}

func (d cockpitData) unmet() (n int) {
	for _, c := range d.Criteria {
		if !c.Met {
			n++
		}
	}
	return n
}

// Plain says that the three answers alone are offered; stopping the run is
// always possible.
func (d cockpitData) Plain() bool {
	for _, c := range d.Checkpoint.Choices {
		if c.Name != orchestrator.ChoiceAbort {
			return false
		}
	}
	return true
}

// promises are the words by which an agent claims to be done; they are meant for
// Forge, not for people.
var promises = regexp.MustCompile(`\s*<promise>[^<]*</promise>`)

// withoutPromise is what an agent said to people.
func withoutPromise(words string) string { return promises.ReplaceAllString(words, "") }
