package gitlab

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"forge/factory/tracker"
	"forge/internal/gitlabapi"
	"forge/internal/text"
	"forge/internal/work"
)

type issue struct {
	ID          int64            `json:"id"`
	Number      int64            `json:"iid"`
	Title       string           `json:"title"`
	Description string           `json:"description"`
	State       string           `json:"state"`
	URL         string           `json:"web_url"`
	Updated     time.Time        `json:"updated_at"`
	Closed      *time.Time       `json:"closed_at"`
	Labels      []string         `json:"labels"`
	Author      *gitlabapi.User  `json:"author"`
	Assignees   []gitlabapi.User `json:"assignees"`
	Locked      bool             `json:"discussion_locked"`
	MovedTo     *int64           `json:"moved_to_id"`
}

// event is one of a label or of a state.
type event struct {
	User  *gitlabapi.User `json:"user"`
	At    time.Time       `json:"created_at"`
	Do    string          `json:"action"`
	State string          `json:"state"`
	Label *struct {
		Name string `json:"name"`
	} `json:"label"`
}

// note is what somebody said, or what GitLab says that somebody did.
type note struct {
	ID       int64           `json:"id"`
	Body     string          `json:"body"`
	Author   *gitlabapi.User `json:"author"`
	At       time.Time       `json:"created_at"`
	System   bool            `json:"system"`
	Internal bool            `json:"internal"`
	Hidden   bool            `json:"confidential"` // as Internal, of older servers
}

// Read is as of tracker.Host.
func (t *Tracker) Read(ctx context.Context, number int64) (tracker.Reading, error) {
	const do = "read an issue"
	var none tracker.Reading
	path := fmt.Sprintf("/issues/%d", number)
	var i issue
	a, err := t.Ask(ctx, do, http.MethodGet, path, nil, &i)
	if a.Status == http.StatusNotFound {
		gone, err := t.gone(ctx)
		return tracker.Reading{Number: number, Gone: gone}, err
	}
	if err != nil {
		return none, err
	}
	if i.Number != number || i.State != "opened" && i.State != "closed" {
		return none, &work.HostTrouble{Kind: work.HostWrong, Do: do, What: "the answer is not this issue", Fix: "check the tracker's url"}
	}
	if i.MovedTo != nil {
		return tracker.Reading{Number: number, Gone: true}, nil
	}
	r := tracker.Reading{
		Number: number, URL: i.URL, Title: i.Title, Body: i.Description, Author: i.Author.Login(), Open: i.State == "opened", Locked: i.Locked, Labels: i.Labels,
		Writers: map[string]bool{},
	}
	if i.Closed != nil && !r.Open {
		r.Closed = *i.Closed
	}
	if len(r.Labels) == 0 || !r.Open || r.Locked {
		r.Edits, err = t.edits(ctx, i.ID, nil)
		return r, err // nothing else of it counts
	}
	if err := t.rest(ctx, &r, i, path); err != nil {
		return none, err
	}
	// The text has to be that of one moment.
	var again issue
	if _, err := t.Ask(ctx, do, http.MethodGet, path, nil, &again); err != nil {
		return none, err
	}
	if again.Title != i.Title || again.Description != i.Description || !again.Updated.Equal(i.Updated) {
		return none, &work.HostTrouble{Kind: work.HostRefused, Do: do, What: "it was changed while it was read"}
	}
	return r, nil
}

// gone says that the project is there with its issues, so that one which is not found
// is gone and not only hidden.
func (t *Tracker) gone(ctx context.Context) (bool, error) {
	const do = "read the project"
	var project struct {
		Path   string `json:"path_with_namespace"`
		Issues string `json:"issues_access_level"`
	}
	if _, err := t.Ask(ctx, do, http.MethodGet, "", nil, &project); err != nil {
		return false, err
	}
	if !strings.EqualFold(project.Path, t.Path) {
		return false, &work.HostTrouble{Kind: work.HostWrong, Do: do, What: "the project is " + text.OneLine(project.Path, 200) + " now", Fix: "write that into the tracker's repo"}
	}
	if project.Issues == "disabled" || project.Issues == "" {
		return false, t.Client.Trouble(do, http.StatusNotFound, nil, "its issues are switched off, or hidden from the token", nil)
	}
	return true, nil
}

// rest reads what an issue's text rests on.
func (t *Tracker) rest(ctx context.Context, r *tracker.Reading, i issue, path string) error {
	own, err := t.Self(ctx)
	if err != nil {
		return err
	}
	for _, a := range i.Assignees {
		if a.ID != own.ID {
			r.Assignees = append(r.Assignees, a.Name)
		}
	}
	people := map[string]int64{}
	labels, err := gitlabapi.List[event](ctx, t.Project, "read who labelled an issue", path+"/resource_label_events", nil)
	if err != nil {
		return err
	}
	states, err := gitlabapi.List[event](ctx, t.Project, "read who closed an issue", path+"/resource_state_events", nil)
	if err != nil {
		return err
	}
	notes, err := gitlabapi.List[note](ctx, t.Project, "read an issue's comments", path+"/notes", url.Values{"sort": {"asc"}, "order_by": {"created_at"}})
	if err != nil {
		return err
	}
	for _, e := range slices.Concat(labels, states) {
		add(r, e)
		known(people, e.User)
	}
	for _, n := range notes {
		known(people, n.Author)
		hear(r, n)
	}
	slices.SortStableFunc(r.Events, func(a, b tracker.Event) int { return a.At.Compare(b.At) }) // of the same moment the labels are first
	if r.Edits, err = t.edits(ctx, i.ID, notes); err != nil {
		return err
	}
	if err := t.writers(ctx, r, people); err != nil {
		return err
	}
	return t.blockers(ctx, r, path)
}

func known(people map[string]int64, u *gitlabapi.User) {
	if u != nil && u.Name != "" {
		people[u.Name] = u.ID
	}
}

// add sorts an event into what counts of it.
func add(r *tracker.Reading, e event) {
	one := tracker.Event{By: e.User.Login(), At: e.At}
	switch {
	case e.Do == "add" || e.Do == "remove":
		if one.Kind = tracker.Labelled; e.Do == "remove" {
			one.Kind = tracker.Unlabelled
		}
		if e.Label != nil {
			one.Label = e.Label.Name
		}
	case e.State == "reopened":
		one.Kind = tracker.Reopened
	default:
		return
	}
	r.Events = append(r.Events, one)
}

var mentioned = text.Lazy(`@([\pL\pN_][\pL\pN_.-]*)`)

// hear sorts a note into what counts of it. What somebody did stands in them alone, in
// words; those that say who was assigned name nobody else before "unassigned".
func hear(r *tracker.Reading, n note) {
	switch {
	case !n.System && (n.Internal || n.Hidden):
		// Not for everybody's eyes, which the text of a pull request is.
	case !n.System:
		r.Comments = append(r.Comments, tracker.Comment{ID: n.ID, By: n.Author.Login(), At: n.At, Body: n.Body})
	case strings.HasPrefix(n.Body, "changed title"):
		r.Events = append(r.Events, tracker.Event{Kind: tracker.Renamed, By: n.Author.Login(), At: n.At})
	case strings.HasPrefix(n.Body, "assigned to"):
		to, _, _ := strings.Cut(n.Body, "unassigned")
		e := tracker.Event{Kind: tracker.Assigned, By: n.Author.Login(), At: n.At}
		who := mentioned().FindAllStringSubmatch(to, -1)
		for _, m := range who {
			e.Whom = m[1]
			r.Events = append(r.Events, e)
		}
		if len(who) == 0 {
			r.Events = append(r.Events, e)
		}
	}
}

// sameMoment is how far the note of an edit may be from the edit.
const sameMoment = 2 * time.Second

// edits says what is known of an issue's edits. GraphQL alone tells when title or
// text were changed last; the notes tell each change, in words. Those are believed to
// be all where the last one of them is of that moment.
func (t *Tracker) edits(ctx context.Context, id int64, notes []note) (e tracker.Edits, err error) {
	last, known, err := t.lastEdit(ctx, id)
	if err != nil || !known {
		return e, err
	}
	e.Known = true
	if last == nil {
		return e, nil
	}
	e.Revision = last.UTC().Format(time.RFC3339Nano)
	var newest time.Time
	for _, n := range notes {
		title := strings.HasPrefix(n.Body, "changed title")
		body := strings.HasPrefix(n.Body, "changed the description") || strings.HasPrefix(n.Body, "marked the ")
		if !n.System || !title && !body {
			continue
		}
		if n.At.After(newest) {
			newest = n.At
		}
		if body {
			e.List = append(e.List, tracker.Edit{By: n.Author.Login(), At: n.At})
		}
	}
	off := newest.Sub(*last)
	e.Whole = off >= -sameMoment && off <= sameMoment
	return e, nil
}

const lastEdited = `query($id:WorkItemID!){workItem(id:$id){id widgets{... on WorkItemWidgetDescription{lastEditedAt}}}}`

// lastEdit is when title or text were changed last, nil = never. Older servers do not
// know that.
func (t *Tracker) lastEdit(ctx context.Context, id int64) (last *time.Time, known bool, err error) {
	var said struct {
		Data struct {
			Item *struct {
				Widgets []map[string]*time.Time `json:"widgets"`
			} `json:"workItem"`
		} `json:"data"`
		Errors []struct {
			Message string `json:"message"`
		} `json:"errors"`
	}
	body := map[string]any{"query": lastEdited, "variables": map[string]any{"id": fmt.Sprintf("gid://gitlab/WorkItem/%d", id)}}
	a, err := t.Call(ctx, "read when an issue was edited", http.MethodPost, "/api/graphql", body, &said)
	if a.Status == http.StatusNotFound {
		return nil, false, nil
	}
	if err != nil || said.Data.Item == nil {
		return nil, false, err
	}
	for _, w := range said.Data.Item.Widgets {
		if at, there := w["lastEditedAt"]; there {
			return at, true, nil
		}
	}
	return nil, false, nil
}

// writers asks of everybody whose word may count whether they may write.
func (t *Tracker) writers(ctx context.Context, r *tracker.Reading, people map[string]int64) error {
	return r.AskWriters(func(who string) (bool, error) {
		return t.MayWrite(ctx, gitlabapi.User{ID: people[who], Name: who})
	})
}

// blockers reads what an issue is blocked by.
func (t *Tracker) blockers(ctx context.Context, r *tracker.Reading, path string) error {
	type link struct {
		issue
		Type       string `json:"link_type"`
		References struct {
			Full string `json:"full"`
		} `json:"references"`
	}
	links, err := gitlabapi.List[link](ctx, t.Project, "read what an issue is blocked by", path+"/links", nil)
	for _, l := range links {
		if l.Type != "is_blocked_by" {
			continue
		}
		on := tracker.Blocker{Number: l.Number, Open: l.State != "closed"}
		if of, _, found := strings.Cut(l.References.Full, "#"); found && !strings.EqualFold(of, t.Path) {
			on.Repo = of
		}
		r.Blockers = append(r.Blockers, on)
	}
	return err
}
