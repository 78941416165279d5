package trackertest

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"testing"
	"time"
)

// Linear answers as the published schema of Linear's GraphQL says, about the team of
// Workspace and Team. It knows the fields, arguments and filters that stand in
// linearSchema and in the code below alone, refuses all others as Linear does, and
// charges for a list by its length.
type Linear struct {
	book
	URL string
	// signs are reactions, by comment.
	signs map[string][]string
}

// Where Linear's issues are.
const (
	Workspace = "acme"
	Team      = "WORK"
	// ProjectSlug is the project that all of them are in.
	ProjectSlug = "forge-1a2b3c"
)

// StartLinear ends the server with the test.
func StartLinear(t testing.TB) *Linear {
	l := &Linear{book: newBook(), signs: map[string][]string{}}
	l.quiet = true // a comment is none of an issue's own changes there
	on := httptest.NewServer(l)
	t.Cleanup(on.Close)
	l.URL = on.URL
	return l
}

// linearSchema is the part of Linear's schema that is known here.
func linearSchema() schema {
	const paged = "after,first,includeArchived,orderBy"
	return schema{
		"Query":                   "viewer:User organization:Organization teams(filter," + paged + "):TeamConnection issues(filter," + paged + "):IssueConnection comments(filter," + paged + "):CommentConnection",
		"Mutation":                "commentCreate(input):CommentPayload commentUpdate(id,input):CommentPayload issueUpdate(id,input):IssuePayload reactionCreate(input):ReactionPayload",
		"User":                    "id displayName active guest",
		"Organization":            "id urlKey",
		"Team":                    "id key states(" + paged + "):WorkflowStateConnection members(" + paged + "):UserConnection",
		"WorkflowState":           "id name type",
		"Issue":                   "id number identifier title description url priority createdAt updatedAt completedAt canceledAt archivedAt trashed creator:User assignee:User state:WorkflowState team:Team branchName project:Project labels(" + paged + "):IssueLabelConnection inverseRelations(" + paged + "):IssueRelationConnection comments(" + paged + "):CommentConnection history(" + paged + "):IssueHistoryConnection",
		"Project":                 "id slugId name",
		"IssueLabel":              "id name",
		"IssueRelation":           "id type issue:Issue relatedIssue:Issue",
		"Comment":                 "id body createdAt updatedAt user:User issue:Issue reactions:Reaction",
		"Reaction":                "id emoji user:User",
		"IssueHistory":            "id createdAt updatedAt actor:User addedLabels:IssueLabel removedLabels:IssueLabel fromTitle toTitle fromAssignee:User toAssignee:User toAssigneeId fromState:WorkflowState toState:WorkflowState updatedDescription descriptionUpdatedBy:User",
		"PageInfo":                "hasNextPage endCursor",
		"TeamConnection":          "pageInfo:PageInfo nodes:Team",
		"UserConnection":          "pageInfo:PageInfo nodes:User",
		"WorkflowStateConnection": "pageInfo:PageInfo nodes:WorkflowState",
		"IssueConnection":         "pageInfo:PageInfo nodes:Issue",
		"IssueLabelConnection":    "pageInfo:PageInfo nodes:IssueLabel",
		"IssueRelationConnection": "pageInfo:PageInfo nodes:IssueRelation",
		"CommentConnection":       "pageInfo:PageInfo nodes:Comment",
		"IssueHistoryConnection":  "pageInfo:PageInfo nodes:IssueHistory",
		"CommentPayload":          "success comment:Comment",
		"IssuePayload":            "success issue:Issue",
		"ReactionPayload":         "success",
	}
}

// ServeHTTP answers the requests of an adapter.
func (l *Linear) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	if l.failed(w) {
		return
	}
	if r.Header.Get("Authorization") != l.Token {
		answer(w, http.StatusUnauthorized, map[string]any{"errors": []any{graphError(graphRefusal{what: "Authentication required, not authenticated"}, "AUTHENTICATION_ERROR")}})
		return
	}
	if r.Method != http.MethodPost {
		answer(w, http.StatusMethodNotAllowed, nil)
		return
	}
	graphServer{schema: linearSchema(), roots: map[string]object{"query": l.queries(), "mutation": l.mutations()}, invalid: http.StatusBadRequest}.serve(w, r)
}

// connection is a page of a list.
func connection[T any](l *Linear, all []T, show func(T) object) lazy {
	return func(args object) (any, error) {
		size := 50
		if n, ok := args["first"].(float64); ok {
			size = int(n)
		}
		if size > 250 {
			return nil, graphRefusal{"INPUT_ERROR", "Argument Validation Error: first"}
		}
		from := 0
		if cursor, ok := args["after"].(string); ok {
			from, _ = strconv.Atoi(cursor)
		}
		some, more := part(&l.book, all, from, size)
		nodes := []object{}
		for _, one := range some {
			nodes = append(nodes, show(one))
		}
		page := object{"hasNextPage": more, "endCursor": nil}
		if len(some) > 0 {
			page["endCursor"] = strconv.Itoa(from + len(some))
		}
		return object{"pageInfo": page, "nodes": nodes}, nil
	}
}

// asked is a comparator's value in a filter, "" = none.
func asked(filter any, path ...string) any {
	for _, p := range path {
		m, _ := filter.(map[string]any)
		filter = m[p]
	}
	return filter
}

func moment(v any) time.Time {
	s, _ := v.(string)
	at, _ := time.Parse(time.RFC3339Nano, s)
	return at
}

func (l *Linear) queries() object {
	return object{
		"viewer":       linearUser(Owner),
		"organization": object{"id": "o", "urlKey": Workspace},
		"teams": lazy(func(args object) (any, error) {
			var all []string
			if asked(args["filter"], "key", "eq") == Team {
				all = append(all, Team)
			}
			return connection(l, all, l.team)(args)
		}),
		"issues": lazy(func(args object) (any, error) {
			f := args["filter"]
			var all []*entry
			for _, e := range slices.Backward(l.changedSince(moment(asked(f, "updatedAt", "gte")))) { // the newest first
				number, given := asked(f, "number", "eq").(float64)
				over, _ := asked(f, "state", "type", "nin").([]any)
				ids, chosen := asked(f, "id", "in").([]any)
				named, byName := asked(f, "state", "name", "in").([]any)
				inTeam := asked(f, "team", "key", "eq") == Team || asked(f, "project", "slugId", "eq") == ProjectSlug || chosen
				if !inTeam || given && int64(number) != e.number || slices.Contains(over, linearState(e.state)["type"]) ||
					chosen && !slices.Contains(ids, any(linearID(e))) || byName && !slices.Contains(named, any(e.state)) {
					continue
				}
				all = append(all, e)
			}
			return connection(l, all, l.issue)(args)
		}),
		"comments": lazy(func(args object) (any, error) {
			f := args["filter"]
			ids, chosen := asked(f, "id", "in").([]any)
			key, slug := asked(f, "issue", "team", "key", "eq"), asked(f, "issue", "project", "slugId", "eq")
			if key != nil && key != Team || slug != nil && slug != ProjectSlug {
				return connection(l, []*remark(nil), nil)(args)
			}
			since := moment(asked(f, "updatedAt", "gte"))
			var all []*remark
			for _, e := range l.issues {
				for _, c := range e.remarks {
					if !e.deleted && !c.at.Before(since) && (!chosen || slices.Contains(ids, any(c.key))) {
						all = append(all, c)
					}
				}
			}
			return connection(l, all, l.comment)(args)
		}),
	}
}

func (l *Linear) mutations() object {
	succeeded := object{"success": true}
	return object{
		"commentCreate": lazy(func(args object) (any, error) {
			e, id := l.byID(asked(args["input"], "issueId")), asked(args["input"], "id").(string)
			if e == nil {
				return nil, graphRefusal{"INPUT_ERROR", "Entity not found: Issue"}
			}
			if _, c := l.remark(id); c != nil {
				return nil, graphRefusal{"INPUT_ERROR", "Entity already exists"}
			}
			l.remarked(e, Owner, id, asked(args["input"], "body").(string))
			return succeeded, nil
		}),
		"commentUpdate": lazy(func(args object) (any, error) {
			_, c := l.remark(args["id"])
			if c == nil {
				return nil, graphRefusal{"INPUT_ERROR", "Entity not found: Comment"}
			}
			c.body = asked(args["input"], "body").(string)
			return succeeded, nil
		}),
		"issueUpdate": lazy(func(args object) (any, error) {
			e, to := l.byID(args["id"]), asked(args["input"], "stateId")
			if e == nil {
				return nil, graphRefusal{"INPUT_ERROR", "Entity not found: Issue"}
			}
			for _, s := range states() {
				if linearState(s)["id"] != to {
					continue
				}
				if l.forbids[s] {
					return nil, graphRefusal{"INPUT_ERROR", "this state is not for you"}
				}
				l.touch(e)
				l.goTo(e, Owner, s)
				return succeeded, nil
			}
			return nil, graphRefusal{"INPUT_ERROR", "Entity not found: WorkflowState"}
		}),
		"reactionCreate": lazy(func(args object) (any, error) {
			id, _ := asked(args["input"], "commentId").(string)
			emoji, _ := asked(args["input"], "emoji").(string)
			if _, c := l.remark(id); c == nil || slices.Contains(l.signs[id], emoji) {
				return nil, graphRefusal{"INPUT_ERROR", "Argument Validation Error"}
			}
			l.signs[id] = append(l.signs[id], emoji)
			return succeeded, nil
		}),
	}
}

func (l *Linear) byID(id any) *entry {
	for _, e := range l.issues {
		if id == linearID(e) && !e.deleted {
			return e
		}
	}
	return nil
}

func (l *Linear) remark(id any) (*entry, *remark) {
	for _, e := range l.issues {
		for _, c := range e.remarks {
			if id == c.key {
				return e, c
			}
		}
	}
	return nil, nil
}

func states() []string { return []string{stateTodo, stateWorking, stateReview, stateDone} }

func linearState(name string) object {
	return object{"id": "state " + name, "name": name, "type": map[string]string{stateTodo: "unstarted", stateWorking: "started", stateReview: "started", stateDone: "completed"}[name]}
}

func linearUser(name string) object {
	if name == "" {
		return nil
	}
	return object{"id": "u-" + name, "displayName": name, "active": true, "guest": name == Reader}
}

func linearID(e *entry) string { return fmt.Sprintf("00000000-0000-4000-9000-%012d", e.number) }

func (l *Linear) team(key string) object {
	return object{
		"id": "t", "key": key, "states": connection(l, states(), linearState),
		"members": connection(l, []string{Owner, Reader, Writer}, linearUser),
	}
}

func (l *Linear) comment(c *remark) object {
	e, _ := l.remark(c.key)
	var signs []object
	for _, s := range l.signs[c.key] {
		signs = append(signs, object{"id": s, "emoji": s, "user": linearUser(Owner)})
	}
	return object{
		"id": c.key, "body": c.body, "createdAt": stamp(c.at), "updatedAt": stamp(c.at), "user": linearUser(c.by),
		"issue": lazy(func(object) (any, error) { return l.issue(e), nil }), "reactions": signs,
	}
}

// SetPriority is a person's, as Linear counts: 1 is urgent, 0 is none.
func (l *Linear) SetPriority(t testing.TB, n int64, priority int) {
	l.change(t, n, func(e *entry) { e.priority = priority })
}

func (l *Linear) issue(e *entry) object {
	var labels []string
	if e.label {
		labels = append(labels, Label)
	}
	name := func(label string) object { return object{"id": "l-" + label, "name": label} }
	out := object{
		"id": linearID(e), "number": e.number, "identifier": fmt.Sprintf("%s-%d", Team, e.number), "title": e.title, "description": e.body,
		"url": fmt.Sprintf("%s/%s/issue/%s-%d", l.URL, Workspace, Team, e.number), "priority": e.priority, "createdAt": stamp(e.opened), "updatedAt": stamp(e.updated),
		"trashed": nil, "creator": linearUser(e.author), "assignee": linearUser(e.assignee), "state": linearState(e.state), "team": l.team(Team),
		"branchName": fmt.Sprintf("work/%d", e.number), "project": object{"id": "p", "slugId": ProjectSlug, "name": "Forge"},
		"labels": connection(l, labels, name),
		"inverseRelations": connection(l, e.blockers, func(b *entry) object {
			return object{"id": linearID(b), "type": "blocks", "issue": l.issue(b), "relatedIssue": nil}
		}),
		"comments": connection(l, e.remarks, l.comment), "history": connection(l, e.log, l.line),
	}
	if !isOpen(e.state) {
		out["completedAt"] = stamp(e.ended)
	}
	return out
}

func (l *Linear) line(d deed) object {
	out := object{"id": fmt.Sprintf("h-%06d", d.id), "createdAt": stamp(d.at), "updatedAt": stamp(d.at), "actor": linearUser(d.by)}
	switch d.what {
	case ofLabel:
		change := map[bool]string{true: "addedLabels", false: "removedLabels"}[d.from == ""]
		out[change] = []object{{"id": "l-" + Label, "name": Label}}
	case ofTitle:
		out["fromTitle"], out["toTitle"] = d.from, d.to
	case ofBody:
		out["updatedDescription"], out["descriptionUpdatedBy"] = true, []object{linearUser(d.by)}
	case ofAssignee:
		out["toAssignee"], out["toAssigneeId"] = linearUser(d.to), "u-"+d.to
	case ofState:
		out["fromState"], out["toState"] = linearState(d.from), linearState(d.to)
	}
	return out
}
