package host

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"forge/internal/text"
	"forge/internal/work"
)

const (
	pullWord  = "forge-pull"
	textWord  = "forge-text"
	replyWord = "forge-said"
)

// mark is a hidden line. What it holds is hashed, so that nothing in it can
// end the comment.
func mark(word, id string) string {
	sum := sha256.Sum256([]byte(id))
	return "<!-- " + word + ":" + hex.EncodeToString(sum[:16]) + " -->"
}

var (
	pullMark  = text.Lazy(`<!-- ` + pullWord + `:([0-9a-f]{32}) -->`)
	textMark  = text.Lazy(`<!-- ` + textWord + `:([0-9a-f]{32}):([0-9a-f]{32}) -->`)
	replyMark = text.Lazy(`<!-- ` + replyWord + `:([0-9a-f]{32})(?: thread:([0-9]{1,19}))? -->`)
)

// Body is the text of a pull request between two marks: the first says which
// title and text are Forge's, by the second it is found again.
func Body(p work.PullProposal) string {
	words := strings.TrimRight(p.Body.String(), "\n")
	return "<!-- " + textWord + ":" + sumOf(p.Title.String()) + ":" + sumOf(words) + " -->\n" + words + "\n\n" + mark(pullWord, p.Marker) + "\n"
}

// Renewed is the title and the text that a pull request gets for a newer
// proposal. What a person wrote stays: a title of theirs, text around that of
// Forge's, and text of Forge's that they changed, above the newer one.
func Renewed(is work.PullRequest, p work.PullProposal) (title, body string) {
	title, body = p.Title.String(), Body(p)
	was := strings.ReplaceAll(is.Body, "\r\n", "\n")
	begins, ends := textMark().FindStringSubmatchIndex(was), pullMark().FindStringIndex(was)
	switch {
	case begins == nil && ends != nil:
		return title, body // an earlier Forge wrote it, which did not say what was its own
	case begins == nil || ends == nil || ends[0] < begins[1]:
		if rest := strings.TrimSpace(pullMark().ReplaceAllString(textMark().ReplaceAllString(was, ""), "")); rest != "" {
			body = rest + "\n\n" + body
		}
		return is.Title, body
	}
	if sumOf(is.Title) != was[begins[2]:begins[3]] {
		title = is.Title
	}
	above, within, below := strings.TrimSpace(was[:begins[0]]), was[begins[1]:ends[0]], strings.TrimSpace(was[ends[1]:])
	if sumOf(within) != was[begins[4]:begins[5]] {
		above = strings.TrimSpace(above + "\n\n" + strings.TrimSpace(within))
	}
	if above != "" {
		body = above + "\n\n" + body
	}
	if below != "" {
		body += "\n" + below + "\n"
	}
	return title, body
}

// sumOf tells a text from another one, whatever blanks stand around it.
func sumOf(s string) string {
	sum := sha256.Sum256([]byte(strings.TrimSpace(s)))
	return hex.EncodeToString(sum[:16])
}

// Marked says that a body is of the work that marker names.
func Marked(body, marker string) bool {
	return strings.Contains(body, mark(pullWord, marker))
}

// MarkerIn is the mark in a body, "" = none. Of two, the body is nobody's.
func MarkerIn(body string) string {
	all := pullMark().FindAllStringSubmatch(body, 2)
	if len(all) != 1 {
		return ""
	}
	return all[0][1]
}

// MarkerOf is what MarkerIn finds of a marker.
func MarkerOf(marker string) string {
	sum := sha256.Sum256([]byte(marker))
	return hex.EncodeToString(sum[:16])
}

// Said is a comment with the mark of its key: a comment is looked for before
// it is posted, so that none is posted twice. thread is the id of what it
// answers, "" = the whole pull request.
func Said(key, thread string, body text.Markdown) string {
	return SaidText(key, thread, body.String())
}

// SaidText is Said of a comment that is put together already.
func SaidText(key, thread, body string) string {
	m := mark(replyWord, key)
	if thread != "" {
		m = strings.TrimSuffix(m, " -->") + " thread:" + thread + " -->"
	}
	return strings.TrimRight(body, "\n") + "\n\n" + m + "\n"
}

// SaidAlready says that a comment is the one of this key.
func SaidAlready(body, key string) bool {
	m := replyMark().FindStringSubmatch(body)
	return m != nil && "<!-- "+replyWord+":"+m[1]+" -->" == mark(replyWord, key)
}

// Noted says that the notes of a key are there.
func Noted(look work.PullLook, key string) bool {
	return slices.ContainsFunc(look.Reviews, func(r work.PullReview) bool { return r.Own && SaidAlready(r.Body, key) })
}

// NotesAsText is what notes say, where they cannot stand at their lines.
func NotesAsText(n work.PullNotes) text.Markdown {
	all := []text.Markdown{n.Body}
	for _, l := range n.Lines {
		all = append(all, text.Format("%s: %s", text.Code(fmt.Sprintf("%s:%d", l.Path, l.Line)), l.Body))
		if l.Trace != "" {
			all = append(all, FindingMark(l.Trace))
		}
	}
	return text.Join("\n\n", all...)
}

// OnPath is an answer to a thread of a file that stands on the whole pull
// request.
func OnPath(path string, body text.Markdown) text.Markdown {
	return text.Format("On %s:\n\n%s", text.Code(path), body)
}

// Answers is the thread that a comment of Forge's answers, "" = none.
func Answers(body string) string {
	if m := replyMark().FindStringSubmatch(body); m != nil {
		return m[2]
	}
	return ""
}

// Clip cuts a text after work.MaxCommentBytes, between two characters.
func Clip(s string) (string, bool) {
	return text.Cut(s, work.MaxCommentBytes), len(s) > work.MaxCommentBytes
}
