// Package gitea reads the issues of one repository on a Gitea server for the
// factory's board, and tells them how they stand.
package gitea

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
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
	pageSize = 50
	// maxPages bounds what is read of one list; who has more is asked again.
	maxPages = 40
)

// Config says which repository, and as whom.
type Config struct {
	URL         string // of the server
	Owner, Repo string
	Token       string
	Transport   http.RoundTripper // nil is Go's own
}

// Tracker is the issues of one repository. It may be used by several
// goroutines.
type Tracker struct {
	cfg    Config
	client *host.Client
	root   string
}

// New makes no request.
func New(cfg Config) (*Tracker, error) {
	u, err := url.Parse(cfg.URL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || cfg.Owner == "" || cfg.Repo == "" {
		return nil, &work.HostTrouble{Kind: work.HostWrong, What: "the tracker's url is not an address of HTTP, or its repo is not owner/name", Fix: `write such as url = "https://git.example.com" and repo = "owner/name"`}
	}
	return &Tracker{cfg: cfg, client: host.NewClient(u.Host, cfg.Transport, cfg.Token), root: strings.TrimRight(cfg.URL, "/")}, nil
}

var _ tracker.Host = (*Tracker)(nil)

// Name is as of tracker.Host.
func (t *Tracker) Name() string {
	return "gitea:" + strings.ToLower(t.root+"/"+t.cfg.Owner+"/"+t.cfg.Repo)
}

type user struct {
	Login string `json:"login"`
}

type issue struct {
	Number  int64     `json:"number"`
	HTMLURL string    `json:"html_url"`
	Title   string    `json:"title"`
	Body    string    `json:"body"`
	User    user      `json:"user"`
	State   string    `json:"state"`
	Updated time.Time `json:"updated_at"`
	// Said counts the comments: one of the very second of the last change tells.
	Said int `json:"comments"`
	// Closed is null of an open issue.
	Closed    *time.Time `json:"closed_at"`
	Locked    bool       `json:"is_locked"`
	Assignees []user     `json:"assignees"`
	Labels    []struct {
		Name string `json:"name"`
	} `json:"labels"`
	Pull *struct{} `json:"pull_request"`
	// Repository is told of an issue in a list that may hold others' as well.
	Repository *struct {
		Name string `json:"full_name"`
	} `json:"repository"`
	// Version counts the edits of the body; Gitea before 1.26 does not say it.
	Version *int `json:"content_version"`
}

// line is one entry of an issue's timeline.
type line struct {
	ID      int64     `json:"id"`
	Type    string    `json:"type"`
	User    *user     `json:"user"`
	Body    string    `json:"body"`
	Created time.Time `json:"created_at"`
	Label   *struct {
		Name string `json:"name"`
	} `json:"label"`
	Assignee   *user `json:"assignee"`
	Unassigned bool  `json:"removed_assignee"`
}

// ask sends a request below the repository; into nil reads no answer.
func (t *Tracker) ask(ctx context.Context, do, method, path string, header http.Header, body, into any) (host.Answer, error) {
	h := http.Header{"Authorization": {"token " + t.cfg.Token}, "Accept": {"application/json"}}
	for k, v := range header {
		h[k] = v
	}
	address := fmt.Sprintf("%s/api/v1/repos/%s/%s%s", t.root, url.PathEscape(t.cfg.Owner), url.PathEscape(t.cfg.Repo), path)
	a, err := t.client.Ask(ctx, method, address, h, body)
	if err != nil || a.Status >= 300 && a.Status != http.StatusNotModified {
		return a, t.client.Trouble(do, a.Status, a.Header, a.Message(), err)
	}
	if into != nil && a.Status != http.StatusNotModified {
		if err := json.Unmarshal(a.Body, into); err != nil {
			return a, &work.HostTrouble{Kind: work.HostWrong, Do: do, What: "the answer is not one of Gitea", Fix: "check the tracker's url", Err: err}
		}
	}
	return a, nil
}

// Changed is as of tracker.Host. Gitea gives issues no ETag: it is asked for
// what changed since the newest change, and a list that says the same as the
// last one is no news.
func (t *Tracker) Changed(ctx context.Context, m work.TrackerMark) ([]int64, work.TrackerMark, error) {
	query := url.Values{"state": {"all"}, "type": {"issues"}, "limit": {strconv.Itoa(pageSize)}}
	if !m.Since.IsZero() {
		query.Set("since", m.Since.UTC().Format(time.RFC3339))
	} else {
		query.Set("state", "open")
	}
	var all []issue
	for page := 1; page <= maxPages; page++ {
		query.Set("page", strconv.Itoa(page))
		var some []issue
		if _, err := t.ask(ctx, "list issues", http.MethodGet, "/issues?"+query.Encode(), nil, nil, &some); err != nil {
			return nil, m, err
		}
		all = append(all, some...)
		if len(some) < pageSize {
			break
		}
	}
	// What was changed in the very second of the mark is listed each time.
	sum := sha256.New()
	for _, i := range all {
		_ = json.NewEncoder(sum).Encode(i)
	}
	next := work.TrackerMark{Since: m.Since, ETag: hex.EncodeToString(sum.Sum(nil)[:16])}
	if next == m {
		return nil, m, nil
	}
	slices.SortStableFunc(all, func(a, b issue) int { return a.Updated.Compare(b.Updated) })
	var numbers []int64
	for _, i := range all {
		if i.Updated.After(next.Since) {
			next.Since = i.Updated.UTC()
		}
		if !slices.Contains(numbers, i.Number) {
			numbers = append(numbers, i.Number)
		}
	}
	return numbers, next, nil
}

// Read is as of tracker.Host.
func (t *Tracker) Read(ctx context.Context, number int64) (tracker.Reading, error) {
	path := fmt.Sprintf("/issues/%d", number)
	var i issue
	var none tracker.Reading
	if a, err := t.ask(ctx, "read an issue", http.MethodGet, path, nil, nil, &i); err != nil {
		if a.Status == http.StatusNotFound && t.hasIssues(ctx) {
			return tracker.Reading{Number: number, Gone: true}, nil
		}
		return none, err
	}
	if i.Number != number || i.State != "open" && i.State != "closed" {
		return none, &work.HostTrouble{Kind: work.HostWrong, Do: "read an issue", What: "the answer is not this issue", Fix: "check the tracker's url"}
	}
	r := tracker.Reading{
		Number: i.Number, URL: i.HTMLURL, Title: i.Title, Body: i.Body, Author: i.User.Login, Open: i.State == "open", Pull: i.Pull != nil,
		Locked: i.Locked, Writers: map[string]bool{},
	}
	if i.Closed != nil {
		r.Closed = *i.Closed
	}
	for _, l := range i.Labels {
		r.Labels = append(r.Labels, l.Name)
	}
	if i.Version != nil {
		r.Edits.Known = true
		if *i.Version != 0 {
			r.Edits.Revision = strconv.Itoa(*i.Version)
		}
	}
	if len(r.Labels) == 0 || r.Pull || !r.Open || r.Locked {
		return r, nil // nothing else of it counts
	}
	if err := t.assignees(ctx, &r, i.Assignees); err != nil {
		return none, err
	}
	for page := 1; page <= maxPages; page++ {
		var lines []line
		if _, err := t.ask(ctx, "read an issue's timeline", http.MethodGet, fmt.Sprintf("%s/timeline?limit=%d&page=%d", path, pageSize, page), nil, nil, &lines); err != nil {
			return none, err
		}
		for _, l := range lines {
			add(&r, l)
		}
		if len(lines) < pageSize {
			break
		}
		if page == maxPages {
			return none, &work.HostTrouble{Kind: work.HostRefused, Do: "read an issue's timeline", What: "it is too long to be judged"}
		}
	}
	if err := t.writers(ctx, &r); err != nil {
		return none, err
	}
	if err := t.blockers(ctx, path, &r); err != nil {
		return none, err
	}
	// The text has to be that of one moment: what was read before its timeline
	// may have been edited since.
	var again issue
	if _, err := t.ask(ctx, "read an issue", http.MethodGet, path, nil, nil, &again); err != nil {
		return none, err
	}
	if again.Title != i.Title || again.Body != i.Body || !again.Updated.Equal(i.Updated) {
		return none, &work.HostTrouble{Kind: work.HostRefused, Do: "read an issue", What: "it was changed while it was read"}
	}
	return r, nil
}
