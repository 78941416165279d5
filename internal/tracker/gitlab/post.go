package gitlab

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"forge/factory/tracker"
	"forge/internal/gitlabapi"
)

// Post is as of tracker.Host.
func (t *Tracker) Post(ctx context.Context, number int64, r tracker.Report) error {
	own, err := t.Self(ctx)
	if err != nil {
		return err
	}
	path := fmt.Sprintf("/issues/%d", number)
	notes, err := gitlabapi.List[note](ctx, t.Project, "read an issue's comments", path+"/notes", url.Values{"sort": {"asc"}, "order_by": {"created_at"}})
	if err != nil {
		return err
	}
	if err := t.say(ctx, path, own, notes, r); err != nil || !r.Done {
		return err
	}
	var i issue
	if _, err := t.Ask(ctx, "read an issue", http.MethodGet, path, nil, &i); err != nil || i.State == "closed" {
		return err
	}
	_, err = t.Ask(ctx, "close an issue", http.MethodPut, path, map[string]string{"state_event": "close"}, nil)
	return err
}

// say makes the comment, or changes it: only the own account's, since anybody may
// copy the mark.
func (t *Tracker) say(ctx context.Context, path string, own gitlabapi.User, notes []note, r tracker.Report) error {
	body := map[string]string{"body": r.Post()}
	for _, n := range notes {
		if n.System || n.Author == nil || n.Author.ID != own.ID || !strings.Contains(n.Body, tracker.Mark(r.Key)) {
			continue
		}
		// GitLab may leave out what stands at the end of a text without showing.
		if strings.TrimSpace(n.Body) == strings.TrimSpace(r.Post()) {
			return nil
		}
		_, err := t.Ask(ctx, "change a comment", http.MethodPut, fmt.Sprintf("%s/notes/%d", path, n.ID), body, nil)
		return err
	}
	_, err := t.Ask(ctx, "comment on an issue", http.MethodPost, path+"/notes", body, nil)
	return err
}

// Acknowledge is as of tracker.Host. GitLab answers to a sign that is there already as
// if there were no such comment.
func (t *Tracker) Acknowledge(ctx context.Context, number int64, c tracker.Comment) error {
	const do, sign = "leave a sign at a comment", "eyes"
	path := fmt.Sprintf("/issues/%d/notes/%d/award_emoji", number, c.ID)
	a, err := t.Ask(ctx, do, http.MethodPost, path, map[string]string{"name": sign}, nil)
	if a.Status != http.StatusNotFound {
		return err
	}
	own, known := t.Self(ctx)
	if known != nil {
		return err
	}
	type award struct {
		Name string         `json:"name"`
		User gitlabapi.User `json:"user"`
	}
	all, known := gitlabapi.List[award](ctx, t.Project, do, path, nil)
	if known != nil {
		return err
	}
	for _, one := range all {
		if one.Name == sign && one.User.ID == own.ID {
			return nil
		}
	}
	return err
}
