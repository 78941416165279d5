package github

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"forge/factory/tracker"
	"forge/internal/work"
)

// query asks for an issue with everything that its text rests on. Only this
// door of GitHub tells of edits.
const query = `query($owner:String!,$repo:String!,$number:Int!,$after:String){viewer{login} repository(owner:$owner,name:$repo){
nameWithOwner hasIssuesEnabled kind:issueOrPullRequest(number:$number){__typename} issue(number:$number){
number url title body state closedAt locked lastEditedAt author{login} repository{nameWithOwner}
labels(first:100){nodes{name}} assignees(first:100){nodes{login}}
userContentEdits(first:100){totalCount nodes{editedAt editor{login}}}
timelineItems(first:100,after:$after,itemTypes:[LABELED_EVENT,UNLABELED_EVENT,RENAMED_TITLE_EVENT,ASSIGNED_EVENT,REOPENED_EVENT,ISSUE_COMMENT]){pageInfo{hasNextPage endCursor} nodes{__typename
... on LabeledEvent{createdAt actor{login} label{name}} ... on UnlabeledEvent{createdAt actor{login} label{name}}
... on RenamedTitleEvent{createdAt actor{login}} ... on ReopenedEvent{createdAt actor{login}} ... on IssueComment{databaseId createdAt author{login} body}
... on AssignedEvent{createdAt actor{login} assignee{... on User{login} ... on Bot{login} ... on Mannequin{login} ... on Organization{login}}}}}}}}`

type login struct {
	Login string `json:"login"`
}

func (l *login) name() string {
	if l == nil {
		return ""
	}
	return l.Login
}

type issue struct {
	Number     int64      `json:"number"`
	URL        string     `json:"url"`
	Title      string     `json:"title"`
	Body       string     `json:"body"`
	State      string     `json:"state"`
	LastEdited *time.Time `json:"lastEditedAt"`
	Author     *login     `json:"author"`
	Closed     *time.Time `json:"closedAt"`
	Locked     bool       `json:"locked"`
	Repository repository `json:"repository"`
	Assignees  struct {
		Nodes []login `json:"nodes"`
	} `json:"assignees"`
	Labels struct {
		Nodes []struct {
			Name string `json:"name"`
		} `json:"nodes"`
	} `json:"labels"`
	Edits *struct {
		Total int `json:"totalCount"`
		Nodes []struct {
			At     time.Time `json:"editedAt"`
			Editor *login    `json:"editor"`
		} `json:"nodes"`
	} `json:"userContentEdits"`
	Timeline struct {
		Page struct {
			More bool   `json:"hasNextPage"`
			End  string `json:"endCursor"`
		} `json:"pageInfo"`
		Nodes []node `json:"nodes"`
	} `json:"timelineItems"`
}

// repository is where an issue is, by its name now.
type repository struct {
	Name string `json:"nameWithOwner"`
}

// found is what GitHub says of one number: an issue, or what it is instead.
type found struct {
	own   string // account of the token
	issue *issue // nil = there is none in this repository
	pull  bool
}

type node struct {
	Type   string    `json:"__typename"`
	At     time.Time `json:"createdAt"`
	Actor  *login    `json:"actor"`
	Author *login    `json:"author"`
	Whom   *login    `json:"assignee"`
	ID     int64     `json:"databaseId"`
	Body   string    `json:"body"`
	Label  *struct {
		Name string `json:"name"`
	} `json:"label"`
}

// Read is as of tracker.Host.
func (t *Tracker) Read(ctx context.Context, number int64) (tracker.Reading, error) {
	const do = "read an issue"
	var r tracker.Reading
	after := any(nil)
	for page := 1; ; page++ {
		at, err := t.one(ctx, number, after)
		if err != nil {
			return tracker.Reading{}, err
		}
		if at.issue == nil {
			return tracker.Reading{Number: number, Pull: at.pull, Gone: !at.pull}, nil
		}
		i := *at.issue
		now := reading(i, at.own)
		if page > 1 && (now.Title != r.Title || now.Body != r.Body || now.Edits.Revision != r.Edits.Revision) {
			return tracker.Reading{}, &work.HostTrouble{Kind: work.HostRefused, Do: do, What: "it was changed while it was read"}
		}
		now.Events, now.Comments = r.Events, r.Comments
		r = now
		for _, n := range i.Timeline.Nodes {
			add(&r, n)
		}
		if !i.Timeline.Page.More {
			break
		}
		if page == maxPages {
			return tracker.Reading{}, &work.HostTrouble{Kind: work.HostRefused, Do: do, What: "its timeline is too long to be judged"}
		}
		after = i.Timeline.Page.End
	}
	if len(r.Labels) == 0 || !r.Open || r.Locked {
		return r, nil // nothing else of it counts
	}
	if err := t.writers(ctx, &r); err != nil {
		return r, err
	}
	return r, t.blockers(ctx, &r)
}

// blockers reads what an issue is blocked by. Servers that know no dependencies
// answer as if there were no such page.
func (t *Tracker) blockers(ctx context.Context, r *tracker.Reading) error {
	const do = "read what an issue is blocked by"
	for page := 1; page <= maxPages; page++ {
		var some []struct {
			Number int64  `json:"number"`
			State  string `json:"state"`
			Repo   string `json:"repository_url"`
		}
		a, err := t.ask(ctx, do, http.MethodGet, fmt.Sprintf("/issues/%d/dependencies/blocked_by?per_page=%d&page=%d", r.Number, pageSize, page), nil, nil, &some)
		if a.Status == http.StatusNotFound || a.Status == http.StatusGone {
			return nil
		}
		if err != nil {
			return err
		}
		for _, i := range some {
			b := tracker.Blocker{Number: i.Number, Open: i.State != "closed"}
			if _, name, found := strings.Cut(i.Repo, "/repos/"); found && !strings.EqualFold(name, t.cfg.Owner+"/"+t.cfg.Repo) {
				b.Repo = name
			}
			r.Blockers = append(r.Blockers, b)
		}
		if len(some) < pageSize {
			return nil
		}
	}
	return &work.HostTrouble{Kind: work.HostRefused, Do: do, What: "it is blocked by too many issues"}
}

// answer is what GitHub replies to query.
type answer struct {
	Data struct {
		Viewer     login `json:"viewer"`
		Repository *struct {
			repository
			HasIssues bool   `json:"hasIssuesEnabled"`
			Issue     *issue `json:"issue"`
			Kind      *struct {
				Type string `json:"__typename"`
			} `json:"kind"`
		} `json:"repository"`
	} `json:"data"`
	Errors []struct {
		Type    string `json:"type"`
		Message string `json:"message"`
	} `json:"errors"`
}

// one asks for an issue, with the part of its timeline after a place in it. That
// there is no such issue in a repository that has issues is a result.
func (t *Tracker) one(ctx context.Context, number int64, after any) (found, error) {
	const do = "read an issue"
	body := map[string]any{"query": query, "variables": map[string]any{"owner": t.cfg.Owner, "repo": t.cfg.Repo, "number": number, "after": after}}
	address := t.root + "/graphql"
	if own, ok := strings.CutSuffix(t.root, "/api/v3"); ok {
		address = own + "/api/graphql"
	}
	var said answer
	a, err := t.call(ctx, do, http.MethodPost, address, nil, body, &said)
	if err != nil {
		return found{}, err
	}
	repo := said.Data.Repository
	there := repo != nil && repo.HasIssues
	for _, e := range said.Errors {
		status := http.StatusUnprocessableEntity
		switch e.Type {
		case "NOT_FOUND":
			if status = http.StatusNotFound; there && repo.Issue == nil {
				continue
			}
		case "RATE_LIMITED":
			status = http.StatusTooManyRequests
		case "FORBIDDEN":
			status = http.StatusForbidden
		}
		return found{}, t.client.Trouble(do, status, a.Header, e.Message, nil)
	}
	out := found{own: said.Data.Viewer.Login}
	switch {
	case repo == nil || repo.Issue == nil && !there:
		return out, t.client.Trouble(do, http.StatusNotFound, a.Header, fmt.Sprintf("there is no issue %d", number), nil)
	case repo.Issue == nil:
		out.pull = repo.Kind != nil && repo.Kind.Type == "PullRequest"
		return out, nil
	case !strings.EqualFold(repo.Issue.Repository.Name, repo.Name):
		return out, nil // it was moved to another repository
	case repo.Issue.Number != number || repo.Issue.State != "OPEN" && repo.Issue.State != "CLOSED":
		return out, &work.HostTrouble{Kind: work.HostWrong, Do: do, What: "the answer is not this issue", Fix: "check the tracker's url"}
	}
	out.issue = repo.Issue
	return out, nil
}

// reading is an issue but for its timeline; own is the account of the token.
func reading(i issue, own string) tracker.Reading {
	r := tracker.Reading{
		Number: i.Number, URL: i.URL, Title: i.Title, Body: i.Body, Author: i.Author.name(), Open: i.State == "OPEN", Locked: i.Locked,
		Writers: map[string]bool{},
	}
	if i.Closed != nil && !r.Open {
		r.Closed = *i.Closed
	}
	for _, a := range i.Assignees.Nodes {
		if own == "" || !strings.EqualFold(a.Login, own) {
			r.Assignees = append(r.Assignees, a.Login)
		}
	}
	for _, l := range i.Labels.Nodes {
		r.Labels = append(r.Labels, l.Name)
	}
	r.Edits.Known = i.Edits != nil
	if i.LastEdited == nil || i.Edits == nil {
		return r
	}
	r.Edits.Revision, r.Edits.Whole = i.LastEdited.UTC().Format(time.RFC3339), i.Edits.Total == len(i.Edits.Nodes) && i.Edits.Total > 0
	for _, e := range i.Edits.Nodes {
		r.Edits.List = append(r.Edits.List, tracker.Edit{By: e.Editor.name(), At: e.At})
	}
	return r
}

func add(r *tracker.Reading, n node) {
	e := tracker.Event{By: n.Actor.name(), At: n.At}
	if n.Label != nil {
		e.Label = n.Label.Name
	}
	switch n.Type {
	case "LabeledEvent":
		e.Kind = tracker.Labelled
	case "UnlabeledEvent":
		e.Kind = tracker.Unlabelled
	case "RenamedTitleEvent":
		e.Kind = tracker.Renamed
	case "AssignedEvent":
		e.Kind, e.Whom = tracker.Assigned, n.Whom.name()
	case "ReopenedEvent":
		e.Kind = tracker.Reopened
	case "IssueComment":
		r.Comments = append(r.Comments, tracker.Comment{ID: n.ID, By: n.Author.name(), At: n.At, Body: n.Body})
		return
	default:
		return
	}
	r.Events = append(r.Events, e)
}

// writers asks of everybody whose word may count whether they may write.
func (t *Tracker) writers(ctx context.Context, r *tracker.Reading) error {
	return r.AskWriters(func(who string) (bool, error) {
		var said struct {
			Permission string `json:"permission"`
		}
		a, err := t.ask(ctx, "ask what "+who+" may", http.MethodGet, "/collaborators/"+url.PathEscape(who)+"/permission", nil, nil, &said)
		if a.Status == http.StatusNotFound {
			return false, nil // an app, or no account of that name any more
		}
		return said.Permission == "write" || said.Permission == "admin", err
	})
}

type comment struct {
	ID   int64  `json:"id"`
	Body string `json:"body"`
	User *login `json:"user"`
}

// Post is as of tracker.Host.
func (t *Tracker) Post(ctx context.Context, number int64, r tracker.Report) error {
	var own login
	if _, err := t.call(ctx, "ask whose the token is", http.MethodGet, t.root+"/user", nil, nil, &own); err != nil {
		return err
	}
	path := fmt.Sprintf("/issues/%d", number)
	said := map[string]string{"body": r.Post()}
	there, err := t.posted(ctx, path, own.Login, r)
	switch {
	case err != nil:
		return err
	case there == nil:
		_, err = t.ask(ctx, "comment on an issue", http.MethodPost, path+"/comments", nil, said, nil)
	case there.Body != r.Post():
		_, err = t.ask(ctx, "change a comment", http.MethodPatch, fmt.Sprintf("/issues/comments/%d", there.ID), nil, said, nil)
	}
	if err == nil && r.Done {
		_, err = t.ask(ctx, "close an issue", http.MethodPatch, path, nil, map[string]string{"state": "closed", "state_reason": "completed"}, nil)
	}
	return err
}

// Acknowledge is as of tracker.Host.
func (t *Tracker) Acknowledge(ctx context.Context, _ int64, c tracker.Comment) error {
	_, err := t.ask(ctx, "leave a sign at a comment", http.MethodPost, fmt.Sprintf("/issues/comments/%d/reactions", c.ID), nil, map[string]string{"content": "eyes"}, nil)
	return err
}

// posted is the comment that says the report already; only the own account's:
// anybody may copy the mark.
func (t *Tracker) posted(ctx context.Context, path, own string, r tracker.Report) (*comment, error) {
	for page := 1; page <= maxPages; page++ {
		var all []comment
		if _, err := t.ask(ctx, "read an issue's comments", http.MethodGet, fmt.Sprintf("%s/comments?per_page=%d&page=%d", path, pageSize, page), nil, nil, &all); err != nil {
			return nil, err
		}
		for _, c := range all {
			if strings.EqualFold(c.User.name(), own) && strings.Contains(c.Body, tracker.Mark(r.Key)) {
				return &c, nil
			}
		}
		if len(all) < pageSize {
			return nil, nil
		}
	}
	return nil, &work.HostTrouble{Kind: work.HostRefused, Do: "read an issue's comments", What: "there are too many to find Forge's own among them"}
}
