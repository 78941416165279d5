package tracker

import (
	"fmt"
	"strings"

	"forge/internal/work"
	"forge/orchestrator"
)

// maxComments is how many comments go along with an issue: the last ones.
const maxComments = 50

// Issue is what a reading becomes on the board: what people with write access
// said, with what nobody would see in it taken out and counted. The title is
// one line; what of it does not fit stands at the top of the text.
func Issue(r Reading, b Bound, source string) work.Issue {
	title, hidden := seen(r.Title)
	title = work.OneLine(title)
	var text strings.Builder
	if short := clip(title, work.MaxIssueTitle); short != title {
		text.WriteString(title + "\n\n")
		title = short
	}
	if title == "" {
		title = fmt.Sprintf("Issue %d of %s", r.Number, source)
	}
	body, n := seen(r.Body)
	hidden += n
	text.WriteString(strings.TrimSpace(body) + "\n")
	said := writersOf(r)
	for _, c := range said {
		words, n := seen(c.Body)
		hidden += n
		fmt.Fprintf(&text, "\n---\n%s said:\n\n%s\n", work.OneLine(c.By), strings.TrimSpace(words))
	}
	fmt.Fprintf(&text, "\n---\n_%s", source)
	if b.Hold == "" {
		fmt.Fprintf(&text, ", as it was when %s labelled it", work.OneLine(b.By))
	}
	if left := len(r.Comments) - len(said); left > 0 {
		fmt.Fprintf(&text, "; %d comments are left out", left)
	}
	if hidden > 0 {
		fmt.Fprintf(&text, "; %d hidden comments or invisible characters were taken out", hidden)
	}
	text.WriteString("._\n")
	return work.Issue{
		Title: title, Description: text.String(), Priority: work.PriorityNormal, Labels: []string{}, Needs: []int64{},
		Criteria: []work.Criterion{}, Hold: []string{}, Column: work.ColumnBacklog, Source: source,
	}
}

// writersOf are the comments of people who may write to the repository, the
// last of them.
func writersOf(r Reading) []Comment {
	var out []Comment
	for _, c := range r.Comments {
		if c.By != "" && r.Writers[c.By] && !Ours(c.Body) {
			out = append(out, c)
		}
	}
	return out[max(0, len(out)-maxComments):]
}

// seen is what a person sees of a text, and how much of it they do not.
func seen(text string) (string, int) {
	text, hidden := orchestrator.Reveal(strings.ReplaceAll(text, "\r\n", "\n"))
	return text, hidden
}

// clip bounds a line, in bytes.
func clip(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.TrimSpace(strings.ToValidUTF8(text[:most-len("…")], "")) + "…"
}
