package trackertest

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Jira answers as the published description of Jira's REST API says, about the
// project of Team: as Jira Cloud by version 3, or as a server of one's own by
// version 2. What is not described is not found, and a question with a parameter that
// is not described is a wrong one.
type Jira struct {
	book
	URL   string
	Cloud bool
	// Zone is the time zone of the token's account. Times in questions are in it.
	Zone string
	// Alike displays all accounts by the same name.
	Alike bool
}

// JiraUser is the address of the token's account at Jira Cloud.
const JiraUser = "owner@example.com"

// StartJira ends the server with the test.
func StartJira(t testing.TB, cloud bool) *Jira {
	j := &Jira{book: newBook(), Cloud: cloud, Zone: "America/New_York"}
	on := httptest.NewServer(j)
	t.Cleanup(on.Close)
	j.URL = on.URL
	return j
}

// jiraQueries are the parameters of each question.
func jiraQueries() map[string]string {
	return map[string]string{
		"GET myself": "expand", "GET project": "expand properties", "GET status": "", "GET search/jql": "jql nextPageToken maxResults fields expand properties fieldsByKeys",
		"GET search": "jql startAt maxResults validateQuery fields expand", "GET user/permission/search": "query username accountId permissions issueKey projectKey startAt maxResults",
		"GET issue": "fields expand properties updateHistory fieldsByKeys", "GET issue changelog": "startAt maxResults", "GET issue comment": "startAt maxResults orderBy expand",
		"POST issue comment": "expand", "PUT issue comment": "expand notifyUsers", "GET issue transitions": "expand transitionId", "POST issue transitions": "",
	}
}

// ServeHTTP answers the requests of an adapter.
func (j *Jira) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	j.mu.Lock()
	defer j.mu.Unlock()
	w.Header().Set("Content-Type", "application/json;charset=UTF-8")
	if j.failed(w) {
		return
	}
	login, root := "Bearer "+j.Token, "/rest/api/2/"
	if j.Cloud {
		login, root = "Basic "+base64.StdEncoding.EncodeToString([]byte(JiraUser+":"+j.Token)), "/rest/api/3/"
	}
	path, ok := strings.CutPrefix(r.URL.Path, root)
	at := strings.Split(path, "/")
	known := r.Header.Get("Authorization") == login
	what := r.Method + " " + path
	switch {
	case !ok:
		jiraError(w, http.StatusNotFound, "null for uri: "+r.URL.Path)
		return
	case at[0] == "project" || at[0] == "issue":
		if what = r.Method + " " + at[0]; len(at) > 2 {
			what += " " + at[2]
		}
	}
	params, described := jiraQueries()[what]
	for name := range r.URL.Query() {
		described = described && slices.Contains(strings.Fields(params), name)
	}
	switch {
	case !described:
		jiraError(w, http.StatusBadRequest, "this is not described: "+what+"?"+r.URL.RawQuery)
	case !known && path == "myself":
		jiraError(w, http.StatusUnauthorized, "Client must be authenticated to access this resource.")
	case !known:
		jiraError(w, http.StatusNotFound, "Issue does not exist or you do not have permission to see it.")
	case path == "myself":
		own := j.account(Owner)
		own["timeZone"] = j.Zone
		answer(w, http.StatusOK, own)
	case what == "GET project" && strings.EqualFold(at[1], Team):
		answer(w, http.StatusOK, object{"id": "10000", "key": Team})
	case what == "GET project":
		jiraError(w, http.StatusNotFound, "No project could be found with key '"+at[1]+"'.")
	case what == "GET status":
		var all []any
		for _, s := range states() {
			all = append(all, jiraState(s))
		}
		answer(w, http.StatusOK, all)
	case strings.HasPrefix(what, "GET search") && j.Cloud == (path == "search/jql"):
		j.search(w, r.URL.Query())
	case what == "GET user/permission/search":
		j.permitted(w, r.URL.Query())
	case at[0] == "issue":
		j.issueAt(w, r, at[1:])
	default:
		jiraError(w, http.StatusGone, "The requested API has been removed.")
	}
}

func jiraError(w http.ResponseWriter, status int, what string) {
	answer(w, status, map[string]any{"errorMessages": []string{what}, "errors": map[string]string{}})
}

// jql are the two questions that are understood.
var jql = regexp.MustCompile(`^project = "([A-Z]+)" AND (?:statusCategory != Done|updated >= "([0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2})") ORDER BY updated ASC$`)

func (j *Jira) search(w http.ResponseWriter, query url.Values) {
	asked := jql.FindStringSubmatch(query.Get("jql"))
	switch {
	case asked == nil:
		jiraError(w, http.StatusBadRequest, "Error in the JQL Query: "+query.Get("jql"))
		return
	case asked[1] != Team:
		jiraError(w, http.StatusBadRequest, "The value '"+asked[1]+"' does not exist for the field 'project'.")
		return
	}
	var since time.Time
	if asked[2] != "" {
		zone, err := time.LoadLocation(j.Zone)
		if err != nil {
			zone = time.UTC
		}
		since, _ = time.ParseInLocation("2006-01-02 15:04", asked[2], zone)
	}
	var all []any
	for _, e := range j.changedSince(since) {
		if asked[2] != "" || isOpen(e.state) {
			all = append(all, object{"id": fmt.Sprint(e.number), "key": jiraKey(e), "fields": object{"updated": jiraTime(e.updated)}})
		}
	}
	from, _ := strconv.Atoi(query.Get("startAt") + query.Get("nextPageToken"))
	size, _ := strconv.Atoi(query.Get("maxResults"))
	some, more := part(&j.book, all, from, size)
	out := object{"issues": append([]any{}, some...)}
	if !j.Cloud {
		out["startAt"], out["maxResults"], out["total"] = from, size, len(all)
	} else if out["isLast"] = !more; more {
		out["nextPageToken"] = strconv.Itoa(from + len(some))
	}
	answer(w, http.StatusOK, out)
}

// permitted tells who has the rights that are asked for, of those that are named.
func (j *Jira) permitted(w http.ResponseWriter, query url.Values) {
	want := map[bool]string{true: "EDIT_ISSUES,RESOLVE_ISSUES", false: "EDIT_ISSUE,RESOLVE_ISSUE"}[j.Cloud]
	if query.Get("permissions") != want || query.Get("projectKey") != Team {
		jiraError(w, http.StatusBadRequest, "permissions: "+query.Get("permissions"))
		return
	}
	some := []any{}
	for _, who := range []string{Owner, Writer} {
		if query.Get("accountId") == "id-"+who || query.Get("username") == who {
			some = append(some, j.account(who))
		}
	}
	if name := query.Get("username"); name != "" {
		some = append(some, j.account(name+"-as-well")) // names are found by how they begin
	}
	answer(w, http.StatusOK, some)
}

func (j *Jira) issueAt(w http.ResponseWriter, r *http.Request, at []string) {
	var e *entry
	for _, one := range j.issues {
		// An issue that was moved is still found by its old key.
		if fmt.Sprintf("%s-%d", Team, one.number) == at[0] && !one.deleted {
			e = one
		}
	}
	if e == nil {
		jiraError(w, http.StatusNotFound, "Issue does not exist or you do not have permission to see it.")
		return
	}
	var in struct {
		Body       json.RawMessage   `json:"body"`
		Transition map[string]string `json:"transition"`
	}
	if r.Method != http.MethodGet {
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
			jiraError(w, http.StatusBadRequest, err.Error())
			return
		}
	}
	from, _ := strconv.Atoi(r.URL.Query().Get("startAt"))
	size := 50
	if n, err := strconv.Atoi(r.URL.Query().Get("maxResults")); err == nil {
		size = n
	}
	switch r.Method + " " + strings.Join(at[1:min(len(at), 2)], "") {
	case "GET ":
		answer(w, http.StatusOK, j.shown(e, r.URL.Query()))
	case "GET changelog":
		some, more := part(&j.book, j.log(e), from, size)
		answer(w, http.StatusOK, object{"startAt": from, "maxResults": size, "total": len(e.log), "isLast": !more, "values": append([]any{}, some...)})
	case "GET comment":
		some, _ := part(&j.book, e.remarks, from, size)
		all := []any{}
		for _, c := range some {
			all = append(all, j.remark(c))
		}
		answer(w, http.StatusOK, object{"startAt": from, "maxResults": size, "total": len(e.remarks), "comments": all})
	case "POST comment", "PUT comment":
		j.comment(w, e, r.Method, at, in.Body)
	case "GET transitions":
		var all []any
		for _, s := range states() {
			if s != e.state && !j.forbids[s] {
				all = append(all, object{"id": "way " + s, "name": "To " + s, "to": jiraState(s)})
			}
		}
		answer(w, http.StatusOK, object{"transitions": all})
	case "POST transitions":
		for _, s := range states() {
			if in.Transition["id"] == "way "+s && s != e.state && !j.forbids[s] {
				j.touch(e)
				j.goTo(e, Owner, s)
				w.WriteHeader(http.StatusNoContent)
				return
			}
		}
		jiraError(w, http.StatusBadRequest, "It seems that you have tried to perform a workflow operation that is not valid for the current state of this issue.")
	}
}

// comment makes one or changes it, in the format of the version.
func (j *Jira) comment(w http.ResponseWriter, e *entry, method string, at []string, body json.RawMessage) {
	var text string
	if j.Cloud {
		var doc struct {
			Type    string `json:"type"`
			Version int    `json:"version"`
			Content []struct {
				Type    string `json:"type"`
				Content []struct {
					Type string `json:"type"`
					Text string `json:"text"`
				} `json:"content"`
			} `json:"content"`
		}
		if json.Unmarshal(body, &doc) != nil || doc.Type != "doc" || doc.Version != 1 {
			jiraError(w, http.StatusBadRequest, "Comment body is not valid!")
			return
		}
		for n, p := range doc.Content {
			if n > 0 {
				text += "\n\n"
			}
			for _, c := range p.Content {
				text += map[string]string{"text": c.Text, "hardBreak": "\n"}[c.Type]
			}
		}
	} else if json.Unmarshal(body, &text) != nil {
		jiraError(w, http.StatusBadRequest, "Comment body can not be empty!")
		return
	}
	if method == http.MethodPost {
		answer(w, http.StatusCreated, j.remark(j.remarked(e, Owner, "", text)))
		return
	}
	for _, c := range e.remarks {
		if len(at) == 3 && fmt.Sprint(c.id) == at[2] {
			j.touch(e)
			c.body = text
			answer(w, http.StatusOK, j.remark(c))
			return
		}
	}
	jiraError(w, http.StatusNotFound, "Can not find a comment for the id")
}

// account is one of its accounts; nil = none.
func (j *Jira) account(name string) object {
	if name == "" {
		return nil
	}
	displayed := name
	if j.Alike {
		displayed = "Ann"
	}
	if j.Cloud {
		return object{"accountId": "id-" + name, "accountType": "atlassian", "displayName": displayed, "active": true}
	}
	return object{"key": "KEY-" + name, "name": name, "displayName": displayed, "active": true}
}

func (j *Jira) accountID(name string) any {
	if name == "" {
		return nil
	}
	if a := j.account(name); !j.Cloud {
		return a["key"]
	}
	return "id-" + name
}

// text is one in the format of the version.
func (j *Jira) text(s string) any {
	if !j.Cloud {
		return s
	}
	if s == "" {
		return nil
	}
	return object{"type": "doc", "version": 1, "content": []any{object{"type": "paragraph", "content": []any{object{"type": "text", "text": s}}}}}
}

func jiraKey(e *entry) string {
	if e.moved {
		return fmt.Sprintf("OTHER-%d", e.number+100)
	}
	return fmt.Sprintf("%s-%d", Team, e.number)
}

func jiraTime(at time.Time) string {
	return at.In(time.FixedZone("", 3600)).Format("2006-01-02T15:04:05.000-0700")
}

func jiraState(name string) object {
	return object{"id": "s-" + name, "name": name, "statusCategory": object{"key": map[string]string{stateTodo: "new", stateWorking: "indeterminate", stateReview: "indeterminate", stateDone: "done"}[name]}}
}

func (j *Jira) remark(c *remark) object {
	return object{"id": fmt.Sprint(c.id), "author": j.account(c.by), "created": jiraTime(c.at), "updated": jiraTime(c.at), "body": j.text(c.body)}
}

// shown is an issue with the fields that are asked for.
func (j *Jira) shown(e *entry, query url.Values) object {
	labels, links := []string{}, []any{}
	if e.label {
		labels = append(labels, Label)
	}
	kind := object{"name": "Blocks", "inward": "is blocked by", "outward": "blocks"}
	for _, b := range e.blockers {
		links = append(links, object{"type": kind, "inwardIssue": object{"key": jiraKey(b), "fields": object{"status": jiraState(b.state)}}})
	}
	links = append(links, object{"type": kind, "outwardIssue": object{"key": Team + "-999", "fields": object{"status": jiraState(stateTodo)}}})
	all := object{
		"summary": e.title, "description": j.text(e.body), "status": jiraState(e.state), "labels": labels, "priority": object{"name": "High"},
		"creator": j.account(e.author), "assignee": j.account(e.assignee), "created": jiraTime(e.opened), "updated": jiraTime(e.updated), "resolutiondate": nil, "issuelinks": links,
	}
	if !isOpen(e.state) {
		all["resolutiondate"] = jiraTime(e.ended)
	}
	fields := object{}
	for name := range strings.SplitSeq(query.Get("fields"), ",") {
		fields[name] = all[name]
	}
	out := object{"id": fmt.Sprint(e.number), "key": jiraKey(e), "fields": fields}
	if strings.Contains(query.Get("expand"), "changelog") {
		out["changelog"] = object{"startAt": 0, "maxResults": len(e.log), "total": len(e.log), "histories": j.log(e)}
	}
	return out
}

func (j *Jira) log(e *entry) []any {
	all := []any{}
	for _, d := range e.log {
		item := object{"field": map[string]string{ofLabel: "labels", ofTitle: "summary", ofBody: "description", ofAssignee: "assignee", ofState: "status"}[d.what], "fieldtype": "jira"}
		item["from"], item["fromString"], item["to"], item["toString"] = nil, d.from, nil, d.to
		switch d.what {
		case ofAssignee:
			item["from"], item["to"] = j.accountID(d.from), j.accountID(d.to)
			if j.Alike {
				item["toString"] = "Ann"
			}
		case ofState:
			item["from"], item["to"] = "s-"+d.from, "s-"+d.to
		}
		all = append(all, object{"id": fmt.Sprint(d.id), "author": j.account(d.by), "created": jiraTime(d.at), "items": []any{item}})
	}
	return all
}
