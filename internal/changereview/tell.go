package changereview

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"forge/factory/tracker"
	"forge/internal/host"
	"forge/internal/ignored"
	"forge/internal/pullrequest"
	"forge/internal/text"
	"forge/internal/work"
	"forge/review"
)

// tell says on the pull request what is new of its review, settles what is gone, and
// answers who called for findings to be let stand. What was said before is not said
// again, whatever died in between.
func (r *ongoing) tell(ctx context.Context, res Result, asked []reviewed) (Result, error) {
	traces := r.traced(res)
	standing, gone, err := r.sorted(ctx, traces, asked)
	if err != nil {
		return res, err
	}
	r.carry(&res, standing, gone)
	res.Ignored, res.Expired = append([]Ignored{}, r.ignored...), append([]Ignored{}, r.expired...)
	for _, e := range gone {
		if e.thread == nil {
			continue
		}
		why := text.Format("Gone as of %s: who had found it looked again and has nothing against it.", text.Code(text.Short(r.now)))
		if !r.whole.Has(e.File) {
			why = text.Format("Gone as of %s: the change does not touch this file any more.", text.Code(text.Short(r.now)))
		}
		if err := r.pull.host.Settle(ctx, r.pull.look.Number, *e.thread, goneKey(e.Trace), why); err != nil {
			return res, fmt.Errorf("settle a finding: %w", pullrequest.HostRefused(err))
		}
	}
	if notes, due := r.notes(res, traces); due {
		if err := r.pull.host.Note(ctx, notes); err != nil {
			return res, fmt.Errorf("post the review: %w", pullrequest.HostRefused(err))
		}
		r.Log.Info("posted on the pull request", "pull", r.pull.look.URL, "new", len(notes.Lines))
	} else {
		r.Log.Info("nothing new to say on the pull request", "pull", r.pull.look.URL)
	}
	return res, r.heard(ctx, res, traces)
}

// carry adds what stands of earlier reviews to a result: who is asked about what is
// new alone says nothing of that.
func (r *ongoing) carry(res *Result, standing, gone []earlier) {
	of := func(e earlier) Earlier {
		return Earlier{ID: e.ID, File: r.clean(r.fileOf(e.Trace)), Severity: e.Severity, Gating: e.Gating}
	}
	holds := 0
	for _, e := range standing {
		res.Standing = append(res.Standing, of(e))
		if e.Gating && e.Severity != work.SeverityMinor {
			holds++
		}
	}
	for _, e := range gone {
		res.Gone = append(res.Gone, of(e))
	}
	verdict := work.VerdictPass
	if len(r.ignored) > len(res.Ignored) { // of earlier reviews
		verdict = work.VerdictWarn
		res.Why = append(res.Why, fmt.Sprintf("%s let stand by %s", text.Number(len(r.ignored)-len(res.Ignored), "earlier finding"), ignored.File))
	}
	switch {
	case holds > 0:
		verdict = work.VerdictFail
		res.Why = append([]string{fmt.Sprintf("%s of earlier reviews still there, by a reviewer that gates", text.Number(holds, "finding"))}, res.Why...)
	case len(standing) > 0:
		verdict = work.VerdictWarn
		res.Why = append(res.Why, fmt.Sprintf("%s of earlier reviews still there", text.Number(len(standing), "finding")))
	}
	// Fail counts before unknown, as within one review.
	order := []work.Verdict{work.VerdictPass, work.VerdictWarn, work.VerdictUnknown, work.VerdictFail}
	if slices.Index(order, verdict) > slices.Index(order, res.Verdict) {
		res.Verdict = verdict
	}
}

// mostLines is how many findings are said at their lines.
const mostLines = 30

// notes is what is posted; not due, where there is nothing to say: no reviewer was
// shown anything, and the review stands there already. A review that is unknown is
// not counted as one: what it did not see is asked about again.
func (r *ongoing) notes(res Result, traces []review.Trace) (n work.PullNotes, due bool) {
	number := r.pull.look.Number
	n = work.PullNotes{Number: number, Commit: r.now, Key: fmt.Sprintf("review %s %s", r.now, res.Verdict)}
	known := func(i int) bool {
		return slices.ContainsFunc(r.pull.earlier, func(e earlier) bool { return traces[i].Same(e.Trace) })
	}
	posted := res
	posted.Findings, posted.Own, posted.Notes = nil, nil, nil
	var marks []text.Markdown
	fresh := 0
	for i, f := range res.Findings {
		if known(i) {
			continue
		}
		fresh++
		if lines, ok := r.whole.Lines(f.File, f.Line, max(f.Line, f.EndLine)); ok && len(n.Lines) < mostLines && !r.deleted(f.File) {
			n.Lines = append(n.Lines, r.note(f, traces[i], lines))
			continue
		}
		posted.Findings = append(posted.Findings, f)
		marks = append(marks, host.FindingMark(traces[i].String()))
	}
	for i, f := range res.Own {
		if at := len(res.Findings) + i; !known(at) {
			posted.Own = append(posted.Own, f)
			marks = append(marks, host.FindingMark(traces[at].String()))
			fresh++
		}
	}
	all := []text.Markdown{Markdown(posted)}
	if len(n.Lines) > 0 {
		all = append(all, text.Format("%s at the lines. `/%s ignore NAME reason` by somebody who may write proposes to let one stand.", text.Number(len(n.Lines), "finding"), cmp.Or(r.pull.call, "forge")))
	}
	if all = append(all, marks...); res.Verdict != work.VerdictUnknown {
		all = append(all, host.Reviewed(r.base.Commit, r.now))
	}
	n.Body = text.Join("\n\n", all...)
	return n, !r.pull.again || fresh > 0 || len(res.Gone) > 0 || len(r.shown.Files) > 0
}

// deleted says that a file is gone with the change: hosts have no lines for it.
func (r *ongoing) deleted(file string) bool {
	return slices.ContainsFunc(r.whole.Files, func(f review.File) bool { return review.Name(f.Path) == file && f.Status == review.Deleted })
}

// note is one finding at its lines, by the name by which people speak of it.
func (r *ongoing) note(f Finding, t review.Trace, lines []string) work.PullNote {
	n := work.PullNote{Path: f.File, Line: f.Line, Trace: t.String(), Body: text.Join("\n\n", pullrequest.TellNote(f.Finding), text.Format("Finding %s", text.Code(t.ID)))}
	if f.Replacement != nil {
		n.Fix = &work.PullFix{Was: lines, Now: *f.Replacement}
	}
	return n
}

// called is one call to let a finding stand.
type called struct {
	comment work.PullComment
	id      string // of the finding
	until   string
	reason  string
}

var (
	findingName = text.Lazy(`^[0-9a-f]{10}$`)
	untilDay    = text.Lazy(`^until:?=?([0-9]{4}-[0-9]{2}-[0-9]{2})$`)
)

// ignoreCalls are the calls of who may write to let findings stand. In the thread of
// a finding its name may be left out. Others' calls say nothing.
func ignoreCalls(look work.PullLook, name string) (out []called) {
	hear := func(c work.PullComment, of string) {
		if c.Own || !slices.Contains(look.Writers, c.By) {
			return
		}
		for _, call := range tracker.Calls(c.Body, name) {
			if call.Command != "ignore" {
				continue
			}
			words := strings.Fields(call.Given)
			one := called{comment: c, id: of}
			if len(words) > 0 && findingName().MatchString(strings.Trim(words[0], "`")) {
				one.id, words = strings.Trim(words[0], "`"), words[1:]
			}
			words = slices.DeleteFunc(words, func(w string) bool { return takes(untilDay(), w, &one.until) })
			one.reason = strings.Join(words, " ")
			out = append(out, one)
		}
	}
	for _, c := range look.Comments {
		hear(c, "")
	}
	for _, t := range look.Threads {
		of := ""
		if len(t.Comments) > 0 && t.Comments[0].Own {
			for _, word := range host.Traces(t.Comments[0].Body) {
				if trace, ok := review.ParseTrace(word); ok {
					of = trace.ID
				}
			}
		}
		for _, c := range t.Comments {
			hear(c, of)
		}
	}
	return out
}

func takes(form *regexp.Regexp, word string, into *string) bool {
	m := form.FindStringSubmatch(word)
	if m != nil {
		*into = m[1]
	}
	return m != nil
}

// heard answers the calls to let findings stand: those that name one and a reason are
// proposed for the base's own file, by a pull request. They hold once it is merged.
func (r *ongoing) heard(ctx context.Context, res Result, now []review.Trace) error {
	look := r.pull.look
	for _, c := range ignoreCalls(look, r.pull.call) {
		key := "call " + c.comment.ID
		if slices.ContainsFunc(host.OwnWords(look), func(body string) bool { return host.SaidAlready(body, key) }) {
			continue
		}
		said, err := r.propose(ctx, c, now)
		if err == nil {
			err = r.pull.host.Comment(ctx, look.Number, key, said)
		}
		if err != nil {
			return fmt.Errorf("answer a call: %w", pullrequest.HostRefused(err))
		}
	}
	return nil
}

// propose opens the pull request for one call, and returns what is answered.
func (r *ongoing) propose(ctx context.Context, c called, now []review.Trace) (text.Markdown, error) {
	var t review.Trace
	for _, e := range r.pull.earlier {
		now = append(now, e.Trace)
	}
	if at := slices.IndexFunc(now, func(n review.Trace) bool { return n.ID == c.id }); at >= 0 {
		t = now[at]
	}
	switch {
	case t.ID == "":
		return text.Format("Not done, %s: no finding of this pull request is called so.", text.Code(cmp.Or(c.id, "ignore"))), nil
	case r.ours(t) || t.Anchor == "":
		return text.Format("Not done, %s: it is about no line, so that nothing would tell it from others. What Forge finds itself, `--may-change` lets go.", text.Code(t.ID)), nil
	case text.Blank(c.reason):
		return text.Format("Not done, %s: say why it may stand, behind its name.", text.Code(t.ID)), nil
	case c.until != "" && c.until <= r.Now().UTC().Format(time.DateOnly):
		return text.Format("Not done, %s: %s is over.", text.Code(t.ID), c.until), nil
	}
	body := ""
	files, err := r.repo.Files(ctx, r.base.Tip)
	if err != nil {
		return text.Markdown{}, err
	}
	if slices.Contains(files, ignored.File) {
		data, err := r.repo.Show(ctx, r.base.Tip, ignored.File)
		if err != nil {
			return text.Markdown{}, err
		}
		body = string(data)
	}
	e := ignored.New(t, r.fileOf(t), c.reason, c.comment.By, c.until, r.Now())
	body, problems := ignored.Add(body, e)
	if problems != nil {
		return text.Format("Not done, %s: %s", text.Code(t.ID), problems[0].What), nil
	}
	title := text.Titled("Let the finding %s stand", t.ID)
	commit, err := r.repo.WithFiles(ctx, r.base.Tip, map[string][]byte{ignored.File: []byte(body)}, title.String()+"\n", "")
	if err != nil {
		return text.Markdown{}, err
	}
	branch := "forge/ignore-" + t.ID
	h := r.pull.host
	old, err := h.Head(ctx, branch)
	if err == nil && old == "" { // what stands there is of a call before, and people may have changed it
		err = h.Push(ctx, branch, commit, "")
	}
	if err != nil {
		return text.Markdown{}, err
	}
	made, err := r.opened(ctx, work.PullProposal{Marker: "ignore " + t.ID, Branch: branch, Base: r.pull.look.Base, Title: title, Body: text.Join("\n\n",
		text.Format("Asked for by %s on pull request %s, until %s:", e.By, r.pull.look.URL, e.Until), text.Quote(e.Reason),
		text.Format("It holds for reviews once this is merged, and counts no more after that day. %s lists what is let stand.", text.Code("forge review ignored")))})
	if err != nil {
		return text.Markdown{}, err
	}
	return text.Format("Heard: to let %s stand until %s is proposed as pull request %d. It holds once that is merged.", text.Code(t.ID), e.Until, made.Number), nil
}

// opened opens a pull request; a host may need a moment to see a branch that was
// just pushed.
func (r *ongoing) opened(ctx context.Context, p work.PullProposal) (made work.PullRequest, err error) {
	for range 20 {
		if made, err = r.pull.host.OpenPull(ctx, p); work.HostKindOf(err) != work.HostNotYet {
			break
		}
		if err := waitFor(ctx, 250*time.Millisecond); err != nil {
			return made, err
		}
	}
	return made, err
}
