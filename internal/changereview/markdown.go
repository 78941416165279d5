package changereview

import (
	"strings"

	"forge/internal/text"
)

// Hosts refuse comments of more than about 65,000 characters.
const (
	maxCommentFindings = 30     // of each list
	maxCommentBytes    = 40_000 // from which on no finding is added
	maxCommentText     = 500    // characters of one text
)

// Markdown is a result for a comment on a pull request, and for the
// summary of a CI job. Nothing of what the change or a reviewer said is live in
// it.
func Markdown(res Result) text.Markdown {
	all := []text.Markdown{
		text.Format("## Forge review: %s\n\n", string(res.Verdict)),
		text.Format("%s since %s (%s).\n\n", countFiles(len(res.Files)), text.Code(text.Short(res.Base.Commit)), res.Base.Ref),
		summaryMarkdown(res.Summary),
		text.Join("\n", whyMarkdown(res.Why)),
	}
	size := 0
	for _, m := range all {
		size += len(m.String())
	}
	shown, tests := folded(res.Own)
	own := text.Join("", markdownFindings(text.Own("Found by Forge itself"), shown, maxCommentBytes-size), markdownTests(tests))
	found := markdownFindings(text.Own("Found by reviewers"), res.Findings, maxCommentBytes-size-len(own.String()))
	all = append(all, own, found)
	if len(res.Notes) > 0 {
		all = append(all, text.Format("%s more in the JSON output.\n\n", text.Number(len(res.Notes), "note")))
	}
	if res.Merged > 0 {
		all = append(all, text.Format("%s\n\n", mergedText(res.Merged)))
	}
	all = append(all, reviewersMarkdown(res), historyMarkdown(res))
	if n := len(res.Unreviewed); n > 0 {
		shown := res.Unreviewed[:min(n, maxCommentFindings)]
		more := text.Markdown{}
		if n > len(shown) {
			more = text.Format(" and %d more", n-len(shown))
		}
		all = append(all, text.Format("Not reviewed: %s%s\n\n", text.OneLine(strings.Join(shown, ", "), 4*maxCommentText), more))
	}
	for _, l := range leftOut(res) {
		all = append(all, text.Format("Left out, %s: %s\n\n", l.why, text.OneLine(strings.Join(l.names, ", "), 4*maxCommentText)))
	}
	return text.Join("", append(all, text.Format("Cost: %s\n", usageText(res.Usage)))...)
}

// markdownTests are the tests that were changed beside code, in one line that opens.
func markdownTests(tests []string) text.Markdown {
	if len(tests) == 0 {
		return text.Markdown{}
	}
	return text.Format("<details><summary>%s</summary>\n\n%s\n\n</details>\n\n", testsText(len(tests)), text.OneLine(strings.Join(tests, ", "), 4*maxCommentText))
}

// summaryMarkdown is what the change does, in the words of a model.
func summaryMarkdown(sentences []string) text.Markdown {
	if len(sentences) == 0 {
		return text.Markdown{}
	}
	return text.Format("%s\n\n", text.Quote(text.OneLine(strings.Join(sentences, " "), 1000)))
}

// historyMarkdown is what people let stand, and what became of earlier findings.
func historyMarkdown(res Result) text.Markdown {
	var all []text.Markdown
	list := func(title text.Markdown, names []string) {
		if len(names) > 0 {
			shown := names[:min(len(names), maxCommentFindings)]
			all = append(all, text.Format("%s (%d): %s\n\n", title, len(names), text.OneLine(strings.Join(shown, "; "), 4*maxCommentText)))
		}
	}
	for _, l := range history(res) {
		list(text.Format("%s", l.why), l.names)
	}
	return text.Join("", all...)
}

func whyMarkdown(why []string) text.Markdown {
	var all []text.Markdown
	for i, w := range why {
		if i == maxCommentFindings {
			all = append(all, text.Item(text.Format("… and %d more", len(why)-i)))
			break
		}
		all = append(all, text.Item(text.Inline(text.OneLine(w, 300))))
	}
	if len(all) > 0 {
		all = append(all, text.Own("\n"))
	}
	return text.Join("", all...)
}

func reviewersMarkdown(res Result) text.Markdown {
	if len(res.Reviewers) == 0 {
		return text.Markdown{}
	}
	all := []text.Markdown{text.Own("| reviewer | role | verdict | findings | why |\n|---|---|---|---|---|\n")}
	for _, s := range res.Reviewers {
		role := "gates"
		if !s.Gating {
			role = "advises"
		}
		all = append(all, text.Format("| %s | %s | %s | %d | %s |\n", s.Name, role, string(s.Verdict), s.Findings, text.OneLine(s.Why, 300)))
	}
	return text.Join("", append(all, text.Own("\n"))...)
}

// markdownFindings lists findings, none more once they take up room bytes.
func markdownFindings(title text.Markdown, found []Finding, room int) text.Markdown {
	if len(found) == 0 {
		return text.Markdown{}
	}
	all, size := []text.Markdown{text.Format("### %s\n\n", title)}, 0
	for i, f := range found {
		if i == maxCommentFindings || size > room {
			all = append(all, text.Item(text.Format("… and %d more", len(found)-i)))
			break
		}
		one := markdownFinding(f)
		size += len(one.String())
		all = append(all, one)
	}
	return text.Join("", append(all, text.Own("\n"))...)
}

func markdownFinding(f Finding) text.Markdown {
	who := f.By()
	if f.Rule != "" {
		who = f.Rule
	}
	if f.Gating {
		who += "; gates"
	}
	if f.ID != "" && f.Rule == "" {
		who += "; " + f.ID
	}
	all := []text.Markdown{text.Format("- **%s** %s, line %d: %s _(%s)_\n", string(f.Severity), text.OneLine(f.File, maxCommentText), f.Line, text.OneLine(f.Issue, maxCommentText), who)}
	for _, more := range []struct{ name, text string }{{"Leads to", f.Failure}, {"Suggested", f.Suggestion}, {"To see it", f.Repro}} {
		if strings.TrimSpace(more.text) != "" {
			all = append(all, text.Format("  - %s: %s\n", more.name, text.OneLine(more.text, maxCommentText)))
		}
	}
	return text.Join("", all...)
}
