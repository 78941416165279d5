// Package gitlab reads the issues of one project on GitLab for the factory's board,
// and tells them how they stand. It asks version 4 of GitLab's REST API by itself, and
// its GraphQL for the one thing that the former does not tell.
package gitlab

import (
	"context"
	"crypto/sha256"
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
	"forge/internal/work"
)

const (
	// URL is GitLab's own server.
	URL      = "https://gitlab.com"
	pageSize = 100
	// maxPages bounds what is read of one list; who has more is asked again.
	maxPages = 20
)

// Config says which project, and as whom.
type Config struct {
	URL       string // of the server; "" = URL
	Project   string // its path: group/name, or group/subgroup/name
	Token     string
	Transport http.RoundTripper // nil is Go's own
}

// Tracker is the issues of one project. It may be used by several goroutines.
type Tracker struct {
	cfg    Config
	client *host.Client
	root   string
}

// New makes no request.
func New(cfg Config) (*Tracker, error) {
	if cfg.URL == "" {
		cfg.URL = URL
	}
	u, err := url.Parse(cfg.URL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || !strings.Contains(cfg.Project, "/") {
		return nil, &work.HostTrouble{Kind: work.HostWrong, What: "the tracker's url is not an address of HTTP, or its repo is not group/name", Fix: `write repo = "group/name", and url only of a server of your own: "https://git.example.com"`}
	}
	return &Tracker{cfg: cfg, client: host.NewClient(u.Host, cfg.Transport, cfg.Token), root: strings.TrimRight(cfg.URL, "/")}, nil
}

var _ tracker.Host = (*Tracker)(nil)

// Name is as of tracker.Host.
func (t *Tracker) Name() string { return "gitlab:" + strings.ToLower(t.root+"/"+t.cfg.Project) }

// call sends a request to an address below the server; into nil reads no answer.
func (t *Tracker) call(ctx context.Context, do, method, path string, body, into any) (host.Answer, error) {
	header := http.Header{"Authorization": {"Bearer " + t.cfg.Token}, "Accept": {"application/json"}}
	a, err := t.client.Ask(ctx, method, t.root+path, header, body)
	if err != nil || a.Status >= http.StatusMultipleChoices {
		return a, t.client.Trouble(do, a.Status, waiting(a.Header), message(a), err)
	}
	if into != nil {
		if err := json.Unmarshal(a.Body, into); err != nil {
			return a, &work.HostTrouble{Kind: work.HostWrong, Do: do, What: "the answer is not one of GitLab", Fix: "check the tracker's url", Err: err}
		}
	}
	return a, nil
}

// ask is call below the project.
func (t *Tracker) ask(ctx context.Context, do, method, path string, body, into any) (host.Answer, error) {
	return t.call(ctx, do, method, "/api/v4/projects/"+url.PathEscape(t.cfg.Project)+path, body, into)
}

// waiting says when a limit ends as other hosts do.
func waiting(h http.Header) http.Header {
	if at := h.Get("RateLimit-Reset"); at != "" && h.Get("Retry-After") == "" {
		h = h.Clone()
		h.Set("X-RateLimit-Reset", at)
	}
	return h
}

// message is what a failed answer says in words: a word, or a list for each field.
func message(a host.Answer) string {
	var said struct {
		Message any    `json:"message"`
		Error   string `json:"error"`
		More    string `json:"error_description"`
	}
	if json.Unmarshal(a.Body, &said) != nil {
		return a.Message()
	}
	if said.Message == nil {
		return strings.TrimSpace(said.Error + " " + said.More)
	}
	return fmt.Sprint(said.Message)
}

// list reads all pages of a list, each into what each returns a place for. A page
// that is not full need not be the last one: the server says whether there are more.
func list[T any](ctx context.Context, t *Tracker, do, path string, query url.Values) (all []T, err error) {
	if query == nil {
		query = url.Values{}
	}
	query.Set("per_page", strconv.Itoa(pageSize))
	next := "1"
	for range maxPages {
		query.Set("page", next)
		var some []T
		a, err := t.ask(ctx, do, http.MethodGet, path+"?"+query.Encode(), nil, &some)
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
		if next = a.Header.Get("X-Next-Page"); next == "" {
			return all, nil
		}
	}
	return all, errTooMany(do)
}

func errTooMany(do string) error {
	return &work.HostTrouble{Kind: work.HostRefused, Do: do, What: "there are too many to be read"}
}

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
	all, err := list[changed](ctx, t, do, "/issues", query)
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
