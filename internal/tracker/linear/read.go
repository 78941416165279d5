package linear

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"forge/factory/tracker"
	"forge/internal/work"
)

// readIssue asks for an issue with a part of its history and of its comments. Each
// list says how long it may be: what stands in it is charged for that often.
const readIssue = `query($key:String!,$number:Float!,$after:String,$said:String){viewer{id displayName} organization{urlKey}
teams(filter:{key:{eq:$key}},first:1){nodes{key}}
issues(filter:{team:{key:{eq:$key}},number:{eq:$number}},first:1,includeArchived:true){nodes{
id identifier branchName number title description url priority createdAt updatedAt completedAt canceledAt archivedAt trashed
creator{displayName} assignee{id displayName} state{name type} team{key} project{slugId} labels(first:100){pageInfo{hasNextPage endCursor} nodes{name}}
inverseRelations(first:50){pageInfo{hasNextPage endCursor} nodes{type issue{id identifier number team{key} state{name type}}}}
comments(first:50,after:$said,includeArchived:false){pageInfo{hasNextPage endCursor} nodes{id createdAt body user{id displayName}}}
history(first:50,after:$after){pageInfo{hasNextPage endCursor} nodes{id createdAt updatedAt actor{displayName} addedLabels{name} removedLabels{name}
fromTitle toTitle toAssigneeId toAssignee{displayName} fromState{name type} toState{name type} updatedDescription descriptionUpdatedBy{displayName}}}}}}`

// readMembers asks who belongs to the team.
const readMembers = `query($key:String!,$after:String){organization{urlKey} teams(filter:{key:{eq:$key}},first:1){nodes{key
members(first:100,after:$after){pageInfo{hasNextPage endCursor} nodes{displayName active guest}}}}}`

// user is an account. Its display name is its own within a workspace.
type user struct {
	ID     string `json:"id"`
	Name   string `json:"displayName"`
	Active bool   `json:"active"`
	Guest  bool   `json:"guest"`
}

func (u *user) name() string {
	if u == nil {
		return ""
	}
	return u.Name
}

type team struct {
	Key     string `json:"key"`
	Members struct {
		Page  page   `json:"pageInfo"`
		Nodes []user `json:"nodes"`
	} `json:"members"`
	States struct {
		Nodes []state `json:"nodes"`
	} `json:"states"`
}

type state struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	Type string `json:"type"`
}

func (s state) over() bool { return slices.Contains(overTypes(), s.Type) }

type label struct {
	Name string `json:"name"`
}

type issue struct {
	ID          string     `json:"id"`
	Identifier  string     `json:"identifier"`
	Branch      string     `json:"branchName"`
	Number      float64    `json:"number"`
	Title       string     `json:"title"`
	Description string     `json:"description"`
	URL         string     `json:"url"`
	Priority    float64    `json:"priority"`
	Created     time.Time  `json:"createdAt"`
	Updated     time.Time  `json:"updatedAt"`
	Completed   *time.Time `json:"completedAt"`
	Cancelled   *time.Time `json:"canceledAt"`
	Archived    *time.Time `json:"archivedAt"`
	Trashed     bool       `json:"trashed"`
	Creator     *user      `json:"creator"`
	Assignee    *user      `json:"assignee"`
	State       state      `json:"state"`
	Team        team       `json:"team"`
	Project     *struct {
		Slug string `json:"slugId"`
	} `json:"project"`
	Labels struct {
		Page  page    `json:"pageInfo"`
		Nodes []label `json:"nodes"`
	} `json:"labels"`
	Relations struct {
		Page  page `json:"pageInfo"`
		Nodes []struct {
			Type  string `json:"type"`
			Issue issue  `json:"issue"`
		} `json:"nodes"`
	} `json:"inverseRelations"`
	Comments struct {
		Page  page      `json:"pageInfo"`
		Nodes []comment `json:"nodes"`
	} `json:"comments"`
	History struct {
		Page  page   `json:"pageInfo"`
		Nodes []line `json:"nodes"`
	} `json:"history"`
}

type comment struct {
	ID      string    `json:"id"`
	Created time.Time `json:"createdAt"`
	Body    string    `json:"body"`
	User    *user     `json:"user"`
}

// line is one entry of an issue's history. Linear puts what one person does within
// a while into one of them, so that it is of all the time from Created to Updated.
type line struct {
	ID           string    `json:"id"`
	Created      time.Time `json:"createdAt"`
	Updated      time.Time `json:"updatedAt"`
	Actor        *user     `json:"actor"`
	Added        []label   `json:"addedLabels"`
	Removed      []label   `json:"removedLabels"`
	FromTitle    *string   `json:"fromTitle"`
	ToTitle      *string   `json:"toTitle"`
	ToAssigneeID *string   `json:"toAssigneeId"`
	ToAssignee   *user     `json:"toAssignee"`
	FromState    *state    `json:"fromState"`
	ToState      *state    `json:"toState"`
	Described    bool      `json:"updatedDescription"`
	DescribedBy  []user    `json:"descriptionUpdatedBy"`
}

// Read is as of tracker.Host. An issue that was moved to another team has another
// number there, and is none of this one any more.
func (t *Tracker) Read(ctx context.Context, number int64) (tracker.Reading, error) {
	const do = "read an issue"
	whole, own, err := t.whole(ctx, do, number)
	if err != nil {
		return tracker.Reading{}, err
	}
	if whole == nil || whole.Trashed {
		return tracker.Reading{Number: number, Gone: true}, nil
	}
	if whole.Labels.Page.More || whole.Relations.Page.More {
		return tracker.Reading{}, &work.HostTrouble{Kind: work.HostRefused, Do: do, What: "it has too many labels or relations to be judged"}
	}
	r := reading(*whole, own)
	if len(r.Labels) == 0 || !r.Open {
		return r, nil // nothing else of it counts
	}
	return r, t.writers(ctx, &r)
}

// whole is an issue with all of its history and comments, in their order; nil =
// there is none.
func (t *Tracker) whole(ctx context.Context, do string, number int64) (whole *issue, own user, err error) {
	var history, said string
	for n := range maxPages {
		var a struct {
			place
			Issues struct {
				Nodes []issue `json:"nodes"`
			} `json:"issues"`
		}
		variables := map[string]any{"key": t.cfg.Team, "number": number, "after": after(history), "said": after(said)}
		if err := t.ask(ctx, do, readIssue, variables, &a); err != nil {
			return nil, own, err
		}
		if err := t.there(do, a.place); err != nil {
			return nil, own, err
		}
		if len(a.Issues.Nodes) == 0 {
			return nil, a.Viewer, nil
		}
		now := a.Issues.Nodes[0]
		if int64(now.Number) != number || !strings.EqualFold(now.Team.Key, t.cfg.Team) || now.State.Type == "" {
			return nil, own, &work.HostTrouble{Kind: work.HostWrong, Do: do, What: "the answer is not this issue", Fix: "check the tracker's url"}
		}
		if whole == nil {
			whole = &issue{}
		} else if now.Title != whole.Title || now.Description != whole.Description || !now.Updated.Equal(whole.Updated) {
			return nil, own, &work.HostTrouble{Kind: work.HostRefused, Do: do, What: "it was changed while it was read"}
		}
		more := now.History.Page.More || now.Comments.Page.More
		history, said = cmp.Or(now.History.Page.End, history), cmp.Or(now.Comments.Page.End, said)
		lines, comments := append(whole.History.Nodes, now.History.Nodes...), append(whole.Comments.Nodes, now.Comments.Nodes...)
		*whole = now
		whole.History.Nodes, whole.Comments.Nodes = lines, comments
		if !more {
			inOrder(whole)
			return whole, a.Viewer, nil
		}
		if n == maxPages-1 {
			break
		}
	}
	return nil, own, &work.HostTrouble{Kind: work.HostRefused, Do: do, What: "its history is too long to be judged"}
}

// inOrder puts the oldest first. A list that is over while another one is not may be
// told again.
func inOrder(i *issue) {
	slices.SortStableFunc(i.History.Nodes, func(a, b line) int {
		return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.ID, b.ID))
	})
	i.History.Nodes = slices.CompactFunc(i.History.Nodes, func(a, b line) bool { return a.ID == b.ID })
	slices.SortStableFunc(i.Comments.Nodes, func(a, b comment) int {
		return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.ID, b.ID))
	})
	i.Comments.Nodes = slices.CompactFunc(i.Comments.Nodes, func(a, b comment) bool { return a.ID == b.ID })
}

// reading is an issue but for who may write; own is the account of the token.
func reading(i issue, own user) tracker.Reading {
	r := tracker.Reading{
		Number: int64(i.Number), URL: i.URL, Title: i.Title, Body: i.Description, Author: i.Creator.name(), Open: !i.State.over() && i.Archived == nil,
		State: i.State.Name, Priority: priority(i.Priority), Edits: tracker.Edits{Known: true, Whole: true}, Writers: map[string]bool{},
	}
	for _, at := range []*time.Time{i.Completed, i.Cancelled, i.Archived} {
		if at != nil && !r.Open && r.Closed.IsZero() {
			r.Closed = *at
		}
	}
	if i.Assignee != nil && i.Assignee.ID != own.ID {
		r.Assignees = []string{i.Assignee.Name}
	}
	for _, l := range i.History.Nodes {
		add(&r, l)
	}
	for _, l := range i.Labels.Nodes {
		r.Labels = append(r.Labels, l.Name)
		given := slices.ContainsFunc(r.Events, func(e tracker.Event) bool { return e.Kind == tracker.Labelled && strings.EqualFold(e.Label, l.Name) })
		if !given { // its history is whole and says nothing of it: it was there from the beginning on
			r.Events = slices.Insert(r.Events, 0, tracker.Event{Kind: tracker.Labelled, By: i.Creator.name(), At: i.Created, Label: l.Name})
		}
	}
	for n, c := range i.Comments.Nodes {
		said := tracker.Comment{ID: numbered(i.Comments.Nodes[:n], c), Key: c.ID, By: c.User.name(), At: c.Created, Body: c.Body}
		said.Own = c.User != nil && c.User.ID == own.ID && ownID(c.ID)
		r.Comments = append(r.Comments, said)
	}
	for _, b := range i.Relations.Nodes {
		if b.Type != "blocks" {
			continue
		}
		on := tracker.Blocker{Number: int64(b.Issue.Number), Open: !b.Issue.State.over()}
		if b.Issue.Team.Key != i.Team.Key {
			on.Repo = b.Issue.Team.Key
		}
		r.Blockers = append(r.Blockers, on)
	}
	return r
}

// numbered is a number for a comment that grows with its time: Linear has none.
// before are the older ones.
func numbered(before []comment, c comment) int64 {
	same := 0
	for _, b := range before {
		if b.Created.Equal(c.Created) {
			same++
		}
	}
	return c.Created.UnixMilli()*1000 + int64(min(same, 999))
}

// priority is Linear's, which counts down from urgent; 0 is none.
func priority(p float64) work.Priority {
	return map[float64]work.Priority{1: work.PriorityUrgent, 2: work.PriorityHigh, 3: work.PriorityNormal, 4: work.PriorityLow}[p]
}

// add sorts a line of the history into what counts of it. Of the time that it spans,
// the label takes the beginning and the text the end: so an edit is never taken for
// an earlier one.
func add(r *tracker.Reading, l line) {
	did := func(kind tracker.EventKind, label, whom string) {
		r.Events = append(r.Events, tracker.Event{Kind: kind, By: l.Actor.name(), At: l.Created, Label: label, Whom: whom})
	}
	for _, one := range l.Removed {
		did(tracker.Unlabelled, one.Name, "")
	}
	for _, one := range l.Added {
		did(tracker.Labelled, one.Name, "")
	}
	if l.FromTitle != nil || l.ToTitle != nil {
		did(tracker.Renamed, "", "")
	}
	if l.ToAssignee != nil || l.ToAssigneeID != nil {
		did(tracker.Assigned, "", l.ToAssignee.name())
	}
	if l.FromState != nil && l.FromState.over() && (l.ToState == nil || !l.ToState.over()) {
		did(tracker.Reopened, "", "")
	}
	if !l.Described {
		return
	}
	r.Edits.Revision = l.ID + " " + stamp(l.Updated)
	by := l.DescribedBy
	if len(by) == 0 {
		by = []user{{Name: l.Actor.name()}}
	}
	for _, who := range by {
		r.Edits.List = append(r.Edits.List, tracker.Edit{By: who.Name, At: l.Updated})
	}
}

// writers finds out of everybody whose word may count whether they belong to the
// team. A guest is a guest.
func (t *Tracker) writers(ctx context.Context, r *tracker.Reading) error {
	const do = "ask who belongs to the team"
	for _, e := range r.Events {
		r.Writers[e.By] = false
	}
	for _, c := range r.Comments {
		r.Writers[c.By] = false
	}
	delete(r.Writers, "")
	cursor := ""
	for range maxPages {
		var said place
		if err := t.ask(ctx, do, readMembers, map[string]any{"key": t.cfg.Team, "after": after(cursor)}, &said); err != nil {
			return err
		}
		if err := t.there(do, said); err != nil {
			return err
		}
		members := said.Teams.Nodes[0].Members
		for _, m := range members.Nodes {
			if _, asked := r.Writers[m.Name]; asked && m.Active && !m.Guest {
				r.Writers[m.Name] = true
			}
		}
		if cursor = members.Page.End; !members.Page.More {
			return nil
		}
	}
	return t.client.Trouble(do, http.StatusUnprocessableEntity, nil, "there are too many", nil)
}
