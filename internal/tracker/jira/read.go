package jira

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"forge/factory/tracker"
	"forge/internal/work"
)

// account is one of Jira: by an id at Jira Cloud, by a key and a name at a server of
// one's own. What is displayed need not be its own.
type account struct {
	AccountID string `json:"accountId"`
	Key       string `json:"key"`
	Name      string `json:"name"`
	Displayed string `json:"displayName"`
	Zone      string `json:"timeZone"`
}

func (a *account) id() string {
	if a == nil {
		return ""
	}
	return cmp.Or(a.AccountID, a.Key, a.Name)
}

// minute is a moment as the account would write it into a question: in its own time
// zone. Where that is not known on this machine, it is one that is early enough in
// all of them.
func (a account) minute(at time.Time) string {
	zone, err := time.LoadLocation(cmp.Or(a.Zone, "?"))
	if err != nil {
		zone = time.FixedZone("", -12*60*60)
	}
	return at.In(zone).Format("2006-01-02 15:04")
}

type status struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	Category struct {
		Key string `json:"key"`
	} `json:"statusCategory"`
}

func (s status) over() bool { return s.Category.Key == "done" }

type linked struct {
	Key    string `json:"key"`
	Fields struct {
		Status status `json:"status"`
	} `json:"fields"`
}

type issue struct {
	Key    string `json:"key"`
	Fields struct {
		Summary     string   `json:"summary"`
		Description words    `json:"description"`
		Status      status   `json:"status"`
		Labels      []string `json:"labels"`
		Priority    *struct {
			Name string `json:"name"`
		} `json:"priority"`
		Creator  *account `json:"creator"`
		Assignee *account `json:"assignee"`
		Created  moment   `json:"created"`
		Updated  moment   `json:"updated"`
		Resolved moment   `json:"resolutiondate"`
		Links    []struct {
			Type struct {
				Name   string `json:"name"`
				Inward string `json:"inward"`
			} `json:"type"`
			Inward *linked `json:"inwardIssue"`
		} `json:"issuelinks"`
	} `json:"fields"`
	Log *struct {
		All   int    `json:"total"`
		Lines []line `json:"histories"`
	} `json:"changelog"`
}

const readFields = "summary,description,status,labels,priority,creator,assignee,created,updated,resolutiondate,issuelinks"

// line is what somebody changed at once.
type line struct {
	ID     string   `json:"id"`
	Author *account `json:"author"`
	At     moment   `json:"created"`
	Items  []struct {
		Field    string `json:"field"`
		From     string `json:"from"`
		FromText string `json:"fromString"`
		To       string `json:"to"`
		ToText   string `json:"toString"`
	} `json:"items"`
}

type comment struct {
	ID     string   `json:"id"`
	Author *account `json:"author"`
	At     moment   `json:"created"`
	Body   words    `json:"body"`
}

// Read is as of tracker.Host. An issue that was moved has another key, and is none of
// this project any more.
func (t *Tracker) Read(ctx context.Context, number int64) (tracker.Reading, error) {
	const do = "read an issue"
	var none tracker.Reading
	own, err := t.myself(ctx)
	if err != nil {
		return none, err
	}
	path := "/issue/" + t.key(number)
	var i issue
	a, err := t.ask(ctx, do, http.MethodGet, path+"?fields="+readFields+map[bool]string{false: "&expand=changelog"}[t.cloud], nil, &i)
	if a.Status == http.StatusNotFound {
		if gone := t.project(ctx); gone != nil {
			return none, gone
		}
		return tracker.Reading{Number: number, Gone: true}, nil
	}
	if err != nil {
		return none, err
	}
	if now, ok := t.number(i.Key); i.Key != "" && (!ok || now != number) {
		return tracker.Reading{Number: number, Gone: true}, t.project(ctx)
	}
	if i.Key == "" || i.Fields.Status.Category.Key == "" {
		return none, &work.HostTrouble{Kind: work.HostWrong, Do: do, What: "the answer is not this issue", Fix: "check the tracker's url"}
	}
	people := &people{of: t, names: map[string]string{}, ids: map[string]string{}}
	r := t.reading(number, i, people, own)
	if len(r.Labels) == 0 || !r.Open {
		return r, nil // nothing else of it counts
	}
	lines, err := t.log(ctx, path, i)
	if err != nil {
		return none, err
	}
	if err := t.events(ctx, &r, i, lines, people); err != nil {
		return none, err
	}
	said, err := t.comments(ctx, path)
	if err != nil {
		return none, err
	}
	for _, c := range said {
		id, _ := strconv.ParseInt(c.ID, 10, 64)
		r.Comments = append(r.Comments, tracker.Comment{ID: id, Key: c.ID, By: people.name(c.Author), At: c.At.Time, Body: string(c.Body)})
	}
	if err := people.writers(ctx, &r); err != nil {
		return none, err
	}
	// The text has to be that of one moment.
	var again issue
	if _, err := t.ask(ctx, do, http.MethodGet, path+"?fields=updated", nil, &again); err != nil {
		return none, err
	}
	if !again.Fields.Updated.Equal(i.Fields.Updated.Time) {
		return none, &work.HostTrouble{Kind: work.HostRefused, Do: do, What: "it was changed while it was read"}
	}
	return r, nil
}

// reading is what an issue says of itself.
func (t *Tracker) reading(number int64, i issue, people *people, own account) tracker.Reading {
	f := i.Fields
	r := tracker.Reading{
		Number: number, URL: t.root + "/browse/" + i.Key, Title: f.Summary, Body: string(f.Description), Author: people.name(f.Creator), Open: !f.Status.over(),
		State: f.Status.Name, Labels: f.Labels, Edits: tracker.Edits{Known: true, Whole: true}, Writers: map[string]bool{},
	}
	if !r.Open {
		r.Closed = cmp.Or(f.Resolved.Time, f.Updated.Time)
	}
	if f.Priority != nil {
		r.Priority = priority(f.Priority.Name)
	}
	if f.Assignee.id() != "" && f.Assignee.id() != own.id() {
		r.Assignees = []string{people.name(f.Assignee)}
	}
	for _, l := range f.Links {
		if l.Inward == nil || !strings.EqualFold(l.Type.Inward, "is blocked by") && !strings.EqualFold(l.Type.Name, "Blocks") {
			continue
		}
		of, n, _ := strings.Cut(l.Inward.Key, "-")
		on := tracker.Blocker{Open: !l.Inward.Fields.Status.over()}
		if on.Number, _ = strconv.ParseInt(n, 10, 64); !strings.EqualFold(of, t.cfg.Project) {
			on.Repo = of
		}
		r.Blockers = append(r.Blockers, on)
	}
	return r
}

// priority is the board's word for Jira's, old and new.
func priority(name string) work.Priority {
	switch strings.ToLower(name) {
	case "highest", "blocker":
		return work.PriorityUrgent
	case "high", "critical":
		return work.PriorityHigh
	case "medium", "major":
		return work.PriorityNormal
	case "low", "lowest", "minor", "trivial":
		return work.PriorityLow
	}
	return ""
}

// log is an issue's history, the oldest line first. A server of one's own tells it
// with the issue.
func (t *Tracker) log(ctx context.Context, path string, i issue) (lines []line, err error) {
	const do = "read an issue's history"
	long := &work.HostTrouble{Kind: work.HostRefused, Do: do, What: "it is too long to be judged"}
	if !t.cloud {
		if i.Log == nil || i.Log.All > len(i.Log.Lines) {
			return nil, long
		}
		lines = i.Log.Lines
	}
	for page := 0; t.cloud; page++ {
		var some struct {
			Lines []line `json:"values"`
			All   int    `json:"total"`
		}
		if _, err := t.ask(ctx, do, http.MethodGet, fmt.Sprintf("%s/changelog?startAt=%d&maxResults=%d", path, len(lines), pageSize), nil, &some); err != nil {
			return nil, err
		}
		if lines = append(lines, some.Lines...); len(lines) >= some.All {
			break
		}
		if page == maxPages || len(some.Lines) == 0 {
			return nil, long
		}
	}
	slices.SortStableFunc(lines, func(a, b line) int { return a.At.Compare(b.At.Time) })
	return lines, nil
}

// events sorts the history into what counts of it. Jira tells the labels before and
// after each change; what was there before the first one was there from the
// beginning on, by who created the issue.
func (t *Tracker) events(ctx context.Context, r *tracker.Reading, i issue, lines []line, people *people) error {
	var over map[string]bool
	at, by := i.Fields.Created.Time, people.name(i.Fields.Creator)
	did := func(kind tracker.EventKind, label, whom string) {
		r.Events = append(r.Events, tracker.Event{Kind: kind, By: by, At: at, Label: label, Whom: whom})
	}
	labelled := func(before, after []string) {
		for _, l := range after {
			if !slices.Contains(before, l) {
				did(tracker.Labelled, l, "")
			}
		}
		for _, l := range before {
			if !slices.Contains(after, l) {
				did(tracker.Unlabelled, l, "")
			}
		}
	}
	labelled(nil, firstLabels(i, lines))
	for _, l := range lines {
		at, by = l.At.Time, people.name(l.Author)
		for _, item := range l.Items {
			switch item.Field {
			case "labels":
				labelled(strings.Fields(item.FromText), strings.Fields(item.ToText))
			case "summary":
				did(tracker.Renamed, "", "")
			case "description":
				r.Edits.Revision = l.ID
				r.Edits.List = append(r.Edits.List, tracker.Edit{By: by, At: at})
			case "assignee":
				if item.To != "" {
					did(tracker.Assigned, "", people.byID(item.To, item.ToText))
				}
			case "status":
				if over == nil {
					var err error
					if over, err = t.overStates(ctx); err != nil {
						return err
					}
				}
				was, known := over[item.From]
				if is, ok := over[item.To]; (was || !known) && !(ok && is) {
					did(tracker.Reopened, "", "")
				}
			}
		}
	}
	return nil
}

// firstLabels are those that an issue was created with.
func firstLabels(i issue, lines []line) []string {
	for _, l := range lines {
		for _, item := range l.Items {
			if item.Field == "labels" {
				return strings.Fields(item.FromText)
			}
		}
	}
	return i.Fields.Labels
}

// overStates says of each state by its id whether an issue in it is over.
func (t *Tracker) overStates(ctx context.Context) (map[string]bool, error) {
	var all []status
	if _, err := t.ask(ctx, "read the states", http.MethodGet, "/status", nil, &all); err != nil {
		return nil, err
	}
	over := map[string]bool{}
	for _, s := range all {
		over[s.ID] = s.over()
	}
	return over, nil
}

// comments are all of an issue's.
func (t *Tracker) comments(ctx context.Context, path string) (all []comment, err error) {
	const do = "read an issue's comments"
	for range maxPages {
		var some struct {
			Comments []comment `json:"comments"`
			All      int       `json:"total"`
		}
		if _, err := t.ask(ctx, do, http.MethodGet, fmt.Sprintf("%s/comment?startAt=%d&maxResults=%d&orderBy=created", path, len(all), pageSize), nil, &some); err != nil {
			return nil, err
		}
		if all = append(all, some.Comments...); len(all) >= some.All || len(some.Comments) == 0 {
			return all, nil
		}
	}
	return nil, &work.HostTrouble{Kind: work.HostRefused, Do: do, What: "there are too many"}
}
