package pullrequest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"forge/internal/host"
	texts "forge/internal/text"
	"forge/internal/work"
	"forge/orchestrator"
)

// Read says what people did to a pull request and its branch.
func (h *Port) Read(ctx context.Context, req orchestrator.PullRead) (orchestrator.PullReading, error) {
	out, err := h.read(ctx, req)
	if t := PullTrouble(err); t != nil {
		return orchestrator.PullReading{Trouble: t}, nil
	}
	return out, err
}

func (h *Port) read(ctx context.Context, req orchestrator.PullRead) (orchestrator.PullReading, error) {
	var look work.PullLook
	var head string
	var headErr error // counts where the branch does
	err := host.Together(
		func() (err error) { look, err = h.Look(ctx, req.Number); return err },
		func() error { head, headErr = h.fetch(ctx, req.Branch, req.Ref+"/head"); return nil },
	)
	if err != nil {
		return orchestrator.PullReading{}, err
	}
	if req.Checks && h.Fixes > 0 {
		WithLogs(ctx, h.Host, &look, h.Warn)
	} else {
		look.CI = work.PullChecks{} // they are told where the agent is to mend them
	}
	out := Unheard(look, req.Heard)
	if req.Checks && h.Fixes > 0 {
		seen := look.CI.Seen(look.Head, req.Heard, h.Fixes, time.Now())
		out.Checks = &seen
	}
	name := fmt.Sprintf("pull request %d", req.Number)
	switch {
	case host.Retargeted(look.PullRequest, req.Branch, req.Base) && look.State != work.PullClosed:
		out.Lost = retargetedLost(look, req.Branch, req.Base, texts.Harmless(h.Host.RetargetedBy(ctx, req.Number)))
		return out, nil
	case look.State == work.PullMerged:
		if _, err := h.fetch(ctx, look.Base, req.Ref+"/base"); err != nil {
			return out, err
		}
		out.Merged, out.MergedBy = look.MergeCommit, OrUnknown(look.MergedBy)
		out.Tree, err = h.Tree(ctx, out.Merged)
		return out, err
	case look.State != work.PullOpen && look.BranchGone:
		out.Lost = name + " was closed on the host and its branch is gone; restore the branch and reopen it there to go on with it"
		return out, nil
	case look.State != work.PullOpen:
		out.Lost = name + " was closed on the host; reopen it there to go on with it"
		return out, nil
	}
	if headErr != nil {
		return out, headErr
	}
	if out.Head = head; head == "" {
		out.Lost = "the branch of " + name + " was deleted on the host; restore it there to go on with it"
		return out, nil
	}
	if head == req.Last || slices.Contains(req.Known, head) {
		return out, nil
	}
	return h.pushed(ctx, req, out)
}

// retargetedLost is why a pull request that was pointed elsewhere is no place to
// answer any more.
func retargetedLost(look work.PullLook, branch, base, by string) string {
	name := fmt.Sprintf("pull request %d", look.Number)
	if look.State == work.PullMerged {
		return fmt.Sprintf("%s was merged on the host by %s into %s, and not into %s", name, OrUnknown(look.MergedBy), look.Base, base)
	}
	return fmt.Sprintf("%s is no place to answer: %s; set it back to %s there to go on with it", name, host.TellRetargeted(look.PullRequest, branch, base, by), base)
}

// pushed takes people's commits in, when they are on top of something that
// Forge put there.
func (h *Port) pushed(ctx context.Context, req orchestrator.PullRead, out orchestrator.PullReading) (orchestrator.PullReading, error) {
	on := ""
	for _, known := range append(slices.Clone(req.Known), req.Last) {
		held, err := h.Repo.Holds(ctx, out.Head, known)
		if err != nil {
			return out, err
		}
		if held {
			on = known // they are in the order in which they grew
		}
	}
	if on == "" {
		out.Lost = "the branch was forced to something that does not grow out of what Forge pushed; push " + req.Last + " back to go on with it"
		return out, nil
	}
	changes, err := h.Repo.Changes(ctx, on, out.Head)
	if err != nil {
		return out, err
	}
	for _, c := range changes {
		out.Files = append(out.Files, c.Path)
	}
	if out.By, err = h.Repo.Authors(ctx, on, out.Head); err != nil {
		return out, err
	}
	for i, name := range out.By {
		out.By[i] = texts.OneLine(name, 60)
	}
	out.Commit = out.Head
	if on != req.Last {
		m, err := h.Repo.Merge(ctx, req.Last, out.Head)
		if err != nil {
			return out, err
		}
		out.Conflicts = m.Conflicts // for the agent
		if out.Commit, err = h.Repo.CommitTree(ctx, m.Tree, []string{req.Last, out.Head}, "merge of what people pushed\n", req.Ref+"/merged"); err != nil {
			return out, err
		}
		out.Tree = m.Tree
		return out, nil
	}
	out.Tree, err = h.Tree(ctx, out.Commit)
	return out, err
}

// What is told to the agent of each comment, in bytes, and in one round.
const (
	mostOfComment = 3 << 10
	mostOfThread  = 5 << 10 // fits into a round with its hunk, or nobody were ever told of it
	MostOfRound   = 8 << 10
)

// Unheard is what people said and no iteration was told yet, as far as it fits
// into one round. What strangers say is not passed on.
func Unheard(look work.PullLook, heard []string) orchestrator.PullReading {
	return UnheardIn(look, heard, MostOfRound)
}

// UnheardIn is unheard, in at most so many bytes.
func UnheardIn(look work.PullLook, heard []string, left int) orchestrator.PullReading {
	var out orchestrator.PullReading
	fresh := func(id string) bool { return !slices.Contains(heard, id) }
	may := map[string]bool{}
	for _, who := range look.Writers {
		may[who] = true
	}
	tell := func(text string, ids ...string) bool {
		if text != "" && len(text)+2 > left {
			return false
		}
		left -= len(text) + 2
		if text != "" {
			out.Said = strings.TrimSpace(out.Said + "\n\n" + text)
		}
		out.Heard = append(out.Heard, ids...)
		return true
	}
	if id := work.ChecksMark(look.Head); len(look.CI.Failed) > 0 && fresh(id) {
		if !tell(tellChecks(look, min(left, mostOfChecks)), id) {
			tell(tellChecks(look, 0), id)
		}
	}
	for _, r := range look.Reviews {
		id := "r" + r.ID
		if !may[r.By] || r.Own || r.Dismissed || !fresh(id) {
			continue
		}
		text := ""
		if body := strings.TrimSpace(r.Body); body != "" {
			text = fmt.Sprintf("%s, in a review (%s):\n%s", r.By, strings.ReplaceAll(string(r.Verdict), "_", " "), CutTo(body, mostOfComment))
		}
		if tell(text, id) && r.Verdict != work.PullCommented {
			out.Reviews = append(out.Reviews, id)
		}
	}
	for _, t := range host.Open(look.Threads) {
		if text, ids := tellThread(t, may, fresh); len(ids) > 0 && tell(text, ids...) {
			out.Threads = append(out.Threads, t.ID)
		}
	}
	for _, c := range look.Comments {
		if id := "c" + c.ID; !c.Own && may[c.By] && fresh(id) {
			tell(fmt.Sprintf("%s, on the whole:\n%s", c.By, CutTo(c.Body, mostOfComment)), id)
		}
	}
	return out
}

// tellThread is a thread with its place, and the marks of what is new in it.
func tellThread(t work.PullThread, may map[string]bool, fresh func(string) bool) (string, []string) {
	var b strings.Builder
	var ids []string
	at := CutTo(t.Path, 1<<9)
	switch {
	case t.Line > 0:
		at += fmt.Sprintf(":%d", t.Line)
	case t.OldLine > 0:
		at += fmt.Sprintf(", line %d of the old file", t.OldLine)
	}
	fmt.Fprintf(&b, "Thread %s, at %s:\n", t.ID, at)
	if t.Hunk != "" {
		fmt.Fprintf(&b, "%s\n", CutTo(t.Hunk, 1<<10))
	}
	var said []string
	left, cut := mostOfThread, 0
	// The newest first: the others may have been told before.
	for _, c := range slices.Backward(t.Comments) {
		if !c.Own && !may[c.By] {
			continue
		}
		if id := "t" + c.ID; !c.Own && fresh(id) {
			ids = append(ids, id)
		}
		text := fmt.Sprintf("%s: %s\n", c.By, CutTo(c.Body, mostOfComment/max(min(len(t.Comments), 10), 1)))
		if left -= len(text); left < 0 {
			cut++
			continue
		}
		said = append(said, text)
	}
	if cut > 0 {
		fmt.Fprintf(&b, "[%d earlier comments are on the pull request]\n", cut)
	}
	for _, text := range slices.Backward(said) {
		b.WriteString(text)
	}
	return strings.TrimSpace(b.String()), ids
}

// CutTo cuts a text and says so.
func CutTo(words string, most int) string {
	cut := texts.Cut(words, most)
	if len(words) <= most {
		return cut
	}
	return cut + "\n[the rest is on the pull request]"
}
