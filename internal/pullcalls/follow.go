package pullcalls

import (
	"fmt"
	"slices"
	"strings"

	"forge/factory"
	"forge/factory/tracker"
	"forge/internal/git"
	"forge/internal/pullrequest"
	"forge/internal/text"
	"forge/internal/work"
)

// The ends of calls, in the words of those on trackers.
const (
	callTaken   = "taken"
	callRefused = "refused"
	callIgnored = "ignored" // of who may not write
)

// seen is what a call is judged by.
type seen struct {
	look work.PullLook
	here bool   // its branch is in the repository itself
	name string // by which people call Forge
	// issue is the newest that a call on this pull request put on the board; ID 0 =
	// none did.
	issue work.Issue
	level func(name string) error
}

// follows is what follows from the calls of one comment.
type follows struct {
	end     string
	issue   work.Issue // as it is to be; ID 0 and a title = a new one
	changed bool
	review  bool
	explain bool
	words   []text.Markdown // that are said on the pull request
	heard   []text.Markdown // that it was heard, where no sign can be left at it
	calls   []tracker.Call
}

// follow is what follows from the calls in a comment, in their order.
func follow(c work.PullComment, s seen) follows {
	f := follows{end: callTaken, issue: s.issue, calls: tracker.Calls(c.Body, s.name)}
	if !slices.Contains(s.look.Writers, c.By) {
		f.end = callIgnored // nothing is said: who may not write learns nothing by calling
		return f
	}
	for _, call := range f.calls {
		why := ""
		switch {
		case s.look.State != work.PullOpen:
			why = "the pull request is " + string(s.look.State)
		case call.Command == "review":
			f.review = true
		case call.Command == "ignore":
			// forge review hears it where it looks.
		case begins(call) && !open(f.issue):
			why = f.begin(call, c, s)
		default:
			why = f.act(call, c, s)
		}
		if why != "" {
			f.end = callRefused
			f.words = append(f.words, text.Format("Not done, %s: %s", text.Code(call.Command), text.OneLine(why, 500)))
		}
	}
	if f.review {
		f.heard = append(f.heard, text.Own("Heard: the change is reviewed, and what is found stands here."))
	}
	return f
}

// begins says that a call asks for work on the branch.
func begins(call tracker.Call) bool {
	return call.Command == "fix" || call.Command == "do" || call.Command == "plan"
}

// open says that there is an issue which is worked on, waits or is to be looked at.
func open(i work.Issue) bool {
	return i.Title != "" && !factory.Over(i) && i.State != work.IssueFailed
}

// begin makes a new issue of what is called for, or says why there is none.
func (f *follows) begin(call tracker.Call, c work.PullComment, s seen) (why string) {
	if !s.here {
		return "its branch is in another repository, and Forge pushes nothing there; review it instead"
	}
	if !git.ValidBranch(s.look.Branch) {
		return "its branch has a name that none of Forge's results can be for"
	}
	wanted := wantedIn(c.Body, s.name)
	mend := mendable(s.look)
	if wanted == "" && mend == "" {
		return "say beside or below it what is to be done: nobody asks for changes here, and no check has failed"
	}
	title := text.FirstLine(wanted, 120)
	if title == "" {
		title = "what reviews and checks found"
	}
	i := work.Issue{
		Title:    text.ClipLine(fmt.Sprintf("Pull request %d: %s", s.look.Number, title), work.MaxIssueTitle),
		Priority: work.PriorityNormal, Column: work.ColumnReady, Source: sourceOf(s.look.Number), Target: s.look.Branch,
	}
	parts := []string{fmt.Sprintf("%s asks for this on pull request %d, %q, of the branch %s into %s.", text.OneLine(c.By, 60), s.look.Number, text.OneLine(s.look.Title, 200), s.look.Branch, s.look.Base)}
	for _, part := range []string{wanted, mend} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	i.Description = text.Clip(text.Plain(strings.Join(parts, "\n\n")), work.MaxIssueDescription)
	if call.Command == "plan" {
		after := tracker.Act(call, i, c.By, "", s.level)
		if i = after.Is; after.Refused != "" {
			return after.Refused
		}
	}
	f.issue, f.changed = i, true
	f.heard = append(f.heard, text.Format("Heard: Forge works on it, and proposes what it proved for %s.", text.Code(s.look.Branch)))
	return ""
}

// act is a call that is about the issue which works on the pull request.
func (f *follows) act(call tracker.Call, c work.PullComment, s seen) (why string) {
	command, known := tracker.CommandNamed(call.Command)
	switch {
	case !known:
		return "there is no such command: on a pull request there are fix (do is the same), plan, review, retry, stop, level NAME, budget N and explain"
	case command.Takes != "" && call.Given == "":
		return call.Command + " takes " + command.Takes
	case f.issue.Title == "" && call.Command == "explain":
		f.words = append(f.words, text.Own("Nothing is worked on for this pull request: fix, with what is to be done, begins it."))
		return ""
	case f.issue.Title == "":
		return "nothing is worked on for this pull request: fix, with what is to be done, begins it"
	case begins(call):
		if f.issue.ID == 0 {
			return "the comment asks for it already"
		}
		return fmt.Sprintf("issue %d is worked on for this pull request: stop it first, or wait for it", f.issue.ID)
	}
	after := tracker.Act(call, f.issue, c.By, "", s.level)
	switch {
	case after.Refused != "":
		return after.Refused
	case after.Explain:
		f.explain = true
	case after.Said != "":
		f.words = append(f.words, text.Format("%s", text.OneLine(after.Said, 500)))
	case call.Command == "stop":
		f.heard = append(f.heard, text.Own("Heard: nobody works on it any more."))
	default:
		f.heard = append(f.heard, text.Format("Heard: %s.", text.Code(strings.TrimSpace(call.Command+" "+call.Given))))
	}
	f.issue, f.changed = after.Is, true
	return ""
}

// wantedIn is what a comment says beside its calls: what follows fix in its line, and
// all other lines.
func wantedIn(body, name string) string {
	var out []string
	for line := range strings.SplitSeq(text.Plain(body), "\n") {
		line = strings.TrimRight(line, " \r")
		calls := tracker.Calls(line, name)
		switch {
		case len(calls) == 0:
			out = append(out, line)
		case begins(calls[0]) && calls[0].Given != "":
			words := strings.Fields(line)
			out = append(out, strings.Join(words[2:], " "))
		}
	}
	return strings.TrimSpace(strings.Join(out, "\n"))
}

// mendable is what stands on a pull request that may be asked to be mended: what people
// who may write say in reviews and at lines, and checks that failed.
func mendable(look work.PullLook) string {
	look.Comments = nil // what they say on the whole was said to people
	return pullrequest.Unheard(look, nil).Said
}

func sourceOf(number int64) string { return fmt.Sprintf("%s%d", work.PullSource, number) }

// numberOf is the pull request that an issue was called for on, 0 = none.
func numberOf(i work.Issue) (n int64) {
	if rest, ok := strings.CutPrefix(i.Source, work.PullSource); ok {
		_, _ = fmt.Sscanf(rest, "%d", &n)
	}
	return n
}

// ownPull says that a pull request is one of Forge's.
func ownPull(p work.PullRequest) bool {
	return p.Marker != "" || strings.HasPrefix(p.Branch, "forge/")
}
