package gitea

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"forge/factory/tracker"
	"forge/internal/work"
)

// add sorts a line of the timeline into what counts of it.
func add(r *tracker.Reading, l line) {
	by := ""
	if l.User != nil {
		by = l.User.Login
	}
	switch l.Type {
	case "label":
		e := tracker.Event{Kind: tracker.Unlabelled, By: by, At: l.Created}
		if l.Label != nil {
			e.Label = l.Label.Name
		}
		// Of both kinds of line only that of a label given has a text.
		if l.Body == "1" {
			e.Kind = tracker.Labelled
		}
		r.Events = append(r.Events, e)
	case "change_title":
		r.Events = append(r.Events, tracker.Event{Kind: tracker.Renamed, By: by, At: l.Created})
	case "assignees":
		if l.Unassigned {
			return
		}
		e := tracker.Event{Kind: tracker.Assigned, By: by, At: l.Created}
		if l.Assignee != nil {
			e.Whom = l.Assignee.Login
		}
		r.Events = append(r.Events, e)
	case "reopen":
		r.Events = append(r.Events, tracker.Event{Kind: tracker.Reopened, By: by, At: l.Created})
	case "comment":
		r.Comments = append(r.Comments, tracker.Comment{ID: l.ID, By: by, At: l.Created, Body: l.Body})
	}
}

// hasIssues says that the repository is there, with issues: one of them that is
// not found is gone, and not only hidden.
func (t *Tracker) hasIssues(ctx context.Context) bool {
	var repo struct {
		Issues bool `json:"has_issues"`
	}
	_, err := t.ask(ctx, "read the repository", http.MethodGet, "", nil, nil, &repo)
	return err == nil && repo.Issues
}

// assignees are the accounts that an issue is assigned to, but for the token's.
func (t *Tracker) assignees(ctx context.Context, r *tracker.Reading, all []user) error {
	if len(all) == 0 {
		return nil
	}
	own, err := t.self(ctx)
	if err != nil {
		return err
	}
	for _, a := range all {
		if !strings.EqualFold(a.Login, own) {
			r.Assignees = append(r.Assignees, a.Login)
		}
	}
	return nil
}

// blockers reads what an issue waits for. A repository may have dependencies
// switched off, which is answered like a page that is not there.
func (t *Tracker) blockers(ctx context.Context, path string, r *tracker.Reading) error {
	for page := 1; page <= maxPages; page++ {
		var some []issue
		a, err := t.ask(ctx, "read what an issue depends on", http.MethodGet, fmt.Sprintf("%s/dependencies?limit=%d&page=%d", path, pageSize, page), nil, nil, &some)
		if a.Status == http.StatusNotFound {
			return nil
		}
		if err != nil {
			return err
		}
		for _, i := range some {
			b := tracker.Blocker{Number: i.Number, Open: i.State != "closed"}
			if own := t.cfg.Owner + "/" + t.cfg.Repo; i.Repository != nil && !strings.EqualFold(i.Repository.Name, own) {
				b.Repo = i.Repository.Name
			}
			r.Blockers = append(r.Blockers, b)
		}
		if len(some) < pageSize {
			return nil
		}
	}
	return &work.HostTrouble{Kind: work.HostRefused, Do: "read what an issue depends on", What: "it depends on too many issues"}
}

// writers asks of everybody whose word may count whether they may write.
func (t *Tracker) writers(ctx context.Context, r *tracker.Reading) error {
	return r.AskWriters(func(who string) (bool, error) {
		var said struct {
			Permission string `json:"permission"`
		}
		_, err := t.ask(ctx, "ask what "+who+" may", http.MethodGet, "/collaborators/"+url.PathEscape(who)+"/permission", nil, nil, &said)
		var trouble *work.HostTrouble
		if errors.As(err, &trouble) && trouble.Status == http.StatusNotFound {
			return false, nil // no account of that name any more
		}
		return said.Permission == "write" || said.Permission == "admin" || said.Permission == "owner", err
	})
}

type comment struct {
	ID   int64  `json:"id"`
	Body string `json:"body"`
	User user   `json:"user"`
}

// Post is as of tracker.Host.
func (t *Tracker) Post(ctx context.Context, number int64, r tracker.Report) error {
	own, err := t.self(ctx)
	if err != nil {
		return err
	}
	path := fmt.Sprintf("/issues/%d", number)
	var all []comment
	if _, err := t.ask(ctx, "read an issue's comments", http.MethodGet, path+"/comments", nil, nil, &all); err != nil {
		return err
	}
	said := map[string]string{"body": r.Post()}
	posted := false
	for _, c := range all {
		// Only the own account's: anybody may copy the mark.
		if !strings.EqualFold(c.User.Login, own) || !strings.Contains(c.Body, tracker.Mark(r.Key)) {
			continue
		}
		posted = true
		if c.Body == r.Post() {
			break
		}
		if _, err := t.ask(ctx, "change a comment", http.MethodPatch, fmt.Sprintf("/issues/comments/%d", c.ID), nil, said, nil); err != nil {
			return err
		}
		break
	}
	if !posted {
		if _, err := t.ask(ctx, "comment on an issue", http.MethodPost, path+"/comments", nil, said, nil); err != nil {
			return err
		}
	}
	if !r.Done {
		return nil
	}
	_, err = t.ask(ctx, "close an issue", http.MethodPatch, path, nil, map[string]string{"state": "closed"}, nil)
	return err
}

// Acknowledge is as of tracker.Host.
func (t *Tracker) Acknowledge(ctx context.Context, _ int64, c tracker.Comment) error {
	_, err := t.ask(ctx, "leave a sign at a comment", http.MethodPost, fmt.Sprintf("/issues/comments/%d/reactions", c.ID), nil, map[string]string{"content": "eyes"}, nil)
	return err
}

// self is the account of the token.
func (t *Tracker) self(ctx context.Context) (string, error) {
	h := http.Header{"Authorization": {"token " + t.cfg.Token}}
	a, err := t.client.Ask(ctx, http.MethodGet, t.root+"/api/v1/user", h, nil)
	if err != nil || a.Status != http.StatusOK {
		return "", t.client.Trouble("ask whose the token is", a.Status, a.Header, a.Message(), err)
	}
	return login(a.Body)
}
