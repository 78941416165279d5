package host

import (
	"fmt"
	"regexp"
	"strings"

	"forge/internal/text"
	"forge/internal/work"
)

const (
	traceWord    = "forge-finding"
	reviewedWord = "forge-reviewed"
)

// Offer is how a host offers a fix to be committed.
type Offer int

const (
	OfferDiff     Offer = iota // it offers none: the fix is shown
	OfferLines                 // GitHub: it takes the place of the lines of the comment
	OfferRelative              // GitLab: it says how many lines around its own it replaces
)

// NoteBody is a note as it is posted: its words, its fix as the host offers one, and
// the trace by which it is found again.
func NoteBody(n work.PullNote, offer Offer) string {
	all := []text.Markdown{n.Body}
	if n.Fix != nil {
		fix := text.Markdown{}
		switch offer {
		case OfferLines:
			fix = text.Suggestion("", n.Fix.Now)
		case OfferRelative:
			fix = text.Suggestion(fmt.Sprintf(":-0+%d", n.Last()-n.Line), n.Fix.Now)
		}
		if fix.Empty() {
			fix = text.DiffBlock(n.Fix.Was, n.Fix.Now)
		}
		all = append(all, fix)
	}
	body := text.Join("\n\n", all...).String()
	if n.Trace != "" {
		body += "\n\n<!-- " + traceWord + ":" + plainWord(n.Trace) + " -->"
	}
	return body
}

// plainWord keeps a trace from ending the comment that it stands in.
func plainWord(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '.' || r == '-' {
			return r
		}
		return -1
	}, s)
}

var (
	traceMark    = text.Lazy(`<!-- ` + traceWord + `:([a-z0-9.-]+) -->`)
	reviewedMark = text.Lazy(`<!-- ` + reviewedWord + `:([0-9a-f]{40}):([0-9a-f]{40}) -->`)
)

// Traces are those that a comment of Forge's own holds.
func Traces(body string) []string { return firstGroup(traceMark(), body) }

func firstGroup(mark *regexp.Regexp, body string) (out []string) {
	for _, m := range mark.FindAllStringSubmatch(body, -1) {
		out = append(out, m[1])
	}
	return out
}

// Reviewed is the hidden line that says up to which commit a pull request was
// reviewed, and since which commit of its base.
func Reviewed(base, head string) text.Markdown {
	if !isCommit(base) || !isCommit(head) {
		return text.Markdown{}
	}
	return text.Hidden(reviewedWord + ":" + head + ":" + base)
}

func isCommit(id string) bool {
	return len(id) == 40 && strings.Trim(id, "0123456789abcdef") == ""
}

// ReviewedIn is what the last such line says among comments of Forge's own accounts,
// which alone count: anybody may copy one.
func ReviewedIn(look work.PullLook) (base, head string) {
	for _, body := range OwnWords(look) {
		if all := reviewedMark().FindAllStringSubmatch(body, -1); len(all) > 0 {
			head, base = all[len(all)-1][1], all[len(all)-1][2]
		}
	}
	return base, head
}

// OwnWords are what Forge's own accounts said on the whole of a pull request, in
// reviews and comments, each sort the oldest first.
func OwnWords(look work.PullLook) (out []string) {
	for _, r := range look.Reviews {
		if r.Own {
			out = append(out, r.Body)
		}
	}
	for _, c := range look.Comments {
		if c.Own {
			out = append(out, c.Body)
		}
	}
	return out
}

// FindingMark is the hidden line by which a finding is found again that is said on the
// whole.
func FindingMark(trace string) text.Markdown {
	return text.Hidden(traceWord + ":" + plainWord(trace))
}
