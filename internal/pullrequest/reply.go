package pullrequest

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"forge/internal/host"
	"forge/internal/text"
	"forge/internal/work"
	"forge/orchestrator"
)

// Reply answers the threads of a pull request, each once and with what is said
// to it. Of a thread that the agent did not answer, it is said when the lines
// that it speaks of changed, and nothing else.
func (h *Port) Reply(ctx context.Context, look work.PullLook, replies []orchestrator.PullReply) error {
	said := slices.Clone(look.Comments)
	for _, t := range look.Threads {
		said = append(said, t.Comments...)
	}
	for _, r := range replies {
		if slices.ContainsFunc(said, func(c work.PullComment) bool { return c.Own && host.SaidAlready(c.Body, r.Key) }) {
			continue
		}
		at := slices.IndexFunc(look.Threads, func(t work.PullThread) bool { return t.ID == r.Thread })
		if at < 0 && r.Thread != "" {
			continue // it was deleted
		}
		body := text.Quote(work.WithoutSignals(r.Body))
		if body.Empty() && at >= 0 && h.touched(ctx, look.Threads[at], r) {
			body = text.Format("Changed in %s.", text.Code(text.Short(r.To)))
		}
		if body.Empty() {
			continue
		}
		err := h.Again(ctx, func() error {
			if at < 0 {
				return h.Host.Comment(ctx, look.Number, r.Key, body)
			}
			return h.Host.Reply(ctx, look.Number, look.Threads[at], r.Key, body)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// touched says that the line of a thread, or one beside it, is another in the
// commit that people see now. Where git cannot tell, nothing is claimed.
func (h *Port) touched(ctx context.Context, t work.PullThread, r orchestrator.PullReply) bool {
	if r.From == "" || r.To == "" || r.From == r.To || t.Path == "" {
		return false
	}
	patch, err := h.Repo.DiffPaths(ctx, r.From, r.To, []string{t.Path})
	return err == nil && TouchesLine(patch, t.Line)
}

// hunkHead is the first line of a hunk: where it stands in the old file.
var hunkHead = text.Lazy(`^@@ -([0-9]+)(?:,[0-9]+)? \+`)

// beside is how far from a thread's line a change still counts as one of what it
// speaks of.
const beside = 2

// TouchesLine says that a patch of one file changes a line of its old side, or
// one beside it. Line 0 is the whole file.
func TouchesLine(patch string, line int) bool {
	old, within := 0, false
	for one := range strings.Lines(patch) {
		if m := hunkHead().FindStringSubmatch(one); m != nil {
			old, _ = strconv.Atoi(m[1])
			within = true
			continue
		}
		if !within {
			continue
		}
		changed := one[0] == '-' || one[0] == '+'
		if changed && (line == 0 || old >= line-beside && old <= line+beside) {
			return true
		}
		if one[0] == '-' || one[0] == ' ' {
			old++
		}
	}
	return false
}
