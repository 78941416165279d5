// Package gitlab reads the issues of one project on GitLab for the factory's board,
// and tells them how they stand. It asks version 4 of GitLab's REST API by itself, and
// its GraphQL for the one thing that the former does not tell.
package gitlab

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"forge/factory/tracker"
	"forge/internal/gitlabapi"
	"forge/internal/host"
	"forge/internal/work"
)

// Config says which project, and as whom.
type Config struct {
	URL       string // of the server; "" = GitLab's own
	Project   string // its path: group/name, or group/subgroup/name
	Token     string
	Transport http.RoundTripper // nil is Go's own
}

// Tracker is the issues of one project. It may be used by several goroutines.
type Tracker struct{ gitlabapi.Project }

// New makes no request.
func New(cfg Config) (*Tracker, error) {
	if cfg.URL == "" {
		cfg.URL = gitlabapi.URL
	}
	u, err := url.Parse(cfg.URL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || !strings.Contains(cfg.Project, "/") {
		return nil, &work.HostTrouble{Kind: work.HostWrong, What: "the tracker's url is not an address of HTTP, or its repo is not group/name", Fix: `write repo = "group/name", and url only of a server of your own: "https://git.example.com"`}
	}
	return &Tracker{gitlabapi.Project{Path: cfg.Project, Root: strings.TrimRight(cfg.URL, "/"), Client: host.NewClient(u.Host, cfg.Transport, cfg.Token), Token: cfg.Token}}, nil
}

var _ tracker.Host = (*Tracker)(nil)

// Name is as of tracker.Host.
func (t *Tracker) Name() string { return "gitlab:" + strings.ToLower(t.Root+"/"+t.Path) }

// Changed is as of tracker.Host. GitLab is asked for what changed since the newest
// change, that one included: a list that says the same as the last one is no news.
func (t *Tracker) Changed(ctx context.Context, m work.TrackerMark) ([]int64, work.TrackerMark, error) {
	const do = "list issues"
	query := url.Values{"scope": {"all"}, "order_by": {"updated_at"}, "sort": {"asc"}}
	if m.Since.IsZero() {
		query.Set("state", "opened")
	} else {
		query.Set("updated_after", m.Since.UTC().Format(time.RFC3339Nano))
	}
	type changed struct {
		Number  int64     `json:"iid"`
		Updated time.Time `json:"updated_at"`
	}
	all, err := gitlabapi.List[changed](ctx, t.Project, do, "/issues", query)
	if err != nil && len(all) == 0 {
		return nil, m, err // else the longest unchanged are there, and the others come next time
	}
	sum, next := sha256.New(), work.TrackerMark{Since: m.Since}
	var numbers []int64
	for _, i := range all {
		fmt.Fprintf(sum, "%d %s\n", i.Number, i.Updated)
		numbers = append(numbers, i.Number)
		if i.Updated.After(next.Since) {
			next.Since = i.Updated.UTC()
		}
	}
	if next.ETag = hex.EncodeToString(sum.Sum(nil)[:16]); next == m {
		return nil, m, nil
	}
	return numbers, next, nil
}
