package linear

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"forge/factory/tracker"
	"forge/internal/symphony"
	"forge/internal/work"
)

// Project is the issues of one project in Linear, of whichever teams, as a WORKFLOW.md
// names it: what counts is the state of an issue, not a label. That it came into an
// active state is what a label is elsewhere: its text counts as it was then, if
// whoever brought it there belongs to the team. It may be used by several
// goroutines.
type Project struct {
	slug string
	// now are the settings as they are at this moment.
	now       func() symphony.Settings
	transport http.RoundTripper

	mu   sync.Mutex
	team Tracker // with the client of the settings that were last used
	seen map[int64]symphony.Issue
}

var _ tracker.Host = (*Project)(nil)

// Given is the label that an issue has for who judges it: it came into an active
// state. Wanted is the state of one that is in such a state.
const (
	Given  = "WORKFLOW.md"
	Wanted = "an active state of WORKFLOW.md"
)

// NewProject makes no request. now gives the settings whenever they are needed; the
// project is the one that they name at first.
func NewProject(now func() symphony.Settings, transport http.RoundTripper) *Project {
	return &Project{slug: now().Tracker.Slug, now: now, transport: transport, seen: map[int64]symphony.Issue{}}
}

// Slug is the project that is read.
func (p *Project) Slug() string { return p.slug }

// Name is as of tracker.Host.
func (p *Project) Name() string { return "linear:project/" + strings.ToLower(p.slug) }

// as is who asks about issues of a team, with the settings as they are now.
func (p *Project) as(team string) (*Tracker, symphony.Settings, error) {
	set := p.now()
	p.mu.Lock()
	defer p.mu.Unlock()
	cfg := Config{URL: set.Tracker.Endpoint, Workspace: anyWorkspace, Team: "-", Token: set.Tracker.APIKey, Transport: p.transport}
	if p.team.client == nil || p.team.cfg.URL != cfg.URL || p.team.cfg.Token != cfg.Token {
		t, err := New(cfg)
		if err != nil {
			return nil, set, &work.HostTrouble{Kind: work.HostWrong, What: "tracker.endpoint of WORKFLOW.md is no address", Fix: "write such as " + API}
		}
		p.team = *t
	}
	t := &Tracker{cfg: p.team.cfg, client: p.team.client}
	t.cfg.Team = team
	t.cfg.States = tracker.States{Working: set.States.Working, Reviewing: set.States.Reviewing, Done: set.States.Done}
	return t, set, nil
}

// anyWorkspace is of who does not say in which workspace its team is: the token has
// one alone.
const anyWorkspace = "*"

// Number is an issue's identifier, such as ENG-123, as a number that is no other
// issue's; 0 = it is none.
func Number(identifier string) int64 {
	team, digits, _ := strings.Cut(identifier, "-")
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n < 1 || n >= numberBase || team == "" || len(team) > maxTeam {
		return 0
	}
	var word int64
	for _, c := range []byte(strings.ToUpper(team)) {
		at := strings.IndexByte(teamLetters, c)
		if at < 0 {
			return 0
		}
		word = word*int64(len(teamLetters)+1) + int64(at) + 1
	}
	return word*numberBase + n
}

const (
	teamLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	maxTeam     = 7
	numberBase  = 1 << 26
)

// identified takes a number apart.
func identified(number int64) (team string, n int64) {
	n = number % numberBase
	for word := number / numberBase; word > 0; word /= int64(len(teamLetters) + 1) {
		at := word%int64(len(teamLetters)+1) - 1
		if at < 0 {
			return "", 0
		}
		team = string(teamLetters[at]) + team
	}
	return team, n
}

// Identifier is Number backwards.
func Identifier(number int64) string {
	team, n := identified(number)
	return fmt.Sprintf("%s-%d", team, n)
}

const (
	projectIssues = `query($filter:IssueFilter,$after:String){list:issues(filter:$filter,first:50,after:$after,includeArchived:true,orderBy:updatedAt){
pageInfo{hasNextPage endCursor} nodes{identifier updatedAt state{name}}}}`
	projectComments = `query($filter:CommentFilter,$after:String){list:comments(filter:$filter,first:50,after:$after,orderBy:updatedAt){
pageInfo{hasNextPage endCursor} nodes{updatedAt issue{identifier}}}}`
	issueStates = `query($ids:[ID!],$after:String){list:issues(filter:{id:{in:$ids}},first:50,after:$after,includeArchived:true){
pageInfo{hasNextPage endCursor} nodes{id identifier updatedAt state{name}}}}`
)

// told is one entry of these lists.
type told struct {
	ID         string    `json:"id"`
	Identifier string    `json:"identifier"`
	At         time.Time `json:"updatedAt"`
	State      state     `json:"state"`
	Issue      *struct {
		Identifier string `json:"identifier"`
	} `json:"issue"`
}

// every is a whole list. A page that has no cursor, though more are to follow, is no
// end of it.
func (t *Tracker) every(ctx context.Context, do, query string, variables map[string]any) (all []told, err error) {
	cursor := ""
	for range maxPages {
		var said struct {
			List *struct {
				Page  page   `json:"pageInfo"`
				Nodes []told `json:"nodes"`
			} `json:"list"`
		}
		variables["after"] = after(cursor)
		if err := t.ask(ctx, do, query, variables, &said); err != nil {
			return nil, err
		}
		if said.List == nil || said.List.Page.More && said.List.Page.End == "" {
			return nil, &work.HostTrouble{Kind: work.HostWrong, Do: do, What: "the answer is not one of Linear", Fix: "check tracker.endpoint of WORKFLOW.md"}
		}
		all = append(all, said.List.Nodes...)
		if cursor = said.List.Page.End; !said.List.Page.More {
			return all, nil
		}
	}
	return nil, &work.HostTrouble{Kind: work.HostRefused, Do: do, What: "there are too many to be read"}
}

func (p *Project) of() map[string]any {
	return map[string]any{"slugId": map[string]any{"eq": p.slug}}
}

// Changed is as of tracker.Host. The first look is at all issues in active states.
func (p *Project) Changed(ctx context.Context, m work.TrackerMark) ([]int64, work.TrackerMark, error) {
	t, set, err := p.as("")
	if err != nil {
		return nil, m, err
	}
	// Where other states are active by now, all is looked at once more.
	rules := digestOf(set.Tracker.Active, set.Tracker.Terminal, set.Tracker.Labels)
	if !strings.HasPrefix(m.ETag, rules) {
		m.Since = time.Time{}
	}
	issues := map[string]any{"project": p.of()}
	if m.Since.IsZero() {
		issues["state"] = map[string]any{"name": map[string]any{"in": set.Tracker.Active}}
	} else {
		issues["updatedAt"] = map[string]any{"gte": stamp(m.Since)}
	}
	all, err := t.every(ctx, "list issues", projectIssues, map[string]any{"filter": issues})
	if err != nil {
		return nil, m, err
	}
	if !m.Since.IsZero() {
		said, err := t.every(ctx, "list comments", projectComments, map[string]any{"filter": map[string]any{"issue": map[string]any{"project": p.of()}, "updatedAt": map[string]any{"gte": stamp(m.Since)}}})
		if err != nil {
			return nil, m, err
		}
		all = append(all, said...)
	}
	slices.SortStableFunc(all, func(a, b told) int { return a.At.Compare(b.At) })
	sum, next := sha256.New(), work.TrackerMark{Since: m.Since}
	var numbers []int64
	for _, c := range all {
		name := c.Identifier
		if c.Issue != nil {
			name = c.Issue.Identifier
		}
		n := Number(name)
		if n == 0 {
			continue // no identifier that Forge could find it by
		}
		fmt.Fprintf(sum, "%d %s\n", n, c.At)
		if c.At.After(next.Since) {
			next.Since = c.At.UTC()
		}
		if !slices.Contains(numbers, n) {
			numbers = append(numbers, n)
		}
	}
	if next.ETag = rules + hex.EncodeToString(sum.Sum(nil)[:16]); next == m {
		return nil, m, nil
	}
	return numbers, next, nil
}

func digestOf(lists ...[]string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q", lists))
	return hex.EncodeToString(sum[:8])
}

// ByStates are the identifiers of issues in states of these names, in the order in
// which Linear tells them. Of no state nothing is asked.
func (p *Project) ByStates(ctx context.Context, states []string) (identifiers []string, err error) {
	if len(states) == 0 {
		return nil, nil
	}
	t, _, err := p.as("")
	if err != nil {
		return nil, err
	}
	all, err := t.every(ctx, "list issues by state", projectIssues, map[string]any{"filter": map[string]any{"project": p.of(), "state": map[string]any{"name": map[string]any{"in": states}}}})
	for _, one := range all {
		identifiers = append(identifiers, one.Identifier)
	}
	return identifiers, err
}

// StatesOf are the states of issues by their ids.
func (p *Project) StatesOf(ctx context.Context, ids []string) (map[string]string, error) {
	out := map[string]string{}
	if len(ids) == 0 {
		return out, nil
	}
	t, _, err := p.as("")
	if err != nil {
		return nil, err
	}
	all, err := t.every(ctx, "read the states of issues", issueStates, map[string]any{"ids": ids})
	for _, one := range all {
		if one.ID == "" || one.State.Name == "" {
			return nil, &work.HostTrouble{Kind: work.HostWrong, Do: "read the states of issues", What: "an issue has no id or state", Fix: "check tracker.endpoint of WORKFLOW.md"}
		}
		out[one.ID] = one.State.Name
	}
	return out, err
}

// Read is as of tracker.Host.
func (p *Project) Read(ctx context.Context, number int64) (tracker.Reading, error) {
	team, n := identified(number)
	t, set, err := p.as(team)
	if err != nil {
		return tracker.Reading{}, err
	}
	const do = "read an issue"
	whole, own, err := t.whole(ctx, do, n)
	if err != nil {
		return tracker.Reading{}, err
	}
	if whole == nil || whole.Trashed || whole.Project == nil || !strings.EqualFold(whole.Project.Slug, p.slug) {
		p.keep(number, symphony.Issue{})
		return tracker.Reading{Number: number, Gone: true}, nil
	}
	if whole.Labels.Page.More || whole.Relations.Page.More {
		return tracker.Reading{}, &work.HostTrouble{Kind: work.HostRefused, Do: do, What: "it has too many labels or relations to be judged"}
	}
	is := whole.forTemplate()
	p.keep(number, is)
	r := reading(*whole, own)
	r.Number = number
	wanted := active(&r, whole, own, set)
	r.Open = !set.Tracker.Over(is.State) && whole.Archived == nil
	if wanted {
		r.State = Wanted
		for _, l := range set.Tracker.Labels {
			if !slices.ContainsFunc(is.Labels, func(has string) bool { return symphony.Normal(has) == symphony.Normal(l) }) {
				r.State = is.State + " without the label " + l
			}
		}
	}
	r.Blockers = nil
	for _, b := range set.Waits(is) {
		on := tracker.Blocker{Number: Number(b.Identifier), Open: true}
		if on.Number == 0 {
			on.Repo = b.Identifier
		}
		r.Blockers = append(r.Blockers, on)
	}
	if !r.Open {
		return r, nil // nothing else of it counts
	}
	return r, t.writers(ctx, &r)
}

// active puts into a reading who brought the issue into an active state, and when, in
// the place of a label, and says whether it is in one. One that was in such a state
// from the beginning on was brought there by who made it. States that Forge itself
// brings issues into are as good where it did.
func active(r *tracker.Reading, i *issue, own user, set symphony.Settings) bool {
	r.Labels = append(r.Labels, Given)
	counts := func(name, by string) bool {
		its := func(stage string) bool { return stage != "" && symphony.Normal(stage) == symphony.Normal(name) }
		return set.Tracker.IsActive(name) || by != "" && by == own.Name && (its(set.States.Working) || its(set.States.Reviewing))
	}
	event := func(kind tracker.EventKind, l line) tracker.Event {
		return tracker.Event{Kind: kind, By: l.Actor.name(), At: l.Created, Label: Given}
	}
	began := i.State.Name
	for _, l := range i.History.Nodes {
		if l.FromState != nil && l.ToState != nil {
			began = l.FromState.Name
			break
		}
	}
	on, last := counts(began, ""), began
	if on {
		r.Events = append(r.Events, tracker.Event{Kind: tracker.Labelled, By: i.Creator.name(), At: i.Created, Label: Given})
	}
	for _, l := range i.History.Nodes {
		if l.FromState == nil || l.ToState == nil {
			continue
		}
		is := counts(l.ToState.Name, l.Actor.name())
		switch {
		case !on && is:
			r.Events = append(r.Events, event(tracker.Labelled, l))
		case on && !is:
			r.Events = append(r.Events, event(tracker.Unlabelled, l))
		}
		on, last = is, l.ToState.Name
	}
	slices.SortStableFunc(r.Events, func(a, b tracker.Event) int { return a.At.Compare(b.At) })
	// A history that does not lead to where the issue is says nothing.
	return on && last == i.State.Name || set.Tracker.IsActive(i.State.Name)
}

// forTemplate is an issue as templates and rules know it.
func (i *issue) forTemplate() symphony.Issue {
	out := symphony.Issue{
		ID: i.ID, Identifier: i.Identifier, Title: i.Title, Description: i.Description, State: i.State.Name, Branch: i.Branch, URL: i.URL,
		Created: i.Created, Updated: i.Updated,
	}
	if n := int(i.Priority); float64(n) == i.Priority {
		out.Priority = n
	}
	for _, l := range i.Labels.Nodes {
		out.Labels = append(out.Labels, strings.ToLower(l.Name))
	}
	for _, b := range i.Relations.Nodes {
		if b.Type == "blocks" {
			out.Blockers = append(out.Blockers, symphony.Blocker{ID: b.Issue.ID, Identifier: b.Issue.Identifier, State: b.Issue.State.Name})
		}
	}
	return out
}

func (p *Project) keep(number int64, i symphony.Issue) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.seen[number] = i
}

// Seen is an issue as it was last read. It may be older than what is true by now: who
// decides by it asks anew.
func (p *Project) Seen(number int64) (symphony.Issue, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	i, ok := p.seen[number]
	return i, ok && i.ID != ""
}

// Post is as of tracker.Host.
func (p *Project) Post(ctx context.Context, number int64, r tracker.Report) error {
	team, n := identified(number)
	t, _, err := p.as(team)
	if err != nil {
		return err
	}
	return t.Post(ctx, n, r)
}

// Acknowledge is as of tracker.Host.
func (p *Project) Acknowledge(ctx context.Context, number int64, c tracker.Comment) error {
	team, n := identified(number)
	t, _, err := p.as(team)
	if err != nil {
		return err
	}
	return t.Acknowledge(ctx, n, c)
}
