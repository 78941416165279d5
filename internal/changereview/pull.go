package changereview

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"forge/internal/host"
	"forge/internal/pullrequest"
	"forge/internal/refusal"
	"forge/internal/text"
	"forge/internal/work"
	"forge/review"
)

// pull is the pull request under review, as it was when the review began.
type pull struct {
	host host.Host
	call string // by which people call Forge, "" = nobody does
	look work.PullLook
	// again says that it was reviewed before: reviewers are shown what is new.
	again   bool
	since   string        // head that was reviewed last
	before  review.Change // what the change was then, where again
	earlier []earlier
	intent  string
}

// earlier is a finding that stands on the pull request.
type earlier struct {
	review.Trace
	thread *work.PullThread // nil = it is said on the whole
}

// onPull finds the pull request, and makes its base and its head those of the review.
// The host is the one that the base names: a change says nothing of where its review
// is read or posted.
func (r *ongoing) onPull(ctx context.Context) error {
	if _, err := r.configure(ctx); err != nil {
		return err
	}
	set, err := pullrequest.HostSettings(r.Checkout)
	if err != nil {
		return err
	}
	if set.Kind == "local" {
		return refusal.New("set [host], or leave --pull out", "there is no code host whose pull request %d could be reviewed", r.options.Pull)
	}
	p := &pull{call: set.Call}
	if p.host, err = pullrequest.OpenHost(r.Checkout, set, r.repo); err == nil {
		p.look, err = p.host.Look(ctx, r.options.Pull)
	}
	if err != nil {
		return pullrequest.HostRefused(err)
	}
	if p.look.State != work.PullOpen {
		return refusal.New("name one that is open", "the pull request %d is %s", r.options.Pull, p.look.State)
	}
	refs := fmt.Sprintf("refs/forge/review/%d/", r.options.Pull)
	tip, err := p.host.Fetch(ctx, p.look.Base, refs+"base")
	if err != nil {
		return pullrequest.HostRefused(err)
	}
	head, err := r.repo.FindCommit(ctx, p.look.Head)
	if err == nil && head == "" {
		head, err = p.host.Fetch(ctx, p.look.Branch, refs+"head")
	}
	if err != nil {
		return pullrequest.HostRefused(err)
	}
	if tip == "" || head != p.look.Head {
		return refusal.New("fetch it into this clone first, such as git fetch origin pull/7/head", "the head of the pull request %d, %s, is not here: its branch is elsewhere, or moved just now", r.options.Pull, text.Short(p.look.Head))
	}
	r.pull, r.Checkout.Base.Commit, r.options.Committed = p, head, true
	r.base, err = r.leftAt(ctx, candidate{shown: p.look.Base, why: fmt.Sprintf("base of the pull request %d", r.options.Pull)}, tip)
	if err != nil {
		return err
	}
	p.earlier = earlierOf(p.look)
	p.intent = r.intentOf(ctx)
	return nil
}

// earlierOf are the findings of earlier reviews by Forge's own accounts, but those that
// it has settled itself. That a person marked a thread as resolved takes nothing back:
// on some hosts the author of the change may.
func earlierOf(look work.PullLook) (out []earlier) {
	add := func(body string, thread *work.PullThread) {
		for _, word := range host.Traces(body) {
			if t, ok := review.ParseTrace(word); ok {
				out = append(out, earlier{t, thread})
			}
		}
	}
	for i := range look.Threads {
		t := &look.Threads[i]
		if len(t.Comments) == 0 || !t.Comments[0].Own {
			continue
		}
		if of := host.Traces(t.Comments[0].Body); len(of) == 1 && !settled(*t, of[0]) {
			add(t.Comments[0].Body, t)
		}
	}
	for _, body := range host.OwnWords(look) {
		add(body, nil)
	}
	return out
}

// settled says that Forge said of a finding in its thread that it is gone.
func settled(t work.PullThread, trace string) bool {
	of, _ := review.ParseTrace(trace)
	for _, c := range t.Comments {
		if c.Own && host.SaidAlready(c.Body, goneKey(of)) {
			return true
		}
	}
	return false
}

func goneKey(t review.Trace) string { return "gone " + t.ID }

// mostIssues is how many issues the text of a pull request links that are read.
const mostIssues = 3

var closes = text.Lazy(`(?i)\b(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?|implements?)\b:?\s+#([0-9]{1,9})\b`)

// intentOf is what the pull request and the issues that it closes say it is for.
func (r *ongoing) intentOf(ctx context.Context) string {
	look := r.pull.look
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n%s\n", text.OneLine(look.Title, 300), withoutMarks(look.Body))
	read := map[string]bool{}
	for _, m := range closes().FindAllStringSubmatch(look.Body, -1) {
		if read[m[1]] || len(read) == mostIssues {
			continue
		}
		read[m[1]] = true
		n, _ := strconv.ParseInt(m[1], 10, 64) // it has at most nine digits
		i, err := r.pull.host.Issue(ctx, n)
		if err != nil {
			r.Log.Warn("an issue that the pull request names is not read", "issue", n, "err", err)
			continue
		}
		fmt.Fprintf(&b, "\nIssue %d, %s\n\n%s\n", n, text.OneLine(i.Title, 300), i.Body)
	}
	return b.String()
}

var htmlComment = text.Lazy(`(?s)<!--.*?-->`)

// withoutMarks is a text without what a host does not show.
func withoutMarks(body string) string {
	return strings.TrimSpace(htmlComment().ReplaceAllString(body, ""))
}

// onlyNew takes out of what is shown what was reviewed already, hunk by hunk, so that
// a rebase or a merge of the base asks about nothing twice. Where the commit that was
// reviewed is not here any more, all of it is shown.
func (r *ongoing) onlyNew(ctx context.Context, change func(ctx context.Context, base, commit string) (review.Change, error)) error {
	base, head := host.ReviewedIn(r.pull.look)
	if head == "" {
		return nil
	}
	r.pull.since = head
	for _, commit := range []string{base, head} {
		if there, err := r.repo.Exists(ctx, commit); err != nil || !there {
			r.Log.Info("the commit that was reviewed last is not here: all of the change is reviewed", "commit", text.Short(head))
			return err
		}
	}
	old, err := change(ctx, base, head)
	if err != nil {
		return err
	}
	fresh := r.shown.Without(old)
	if len(fresh.Files) > 0 && slices.ContainsFunc(r.pull.earlier, func(e earlier) bool { return !old.Has(e.File) }) {
		r.Log.Info("an earlier finding is about no single file of the change: all of the change is reviewed")
		return nil
	}
	r.pull.again, r.pull.before, r.shown = true, old, fresh
	return nil
}

// traced are findings of this review with their traces, those of reviewers and then
// Forge's own.
func (r *ongoing) traced(res Result) (all []review.Trace) {
	for _, f := range append(res.Findings[:len(res.Findings):len(res.Findings)], res.Own...) {
		all = append(all, review.TraceOf(f.Finding, f.Gating, r.whole)) // cleaned, as it is posted
	}
	return all
}

// Earlier is a finding of an earlier review of the pull request.
type Earlier struct {
	ID       string        `json:"id"`
	File     string        `json:"file,omitempty"`
	Severity work.Severity `json:"severity"`
	Gating   bool          `json:"gating"`
}

// sorted are the earlier findings that still stand, and those whose cause is gone.
// What is said again now, or let stand, is neither. One is gone when its file was part of
// the change and is not any more; or when its line is another one, or was shown again,
// and all who had found it looked and did not find it. One about no single file of the
// change is gone only when they looked at all of it.
func (r *ongoing) sorted(ctx context.Context, now []review.Trace, asked []reviewed) (standing, gone []earlier, err error) {
	seen := map[string]bool{}
	for _, e := range r.pull.earlier {
		if seen[e.ID] || r.ours(e.Trace) || saidAgain(e.Trace, now) {
			continue
		}
		seen[e.ID] = true
		there := r.whole.Has(e.File)
		over := !there && r.pull.again && r.pull.before.Has(e.File)
		switch {
		case over || !r.looked(e.Trace, asked):
		case !there:
			over = !r.pull.again
		default:
			content, err := r.contentOf(ctx, e.Trace)
			if err != nil {
				return nil, nil, err
			}
			over = r.shown.Has(e.File) && (!e.StandsIn(content) || r.shown.Shows(e.Trace))
		}
		switch {
		case over:
			gone = append(gone, e)
		case !r.letStand(e.Trace):
			standing = append(standing, e)
		}
	}
	return standing, gone, nil
}

// ours says that Forge found it itself: that is found anew each time.
func (r *ongoing) ours(t review.Trace) bool {
	return len(t.By) == 1 && t.By[0] == review.ByTrace(forgeItself)
}

func saidAgain(t review.Trace, now []review.Trace) bool {
	for _, n := range now {
		if n.Same(t) {
			return true
		}
	}
	return false
}

// looked says that all who had found it gave a usable answer now.
func (r *ongoing) looked(t review.Trace, asked []reviewed) bool {
	usable := map[string]bool{}
	for _, a := range asked {
		usable[review.ByTrace(a.Name)] = a.asks > 0 && a.Verdict != work.VerdictUnknown
	}
	for _, by := range t.By {
		if !usable[by] {
			return false
		}
	}
	return len(t.By) > 0
}

// contentOf is the file that a trace is about, as it is now.
func (r *ongoing) contentOf(ctx context.Context, t review.Trace) ([]byte, error) {
	for _, f := range r.whole.Files {
		if review.FileTrace(review.Name(f.Path)) == t.File && f.Status != review.Deleted {
			return r.repo.Show(ctx, r.now, f.Path)
		}
	}
	return nil, nil
}

// fileOf is the name of the file that a trace is about, "" = the change has none.
func (r *ongoing) fileOf(t review.Trace) string {
	for _, f := range r.whole.Files {
		if name := review.Name(f.Path); review.FileTrace(name) == t.File {
			return name
		}
	}
	return ""
}
