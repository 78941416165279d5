package cli

import (
	"fmt"
	"strings"

	"forge/internal/work"
)

// Hosts refuse comments of more than about 65,000 characters.
const (
	maxCommentFindings = 30     // of each list
	maxCommentBytes    = 40_000 // from which on no finding is added
	maxCommentText     = 500    // characters of one text
)

// reviewMarkdown is a result for a comment on a pull request, and for the
// summary of a CI job. Nothing of what the change or a reviewer said is live in
// it.
func reviewMarkdown(res reviewResult) string {
	var b strings.Builder
	fmt.Fprintf(&b, "## Forge review: %s\n\n", res.Verdict)
	fmt.Fprintf(&b, "%s since `%s` (%s).\n\n", countFiles(len(res.Files)), short(res.Base.Commit), inert(res.Base.Ref))
	for i, w := range res.Why {
		if i == maxCommentFindings {
			fmt.Fprintf(&b, "- … and %d more\n", len(res.Why)-i)
			break
		}
		fmt.Fprintf(&b, "- %s\n", inert(oneLine(w, 300)))
	}
	if len(res.Why) > 0 {
		b.WriteString("\n")
	}
	markdownFindings(&b, "Found by Forge itself", res.Own)
	markdownFindings(&b, "Found by reviewers", res.Findings)
	if len(res.Notes) > 0 {
		fmt.Fprintf(&b, "%d further note(s) are in the JSON output.\n\n", len(res.Notes))
	}
	if len(res.Reviewers) > 0 {
		b.WriteString("| reviewer | role | verdict | findings | why |\n|---|---|---|---|---|\n")
		for _, s := range res.Reviewers {
			role := "gates"
			if !s.Gating {
				role = "advises"
			}
			fmt.Fprintf(&b, "| %s | %s | %s | %d | %s |\n", inert(s.Name), role, s.Verdict, s.Findings, inert(oneLine(s.Why, 300)))
		}
		b.WriteString("\n")
	}
	if n := len(res.Unreviewed); n > 0 {
		shown := res.Unreviewed[:min(n, maxCommentFindings)]
		fmt.Fprintf(&b, "Not reviewed: %s", inert(oneLine(strings.Join(shown, ", "), 4*maxCommentText)))
		if n > len(shown) {
			fmt.Fprintf(&b, " and %d more", n-len(shown))
		}
		b.WriteString("\n\n")
	}
	fmt.Fprintf(&b, "Cost: %s\n", usageText(res.Usage))
	return b.String()
}

func markdownFindings(b *strings.Builder, title string, all []reviewFinding) {
	if len(all) == 0 {
		return
	}
	fmt.Fprintf(b, "### %s\n\n", title)
	for i, f := range all {
		if i == maxCommentFindings || b.Len() > maxCommentBytes {
			fmt.Fprintf(b, "- … and %d more\n", len(all)-i)
			break
		}
		who := f.Specialist
		if f.Rule != "" {
			who = f.Rule
		}
		if len(f.Also) > 0 {
			who += ", also " + strings.Join(f.Also, ", ")
		}
		if f.Gating {
			who += "; gates"
		}
		fmt.Fprintf(b, "- **%s** %s, line %d: %s _(%s)_\n", f.Severity, inert(oneLine(f.File, maxCommentText)), f.Line, inert(oneLine(f.Issue, maxCommentText)), inert(who))
		for _, more := range []struct{ name, text string }{{"Leads to", f.Failure}, {"Suggested", f.Suggestion}, {"To see it", f.Repro}} {
			if strings.TrimSpace(more.text) != "" {
				fmt.Fprintf(b, "  - %s: %s\n", more.name, inert(oneLine(more.text, maxCommentText)))
			}
		}
	}
	b.WriteString("\n")
}

var (
	// Words that close or link an issue before its number, on any host.
	closingWords = work.Lazy(`(?i)\b(clos|fix|resolv|implement|reopen|depend|block|relate)([a-z]*)`)
	schemes      = work.Lazy(`(?i)([a-z][a-z0-9+.-]*):(//|[^\s/])`)
	references   = work.Lazy(`(?i)([@#!&%~^])([\w\[{"])`)
	tickets      = work.Lazy(`(?i)\b([a-z][a-z0-9_]*)-(\d)`)
	longHex      = work.Lazy(`(?i)\b([0-9a-f]{6})([0-9a-f]{1,58})\b`)
	wwwNames     = work.Lazy(`(?i)\bwww\.`)
)

// inert makes text safe to post: it reads the same, and mentions nobody, closes
// nothing, links nowhere, commands nothing and is no markup. It is one line.
func inert(text string) string {
	// A zero-width space parts what a host would take for a whole.
	const apart = "\u200b"
	text = strings.Join(strings.Fields(text), " ")
	text = closingWords().ReplaceAllStringFunc(text, func(w string) string { return w[:1] + apart + w[1:] })
	text = schemes().ReplaceAllString(text, "${1}:"+apart+"${2}")
	text = wwwNames().ReplaceAllStringFunc(text, func(w string) string { return w[:3] + apart + w[3:] })
	text = references().ReplaceAllString(text, "${1}"+apart+"${2}")
	text = tickets().ReplaceAllString(text, "${1}-"+apart+"${2}")
	text = longHex().ReplaceAllString(text, "${1}"+apart+"${2}")
	var b strings.Builder
	for _, r := range text {
		switch {
		case r == '<':
			b.WriteString("&lt;")
		case r == '>':
			b.WriteString("&gt;")
		case r == '&':
			b.WriteString("&amp;")
		case strings.ContainsRune("\\`*_{}[]|~$!#^", r):
			b.WriteString("\\" + string(r))
		default:
			b.WriteRune(r)
		}
	}
	// A line that begins with one of these is a command to some host or bot.
	if out := b.String(); out != "" && strings.ContainsAny(out[:1], "/-+=:") {
		return apart + out
	}
	return b.String()
}
