package github

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"

	"forge/internal/work"
)

// cursor is what Changed was told the last time.
type cursor struct {
	At   time.Time `json:"at"`
	Etag string    `json:"etag,omitempty"`
}

// Changed are the pull requests that were touched since the cursor ("" begins
// now, and names none). It costs one conditional request, which GitHub does not
// count while nothing has happened.
func (h *Host) Changed(ctx context.Context, last string) (work.PullHints, error) {
	var since cursor
	if last != "" {
		if err := json.Unmarshal([]byte(last), &since); err != nil || since.At.IsZero() {
			return work.PullHints{}, fmt.Errorf("list pull requests: the cursor %q is not one", last)
		}
	}
	var out work.PullHints
	next := since
	for page := 1; page <= maxPages; page++ {
		query := url.Values{"state": {"all"}, "sort": {"updated"}, "direction": {"desc"}, "per_page": {"50"}, "page": {fmt.Sprint(page)}}
		header := h.asks.headers()
		if page == 1 && since.Etag != "" {
			header.Set("If-None-Match", since.Etag)
		}
		a, err := h.client.Ask(ctx, http.MethodGet, h.root+h.repository()+"/pulls?"+query.Encode(), header, nil)
		if err != nil || a.Status != http.StatusOK && a.Status != http.StatusNotModified {
			return work.PullHints{}, h.client.Trouble("list pull requests", a.Status, a.Header, a.Message(), err)
		}
		if page == 1 {
			if at, err := http.ParseTime(a.Header.Get("Date")); err == nil {
				next.At = at.UTC()
			} else if next.At.IsZero() {
				return work.PullHints{}, &work.HostTrouble{Kind: work.HostWrong, Do: "list pull requests", What: "the host does not say what time it is"}
			}
		}
		if a.Status == http.StatusNotModified {
			break
		}
		if page == 1 {
			next.Etag = a.Header.Get("Etag")
		}
		var all []pullRequest
		if json.Unmarshal(a.Body, &all) != nil {
			return work.PullHints{}, notGitHub("list pull requests", a.Status)
		}
		// Within the same second more may happen, and the list look the same.
		if page == 1 && len(all) > 0 && !all[0].Updated.Before(next.At.Add(-time.Second)) {
			next.Etag = ""
		}
		done := len(all) == 0 || !more(a.Header)
		for _, p := range all {
			// Times on the host are whole seconds.
			if last == "" || p.Updated.Before(since.At.Add(-time.Second)) {
				done = true
				break
			}
			out.Numbers = append(out.Numbers, p.Number)
		}
		if done {
			break
		}
	}
	data, err := json.Marshal(next)
	out.Cursor = string(data)
	slices.Sort(out.Numbers)
	return out, err
}
