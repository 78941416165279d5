package gitlab

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"forge/internal/gitlabapi"
	"forge/internal/host"
	"forge/internal/text"
	"forge/internal/work"
)

func (h *Host) discussed(ctx context.Context, number int64) (own map[string]bool, all []discussion, err error) {
	s := &said{}
	if s.own, err = h.ours(ctx); err != nil {
		return nil, nil, err
	}
	all, err = gitlabapi.List[discussion](ctx, h.api, fmt.Sprintf("read the discussions of merge request %d", number), path(number)+"/discussions", nil)
	return s.own, slices.DeleteFunc(all, func(d discussion) bool { return len(d.Notes) == 0 }), err
}

// already says that a comment of this key is there, by an account of Forge's: anybody
// may copy the mark.
func already(own map[string]bool, all []discussion, key string) bool {
	s := &said{own: own}
	return slices.ContainsFunc(all, func(d discussion) bool {
		return slices.ContainsFunc(d.Notes, func(n note) bool { return s.ours(n.Author) && host.SaidAlready(n.Body, key) })
	})
}

// Comment posts on the whole merge request, once for each key.
func (h *Host) Comment(ctx context.Context, number int64, key string, body text.Markdown) error {
	own, all, err := h.discussed(ctx, number)
	if err != nil || already(own, all, key) {
		return err
	}
	return h.post(ctx, h.api, number, host.Said(key, "", body))
}

// Acknowledge leaves an eye at a note. GitLab answers to one that is there already as if
// there were no such note.
func (h *Host) Acknowledge(ctx context.Context, number int64, c work.PullComment) error {
	const do, sign = "leave a sign at a comment", "eyes"
	at := path(number) + "/notes/" + c.ID + "/award_emoji"
	err := h.ask(ctx, h.api, do, http.MethodPost, at, map[string]string{"name": sign}, nil)
	if work.HostKindOf(err) != work.HostNoRepository && work.HostKindOf(err) != work.HostRefused {
		return err
	}
	own, known := h.ours(ctx)
	if known != nil {
		return err
	}
	type award struct {
		Name string         `json:"name"`
		User gitlabapi.User `json:"user"`
	}
	all, known := gitlabapi.List[award](ctx, h.api, do, at, nil)
	if known == nil && slices.ContainsFunc(all, func(a award) bool { return a.Name == sign && own[strings.ToLower(a.User.Login())] }) {
		return nil
	}
	return err
}

func (h *Host) post(ctx context.Context, as gitlabapi.Project, number int64, body string) error {
	return h.ask(ctx, as, fmt.Sprintf("comment on merge request %d", number), http.MethodPost, path(number)+"/notes", map[string]string{"body": body}, nil)
}

// Reply answers a thread, once for each key.
func (h *Host) Reply(ctx context.Context, number int64, t work.PullThread, key string, body text.Markdown) error {
	own, all, err := h.discussed(ctx, number)
	if err != nil || already(own, all, key) {
		return err
	}
	at := slices.IndexFunc(all, func(d discussion) bool { return strconv.FormatInt(d.Notes[0].ID, 10) == t.ID })
	if at < 0 { // it was deleted
		return h.post(ctx, h.api, number, host.Said(key, "", host.OnPath(t.Path, body)))
	}
	to := path(number) + "/discussions/" + all[at].ID + "/notes"
	return h.ask(ctx, h.api, fmt.Sprintf("answer a comment on merge request %d", number), http.MethodPost, to, map[string]string{"body": host.Said(key, t.ID, body)}, nil)
}

// Settle says in a thread why it is over, and resolves it.
func (h *Host) Settle(ctx context.Context, number int64, t work.PullThread, key string, why text.Markdown) error {
	if err := h.Reply(ctx, number, t, key, why); err != nil || t.Resolved {
		return err
	}
	_, all, err := h.discussed(ctx, number)
	if err != nil {
		return err
	}
	at := slices.IndexFunc(all, func(d discussion) bool { return strconv.FormatInt(d.Notes[0].ID, 10) == t.ID })
	if at < 0 {
		return nil
	}
	return h.ask(ctx, h.api, fmt.Sprintf("resolve a thread of merge request %d", number), http.MethodPut, path(number)+"/discussions/"+all[at].ID, map[string]bool{"resolved": true}, nil)
}

// Issue reads an issue.
func (h *Host) Issue(ctx context.Context, number int64) (work.HostIssue, error) {
	var i struct {
		Title string `json:"title"`
		Body  string `json:"description"`
	}
	if err := h.ask(ctx, h.api, fmt.Sprintf("read issue %d", number), http.MethodGet, fmt.Sprintf("/issues/%d", number), nil, &i); err != nil {
		return work.HostIssue{}, err
	}
	out := work.HostIssue{Number: number, Title: i.Title}
	out.Body, _ = host.Clip(i.Body)
	return out, nil
}

// Note says what Forge's reviewers found, once for each key: at the lines of the diff,
// and in a comment on the whole what is none of those. The comment comes last, and says
// that all are there.
func (h *Host) Note(ctx context.Context, n work.PullNotes) error {
	own, all, err := h.discussed(ctx, n.Number)
	if err != nil || already(own, all, n.Key) {
		return err
	}
	m, err := h.get(ctx, n.Number)
	if err != nil {
		return err
	}
	rest := n
	rest.Lines = nil
	for _, l := range n.Lines {
		key := fmt.Sprintf("%s %s:%d %s", n.Key, l.Path, l.Line, l.Body)
		if already(own, all, key) {
			continue
		}
		there := m.Refs.Head == n.Commit
		if there {
			at := position{Kind: "text", Base: m.Refs.Base, Start: m.Refs.Start, Head: m.Refs.Head, OldPath: l.Path, NewPath: l.Path, NewLine: l.Line}
			err := h.ask(ctx, h.reviewing, fmt.Sprintf("comment on a line of merge request %d", n.Number), http.MethodPost, path(n.Number)+"/discussions",
				map[string]any{"body": host.SaidText(key, "", host.NoteBody(l, host.OfferRelative)), "position": at}, nil)
			if there = err == nil; !there && work.HostKindOf(err) != work.HostRefused {
				return err
			}
		}
		if !there { // the diff has no such line, or is not of that commit any more
			rest.Lines = append(rest.Lines, l)
		}
	}
	return h.post(ctx, h.reviewing, n.Number, host.Said(n.Key, "", host.NotesAsText(rest)))
}
