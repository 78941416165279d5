// Package github reads the issues of one repository on GitHub for the factory's
// board, and tells them how they stand.
package github

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"forge/factory/tracker"
	"forge/internal/host"
	"forge/internal/work"
)

const (
	pageSize = 100
	// maxPages bounds what is read of one list; who has more is asked again.
	maxPages = 20
	// API is where GitHub itself is asked.
	API = "https://api.github.com"
)

// Config says which repository, and as whom.
type Config struct {
	URL         string // of the API; "" = API. Of a server of one's own it ends in /api/v3
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
	if cfg.URL == "" {
		cfg.URL = API
	}
	u, err := url.Parse(cfg.URL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || cfg.Owner == "" || cfg.Repo == "" {
		return nil, &work.HostTrouble{Kind: work.HostWrong, What: "the tracker's url is not an address of HTTP, or its repo is not owner/name", Fix: `write repo = "owner/name", and url only of a server of your own: "https://git.example.com/api/v3"`}
	}
	return &Tracker{cfg: cfg, client: host.NewClient(u.Host, cfg.Transport, cfg.Token), root: strings.TrimRight(cfg.URL, "/")}, nil
}

var _ tracker.Host = (*Tracker)(nil)

// Name is as of tracker.Host.
func (t *Tracker) Name() string {
	return "github:" + strings.ToLower(t.root+"/"+t.cfg.Owner+"/"+t.cfg.Repo)
}

// call sends a request to an address below the API; into nil reads no answer.
func (t *Tracker) call(ctx context.Context, do, method, address string, header http.Header, body, into any) (host.Answer, error) {
	h := http.Header{"Authorization": {"Bearer " + t.cfg.Token}, "Accept": {"application/vnd.github+json"}, "X-Github-Api-Version": {"2022-11-28"}}
	for k, v := range header {
		h[k] = v
	}
	a, err := t.client.Ask(ctx, method, address, h, body)
	if err != nil || a.Status >= 300 && a.Status != http.StatusNotModified {
		return a, t.client.Trouble(do, a.Status, a.Header, a.Message(), err)
	}
	if into != nil && a.Status != http.StatusNotModified {
		if err := json.Unmarshal(a.Body, into); err != nil {
			return a, &work.HostTrouble{Kind: work.HostWrong, Do: do, What: "the answer is not one of GitHub", Fix: "check the tracker's url", Err: err}
		}
	}
	return a, nil
}

// ask is call below the repository.
func (t *Tracker) ask(ctx context.Context, do, method, path string, header http.Header, body, into any) (host.Answer, error) {
	return t.call(ctx, do, method, fmt.Sprintf("%s/repos/%s/%s%s", t.root, url.PathEscape(t.cfg.Owner), url.PathEscape(t.cfg.Repo), path), header, body, into)
}

// Changed is as of tracker.Host. A request that finds nothing new costs GitHub
// nothing: it answers 304, which counts against no limit.
func (t *Tracker) Changed(ctx context.Context, m work.TrackerMark) ([]int64, work.TrackerMark, error) {
	query := url.Values{"state": {"all"}, "sort": {"updated"}, "direction": {"asc"}, "per_page": {fmt.Sprint(pageSize)}}
	if m.Since.IsZero() {
		query.Set("state", "open")
	} else {
		query.Set("since", m.Since.UTC().Format(time.RFC3339))
	}
	header := http.Header{}
	if m.ETag != "" {
		header.Set("If-None-Match", m.ETag)
	}
	next := work.TrackerMark{Since: m.Since}
	var numbers []int64
	for page := 1; page <= maxPages; page++ {
		query.Set("page", fmt.Sprint(page))
		var list []struct {
			Number  int64     `json:"number"`
			Updated time.Time `json:"updated_at"`
			Pull    *struct{} `json:"pull_request"`
		}
		a, err := t.ask(ctx, "list issues", http.MethodGet, "/issues?"+query.Encode(), header, nil, &list)
		if err != nil {
			return nil, m, err
		}
		if a.Status == http.StatusNotModified {
			return nil, m, nil
		}
		if page == 1 && len(list) < pageSize {
			next.ETag = a.Header.Get("ETag")
		}
		header = nil
		for _, i := range list {
			if i.Updated.After(next.Since) {
				next.Since = i.Updated.UTC()
			}
			if i.Pull == nil {
				numbers = append(numbers, i.Number)
			}
		}
		if len(list) < pageSize {
			break
		}
	}
	if !next.Since.Equal(m.Since) {
		next.ETag = "" // that was the answer to another question
	}
	return numbers, next, nil
}
