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
		text.Join("\n", whyMarkdown(res.Why)),
	}
	size := 0
	for _, m := range all {
		size += len(m.String())
	}
	own := markdownFindings(text.Own("Found by Forge itself"), res.Own, maxCommentBytes-size)
	found := markdownFindings(text.Own("Found by reviewers"), res.Findings, maxCommentBytes-size-len(own.String()))
	all = append(all, own, found)
	if len(res.Notes) > 0 {
		all = append(all, text.Format("%s more in the JSON output.\n\n", text.Number(len(res.Notes), "note")))
	}
	if res.Merged > 0 {
		all = append(all, text.Format("%s\n\n", mergedText(res.Merged)))
	}
	all = append(all, reviewersMarkdown(res))
	if n := len(res.Unreviewed); n > 0 {
		shown := res.Unreviewed[:min(n, maxCommentFindings)]
		more := text.Markdown{}
		if n > len(shown) {
			more = text.Format(" and %d more", n-len(shown))
		}
		all = append(all, text.Format("Not reviewed: %s%s\n\n", text.OneLine(strings.Join(shown, ", "), 4*maxCommentText), more))
	}
	return text.Join("", append(all, text.Format("Cost: %s\n", usageText(res.Usage)))...)
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
	all := []text.Markdown{text.Format("- **%s** %s, line %d: %s _(%s)_\n", string(f.Severity), text.OneLine(f.File, maxCommentText), f.Line, text.OneLine(f.Issue, maxCommentText), who)}
	for _, more := range []struct{ name, text string }{{"Leads to", f.Failure}, {"Suggested", f.Suggestion}, {"To see it", f.Repro}} {
		if strings.TrimSpace(more.text) != "" {
			all = append(all, text.Format("  - %s: %s\n", more.name, text.OneLine(more.text, maxCommentText)))
		}
	}
	return text.Join("", all...)
}
