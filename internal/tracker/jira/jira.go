// Package jira reads the issues of one project in Jira for the factory's board, and
// tells them how they stand: of Jira Cloud by version 3 of its REST API, of a server
// of one's own by version 2. It asks by itself: the few questions that a tracker needs
// are a fraction of what a client library brings.
package jira

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"forge/factory/tracker"
	"forge/internal/host"
	"forge/internal/text"
	"forge/internal/work"
)

const (
	pageSize = 100
	// maxPages bounds what is read of one list; who has more is asked again.
	maxPages = 50
)

// Config says which project, and as whom.
type Config struct {
	URL       string // of the site: https://name.atlassian.net, or a server of one's own
	Project   string // its key: the letters before an issue's number
	User      string // address of the token's account at Jira Cloud; "" = it is a server of one's own
	Token     string
	States    tracker.States
	Transport http.RoundTripper // nil is Go's own
}

// Tracker is the issues of one project. It may be used by several goroutines.
type Tracker struct {
	cfg    Config
	client *host.Client
	root   string
	login  string
	cloud  bool
}

// New makes no request.
func New(cfg Config) (*Tracker, error) {
	u, err := url.Parse(cfg.URL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || cfg.Project == "" {
		return nil, &work.HostTrouble{Kind: work.HostWrong, What: "the tracker's url is not an address of HTTP, or its repo is no project's key", Fix: `write such as url = "https://name.atlassian.net" and repo = "WORK"`}
	}
	t := &Tracker{cfg: cfg, root: strings.TrimRight(cfg.URL, "/"), cloud: cfg.User != "", login: "Bearer " + cfg.Token}
	secrets := []string{cfg.Token}
	if t.cloud {
		pair := base64.StdEncoding.EncodeToString([]byte(cfg.User + ":" + cfg.Token))
		t.login, secrets = "Basic "+pair, append(secrets, pair)
	}
	t.client = host.NewClient(u.Host, cfg.Transport, secrets...)
	return t, nil
}

var _ tracker.Host = (*Tracker)(nil)

// Name is as of tracker.Host.
func (t *Tracker) Name() string { return "jira:" + strings.ToLower(t.root+"/"+t.cfg.Project) }

// ask sends a request below the API; into nil reads no answer.
func (t *Tracker) ask(ctx context.Context, do, method, path string, body, into any) (host.Answer, error) {
	version := "2"
	if t.cloud {
		version = "3"
	}
	header := http.Header{"Authorization": {t.login}, "Accept": {"application/json"}}
	a, err := t.client.Ask(ctx, method, t.root+"/rest/api/"+version+path, header, body)
	if err != nil || a.Status >= http.StatusMultipleChoices {
		return a, t.client.Trouble(do, a.Status, a.Header, message(a), err)
	}
	if into != nil {
		if err := json.Unmarshal(a.Body, into); err != nil {
			return a, &work.HostTrouble{Kind: work.HostWrong, Do: do, What: "the answer is not one of Jira", Fix: "check the tracker's url", Err: err}
		}
	}
	return a, nil
}

// message is what a failed answer says in words.
func message(a host.Answer) string {
	var said struct {
		Messages []string          `json:"errorMessages"`
		Errors   map[string]string `json:"errors"`
	}
	if json.Unmarshal(a.Body, &said) != nil {
		return strings.TrimSpace(text.Cut(string(a.Body), 300))
	}
	for field, what := range said.Errors {
		said.Messages = append(said.Messages, field+": "+what)
	}
	return strings.Join(said.Messages, "; ")
}

// moment is a time as Jira writes it.
type moment struct{ time.Time }

// UnmarshalJSON reads one; null is none.
func (m *moment) UnmarshalJSON(data []byte) error {
	var s string
	if err := json.Unmarshal(data, &s); err != nil || s == "" {
		return err
	}
	at, err := time.Parse("2006-01-02T15:04:05.000-0700", s)
	if err != nil {
		at, err = time.Parse(time.RFC3339Nano, s)
	}
	m.Time = at
	return err
}

// myself is the account of the token. Jira answers much to nobody in particular, and
// this to accounts alone.
func (t *Tracker) myself(ctx context.Context) (account, error) {
	var own account
	_, err := t.ask(ctx, "ask whose the token is", http.MethodGet, "/myself", nil, &own)
	if err == nil && own.id() == "" {
		err = &work.HostTrouble{Kind: work.HostWrong, Do: "ask whose the token is", What: "the answer is not one of Jira", Fix: "check the tracker's url"}
	}
	return own, err
}

// project says that the project is there and still has its key.
func (t *Tracker) project(ctx context.Context) error {
	const do = "read the project"
	var said struct {
		Key string `json:"key"`
	}
	if _, err := t.ask(ctx, do, http.MethodGet, "/project/"+url.PathEscape(t.cfg.Project), nil, &said); err != nil {
		return err
	}
	if !strings.EqualFold(said.Key, t.cfg.Project) {
		return &work.HostTrouble{Kind: work.HostWrong, Do: do, What: fmt.Sprintf("the project %s has the key %s now", t.cfg.Project, said.Key), Fix: "write that key into the tracker's repo"}
	}
	return nil
}

// number is that of an issue of the project by its key.
func (t *Tracker) number(key string) (int64, bool) {
	of, n, found := strings.Cut(key, "-")
	number, err := strconv.ParseInt(n, 10, 64)
	return number, found && err == nil && strings.EqualFold(of, t.cfg.Project)
}

func (t *Tracker) key(number int64) string {
	return fmt.Sprintf("%s-%d", strings.ToUpper(t.cfg.Project), number)
}

type found struct {
	Issues []struct {
		Key    string `json:"key"`
		Fields struct {
			Updated moment `json:"updated"`
		} `json:"fields"`
	} `json:"issues"`
	Next string `json:"nextPageToken"` // of Jira Cloud; "" = this was the last page
	At   int    `json:"startAt"`       // of a server of one's own
	All  int    `json:"total"`
}

// Changed is as of tracker.Host. Jira's language of questions knows times by the
// minute: what of that minute is older than the mark is left out again.
func (t *Tracker) Changed(ctx context.Context, m work.TrackerMark) ([]int64, work.TrackerMark, error) {
	const do = "list issues"
	own, err := t.myself(ctx)
	if err != nil {
		return nil, m, err
	}
	jql := fmt.Sprintf(`project = "%s" AND statusCategory != Done ORDER BY updated ASC`, t.cfg.Project)
	if !m.Since.IsZero() {
		jql = fmt.Sprintf(`project = "%s" AND updated >= "%s" ORDER BY updated ASC`, t.cfg.Project, own.minute(m.Since))
	}
	query := url.Values{"jql": {jql}, "fields": {"updated"}, "maxResults": {strconv.Itoa(pageSize)}}
	sum, next := sha256.New(), work.TrackerMark{Since: m.Since}
	var numbers []int64
	for range maxPages {
		var some found
		path := "/search?"
		if t.cloud {
			path = "/search/jql?"
		}
		a, err := t.ask(ctx, do, http.MethodGet, path+query.Encode(), nil, &some)
		if a.Status == http.StatusBadRequest {
			if gone := t.project(ctx); gone != nil {
				return nil, m, gone // a question about a project that is not there is a wrong one
			}
		}
		if err != nil {
			return nil, m, err
		}
		for _, i := range some.Issues {
			n, ok := t.number(i.Key)
			if !ok {
				return nil, m, &work.HostTrouble{Kind: work.HostWrong, Do: do, What: "the project " + t.cfg.Project + " answers with the issue " + text.OneLine(i.Key, 60), Fix: "write the project's key of today into the tracker's repo"}
			}
			if at := i.Fields.Updated.UTC(); !at.Before(m.Since) {
				fmt.Fprintf(sum, "%d %s\n", n, at)
				numbers = append(numbers, n)
				if at.After(next.Since) {
					next.Since = at
				}
			}
		}
		if some.Next != "" {
			query.Set("nextPageToken", some.Next)
			continue
		}
		from := some.At + len(some.Issues)
		if t.cloud || len(some.Issues) == 0 || from >= some.All {
			break
		}
		query.Set("startAt", strconv.Itoa(from))
	}
	if next.ETag = hex.EncodeToString(sum.Sum(nil)[:16]); next == m {
		return nil, m, nil
	}
	return numbers, next, nil
}
