// Package linear reads the issues of one team in Linear for the factory's board, and
// tells them how they stand. It asks Linear's GraphQL by itself: the few questions
// that a tracker needs are a fraction of what a client library brings.
package linear

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"forge/factory/tracker"
	"forge/internal/host"
	"forge/internal/work"
)

const (
	// API is where Linear is asked.
	API = "https://api.linear.app/graphql"
	// maxPages bounds what is read of one list.
	maxPages = 100
)

// Config says which team, and as whom.
type Config struct {
	URL       string // "" = API
	Workspace string // the word for it in Linear's addresses
	Team      string // its key: the letters before an issue's number
	Token     string
	States    tracker.States
	Transport http.RoundTripper // nil is Go's own
}

// Tracker is the issues of one team. It may be used by several goroutines.
type Tracker struct {
	cfg    Config
	client *host.Client
}

// New makes no request.
func New(cfg Config) (*Tracker, error) {
	if cfg.URL == "" {
		cfg.URL = API
	}
	u, err := url.Parse(cfg.URL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || cfg.Workspace == "" || cfg.Team == "" {
		return nil, &work.HostTrouble{Kind: work.HostWrong, What: "the tracker's repo is not workspace/TEAM", Fix: `write such as repo = "acme/ENG", and no url`}
	}
	return &Tracker{cfg: cfg, client: host.NewClient(u.Host, cfg.Transport, cfg.Token)}, nil
}

var _ tracker.Host = (*Tracker)(nil)

// Name is as of tracker.Host.
func (t *Tracker) Name() string {
	return "linear:" + strings.ToLower(t.cfg.Workspace+"/"+t.cfg.Team)
}

// answer is what Linear replies to any question, but for its data.
type answer struct {
	Data   json.RawMessage `json:"data"`
	Errors []struct {
		Message    string `json:"message"`
		Extensions struct {
			Code string `json:"code"`
			Said string `json:"userPresentableMessage"`
		} `json:"extensions"`
	} `json:"errors"`
}

// ask asks one question.
func (t *Tracker) ask(ctx context.Context, do, query string, variables map[string]any, into any) error {
	token := t.cfg.Token
	if strings.HasPrefix(token, "lin_oauth_") {
		token = "Bearer " + token
	}
	body := map[string]any{"query": query, "variables": variables}
	a, err := t.client.Ask(ctx, http.MethodPost, t.cfg.URL, http.Header{"Authorization": {token}}, body)
	if err != nil {
		return t.client.Trouble(do, a.Status, a.Header, "", err)
	}
	var said answer
	bad := json.Unmarshal(a.Body, &said)
	if len(said.Errors) > 0 {
		status, e := statusOf(a.Status, said.Errors[0].Extensions.Code), said.Errors[0]
		words := e.Message
		if e.Extensions.Said != "" && e.Extensions.Said != e.Message {
			words += ": " + e.Extensions.Said
		}
		return t.client.Trouble(do, status, waiting(a.Header), words, nil)
	}
	if a.Status >= http.StatusMultipleChoices {
		return t.client.Trouble(do, a.Status, waiting(a.Header), a.Message(), nil)
	}
	if bad == nil {
		bad = json.Unmarshal(said.Data, into)
	}
	if bad != nil {
		return &work.HostTrouble{Kind: work.HostWrong, Do: do, What: "the answer is not one of Linear", Fix: "check the tracker's url", Err: bad}
	}
	return nil
}

// statusOf is the status of HTTP for an error's code: Linear answers 400 to whoever
// asks too often, and 200 to much that went wrong.
func statusOf(status int, code string) int {
	switch code {
	case "RATELIMITED":
		return http.StatusTooManyRequests
	case "AUTHENTICATION_ERROR", "UNAUTHENTICATED":
		return http.StatusUnauthorized
	case "FORBIDDEN":
		return http.StatusForbidden
	case "INTERNAL_SERVER_ERROR":
		return http.StatusServiceUnavailable
	}
	if status < http.StatusMultipleChoices || status == http.StatusBadRequest {
		return http.StatusUnprocessableEntity
	}
	return status
}

// waiting says how long to wait as other hosts do: Linear counts milliseconds.
func waiting(h http.Header) http.Header {
	at, err := strconv.ParseInt(h.Get("X-RateLimit-Requests-Reset"), 10, 64)
	if err != nil {
		return h
	}
	h = maps.Clone(h)
	h.Set("X-RateLimit-Reset", strconv.FormatInt(at/1000, 10))
	return h
}

type page struct {
	More bool   `json:"hasNextPage"`
	End  string `json:"endCursor"`
}

// after is the cursor as a variable.
func after(cursor string) any {
	if cursor == "" {
		return nil
	}
	return cursor
}

// overTypes are the kinds of states in which an issue is over.
func overTypes() []string { return []string{"completed", "canceled", "duplicate"} }

const (
	changedIssues = `query($filter:IssueFilter,$after:String,$key:String){list:issues(filter:$filter,first:100,after:$after,includeArchived:true,orderBy:updatedAt){
pageInfo{hasNextPage endCursor} nodes{number updatedAt}} organization{urlKey} teams(filter:{key:{eq:$key}},first:1){nodes{key}}}`
	changedComments = `query($filter:CommentFilter,$after:String,$key:String){list:comments(filter:$filter,first:100,after:$after,orderBy:updatedAt){
pageInfo{hasNextPage endCursor} nodes{updatedAt issue{number}}} organization{urlKey} teams(filter:{key:{eq:$key}},first:1){nodes{key}}}`
)

type change struct {
	Number float64   `json:"number"`
	At     time.Time `json:"updatedAt"`
	Issue  *struct {
		Number float64 `json:"number"`
	} `json:"issue"`
}

// place says in which workspace an answer is from, and whether the team is there.
type place struct {
	Viewer       user `json:"viewer"`
	Organization struct {
		Key string `json:"urlKey"`
	} `json:"organization"`
	Teams struct {
		Nodes []team `json:"nodes"`
	} `json:"teams"`
}

// there says that an answer is of the team that is configured.
func (t *Tracker) there(do string, p place) error {
	if t.cfg.Workspace != anyWorkspace && !strings.EqualFold(p.Organization.Key, t.cfg.Workspace) {
		return &work.HostTrouble{Kind: work.HostWrong, Do: do, What: fmt.Sprintf("the token is of the workspace %q, not of %q", p.Organization.Key, t.cfg.Workspace), Fix: "write the token's workspace into the tracker's repo, or take a token of that one"}
	}
	if len(p.Teams.Nodes) == 0 {
		return t.client.Trouble(do, http.StatusNotFound, nil, "there is no team "+t.cfg.Team, nil)
	}
	return nil
}

// Changed is as of tracker.Host. A comment is no change of its issue in Linear: both
// are asked for. A list that says the same as the last one is no news.
func (t *Tracker) Changed(ctx context.Context, m work.TrackerMark) ([]int64, work.TrackerMark, error) {
	of := map[string]any{"key": map[string]any{"eq": t.cfg.Team}}
	issues := map[string]any{"team": of}
	if m.Since.IsZero() {
		issues["state"] = map[string]any{"type": map[string]any{"nin": overTypes()}}
	} else {
		issues["updatedAt"] = map[string]any{"gte": stamp(m.Since)}
	}
	all, err := t.changes(ctx, "list issues", changedIssues, issues)
	if err != nil {
		return nil, m, err
	}
	if !m.Since.IsZero() {
		said, err := t.changes(ctx, "list comments", changedComments, map[string]any{"issue": map[string]any{"team": of}, "updatedAt": map[string]any{"gte": stamp(m.Since)}})
		if err != nil {
			return nil, m, err
		}
		all = append(all, said...)
	}
	slices.SortStableFunc(all, func(a, b change) int { return a.At.Compare(b.At) })
	sum, next := sha256.New(), work.TrackerMark{Since: m.Since}
	var numbers []int64
	for _, c := range all {
		n := int64(c.Number)
		if c.Issue != nil {
			n = int64(c.Issue.Number)
		}
		fmt.Fprintf(sum, "%d %s\n", n, c.At)
		if c.At.After(next.Since) {
			next.Since = c.At.UTC()
		}
		if !slices.Contains(numbers, n) {
			numbers = append(numbers, n)
		}
	}
	if next.ETag = hex.EncodeToString(sum.Sum(nil)[:16]); next == m {
		return nil, m, nil
	}
	return numbers, next, nil
}

// changes is a whole list: it is told with the newest first, so that a part of it
// says nothing of what is older.
func (t *Tracker) changes(ctx context.Context, do, query string, filter any) (all []change, err error) {
	cursor := ""
	for range maxPages {
		var said struct {
			place
			List struct {
				Page  page     `json:"pageInfo"`
				Nodes []change `json:"nodes"`
			} `json:"list"`
		}
		if err := t.ask(ctx, do, query, map[string]any{"filter": filter, "after": after(cursor), "key": t.cfg.Team}, &said); err != nil {
			return nil, err
		}
		if err := t.there(do, said.place); err != nil {
			return nil, err
		}
		all = append(all, said.List.Nodes...)
		if cursor = said.List.Page.End; !said.List.Page.More {
			return all, nil
		}
	}
	return nil, &work.HostTrouble{Kind: work.HostRefused, Do: do, What: "there are too many to be read"}
}

func stamp(at time.Time) string { return at.UTC().Format("2006-01-02T15:04:05.000Z") }
