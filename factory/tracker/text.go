package tracker

import (
	"cmp"
	"fmt"
	"strings"

	"forge/internal/text"
	"forge/internal/work"
)

// maxComments is how many comments go along with an issue: the last ones.
const maxComments = 50

// Issue is what a reading becomes on the board: what people with write access
// said, with what nobody would see in it taken out and counted. The title is
// one line; what of it does not fit stands at the top of the text.
func Issue(r Reading, b Bound, source string) work.Issue {
	title, hidden := text.Reveal(r.Title)
	title = work.OneLine(title)
	var all strings.Builder
	if short := text.Clip(title, work.MaxIssueTitle); short != title {
		all.WriteString(title + "\n\n")
		title = short
	}
	if title == "" {
		title = fmt.Sprintf("Issue %d of %s", r.Number, source)
	}
	body, n := text.Reveal(r.Body)
	hidden += n
	all.WriteString(strings.TrimSpace(body) + "\n")
	said := writersOf(r)
	for _, c := range said {
		words, n := text.Reveal(c.Body)
		hidden += n
		fmt.Fprintf(&all, "\n---\n%s said:\n\n%s\n", work.OneLine(c.By), strings.TrimSpace(words))
	}
	fmt.Fprintf(&all, "\n---\n_%s", source)
	if b.Hold == "" {
		fmt.Fprintf(&all, ", as it was when %s labelled it", work.OneLine(b.By))
	}
	if left := len(r.Comments) - len(said); left > 0 {
		fmt.Fprintf(&all, "; %d comments are left out", left)
	}
	if hidden > 0 {
		fmt.Fprintf(&all, "; %d hidden comments or invisible characters were taken out", hidden)
	}
	all.WriteString("._\n")
	return work.Issue{
		Title: title, Description: all.String(), Priority: cmp.Or(r.Priority, work.PriorityNormal), Labels: []string{}, Needs: []int64{},
		Criteria: []work.Criterion{}, Hold: []string{}, Column: work.ColumnBacklog, Source: source,
	}
}

// writersOf are the comments of people who may write to the repository, the
// last of them.
func writersOf(r Reading) []Comment {
	var out []Comment
	for _, c := range r.Comments {
		if c.By != "" && r.Writers[c.By] && !c.Own && !Ours(c.Body) {
			out = append(out, c)
		}
	}
	return out[max(0, len(out)-maxComments):]
}
