package host

import (
	"strings"
	"testing"

	"forge/internal/text"
	"forge/internal/work"
)

// What a person wrote into a pull request survives the next text of Forge's,
// which stands in it once.
func TestRenewed(t *testing.T) {
	t.Parallel()
	proposal := func(title, body string) work.PullProposal {
		return work.PullProposal{Marker: "run branch", Title: text.Titled("%s", title), Body: text.Format("%s", body)}
	}
	first, second := proposal("Phase 01: one", "First words."), proposal("Phase 01: again", "Second words.")
	edited := func(old, with string) func(*work.PullRequest) {
		return func(p *work.PullRequest) { p.Body = strings.Replace(p.Body, old, with, 1) }
	}
	for name, c := range map[string]struct {
		by    func(*work.PullRequest)
		title string
		has   []string // in this order
		not   string
	}{
		"nobody changed anything": {func(*work.PullRequest) {}, "Phase 01: again", []string{"Second words."}, "First"},
		"another title":           {func(p *work.PullRequest) { p.Title = "Renamed by ann" }, "Renamed by ann", []string{"Second words."}, "First"},
		"marked as a draft":       {func(p *work.PullRequest) { p.Title = "WIP: " + p.Title }, "WIP: Phase 01: one", []string{"Second words."}, "First"},
		"text above and below": {func(p *work.PullRequest) { p.Body = "See below.\r\n\r\n" + p.Body + "\nMy notes." }, "Phase 01: again",
			[]string{"See below.", "Second words.", "My notes."}, "First"},
		"text in between":      {edited("First words.", "First words.\n\nMind the gap."), "Phase 01: again", []string{"First words.\n\nMind the gap.", "Second words."}, ""},
		"everything is theirs": {func(p *work.PullRequest) { p.Title, p.Body = "Mine", "All mine." }, "Mine", []string{"All mine.", "Second words."}, "First"},
		"the end mark is gone": {func(p *work.PullRequest) { p.Body = p.Body[:strings.LastIndex(p.Body, "<!--")] }, "Phase 01: one", []string{"First words.", "Second words."}, ""},
		"blanks of the host":   {func(p *work.PullRequest) { p.Body = strings.ReplaceAll(p.Body, "\n", "\r\n") + "\r\n" }, "Phase 01: again", []string{"Second words."}, "First"},
		"written by an earlier one": {func(p *work.PullRequest) {
			p.Title, p.Body = "Phase 01: old", "Old words.\n\n"+mark(pullWord, "run branch")+"\n"
		}, "Phase 01: again", []string{"Second words."}, "Old"},
	} {
		is := work.PullRequest{Title: first.Title.String(), Body: Body(first)}
		c.by(&is)
		for round := range 3 {
			title, body := Renewed(is, second)
			at := 0
			for _, want := range c.has {
				i := strings.Index(body[at:], want)
				if i < 0 {
					t.Fatalf("%s, round %d: %q stands not at its place in\n%s", name, round, want, body)
				}
				at += i
			}
			if title != c.title || c.not != "" && strings.Contains(body, c.not) || MarkerIn(body) != MarkerOf("run branch") || strings.Count(body, "Second words.") != 1 {
				t.Errorf("%s, round %d: %q\n%s", name, round, title, body)
			}
			is.Title, is.Body = title, body
		}
	}
}
