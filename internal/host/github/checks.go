package github

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"forge/internal/host"
	"forge/internal/text"
	"forge/internal/work"
)

// Checks is how the statuses and check runs of a commit stand. GitHub keeps what
// each said before.
func (h *Host) Checks(ctx context.Context, commit string) (work.PullChecks, error) {
	unknown := work.PullChecks{State: work.ChecksUnknown}
	do := "read the checks of " + text.Short(commit)
	var out []host.CheckRun
	t := eachPage(ctx, h, request{do: do, path: "/commits/" + url.PathEscape(commit) + "/statuses"}, func(page []status) bool {
		for _, s := range page {
			out = append(out, host.CheckRun{
				PullCheck: work.PullCheck{Name: s.Context, Words: s.Description, URL: s.URL, At: commit},
				Ended:     statusState(s.State), At: s.Created.UTC(), Order: s.ID,
			})
		}
		return false
	})
	if t != nil {
		return unknown, t
	}
	t = eachPage(ctx, h, request{do: do, path: "/commits/" + url.PathEscape(commit) + "/check-runs", query: url.Values{"filter": {"all"}}}, func(page checkRuns) bool {
		for _, r := range page.Runs {
			c := work.PullCheck{Name: r.Name, URL: r.URL, At: commit}
			c.Words = strings.TrimSpace(r.Output.Title + "\n" + r.Output.Summary + "\n" + r.Output.Text)
			if r.App.Slug == "github-actions" {
				c.Job = r.ID // which is that of its job
			}
			out = append(out, host.CheckRun{PullCheck: c, Ended: runState(r), At: r.Started.UTC(), Order: r.ID, Of: r.Suite.ID})
		}
		return false
	})
	if t != nil {
		return unknown, t
	}
	return host.Sum(out), nil
}

func statusState(s string) work.CheckState {
	switch s {
	case "success":
		return work.ChecksPassed
	case "pending":
		return work.ChecksPending
	case "failure":
		return work.ChecksFailed
	}
	return work.ChecksUnknown
}

// runState is what a check run says of its commit: one that was cancelled, or
// never began, says nothing.
func runState(r checkRun) work.CheckState {
	if r.Status != "completed" {
		return work.ChecksPending
	}
	switch c := r.Conclusion; {
	case slices.Contains([]string{"success", "neutral", "skipped"}, c):
		return work.ChecksPassed
	case c == "failure", c == "timed_out":
		return work.ChecksFailed
	}
	return work.ChecksUnknown
}

// CheckLog reads the job of GitHub's Actions. One whose log is gone, or that the
// token may not read, is told without.
func (h *Host) CheckLog(ctx context.Context, c work.PullCheck) (work.PullCheck, error) {
	if c.Job == 0 {
		return c, nil
	}
	do := "read the log of check " + text.OneLine(c.Name, 100)
	path := fmt.Sprintf("/actions/jobs/%d", c.Job)
	var j job
	if _, t := h.ask(ctx, request{do: do, path: path}, &j); t != nil || j.Head != c.At {
		return c, noLog(t)
	}
	for _, s := range j.Steps {
		if s.Conclusion == "failure" { // the first: those after it clean up, or did not begin
			c.Step = text.OneLine(s.Name, 200)
			break
		}
	}
	a, err := h.client.AskWhere(ctx, h.root+h.repository()+path+"/logs", h.asks.headers())
	switch at := a.Header.Get("Location"); {
	case err == nil && a.Status == http.StatusOK:
		c.Log = host.LogEnd(a.Body)
	case err == nil && a.Status == http.StatusFound && at != "":
		c.Log = stored(ctx, at)
	default:
		return c, noLog(h.trouble(do, a, err))
	}
	return c, nil
}

// noLog is what is wrong where a log cannot be read: that it is gone, or kept from
// the token, is nothing.
func noLog(t *work.HostTrouble) error {
	if t == nil || slices.Contains([]int{http.StatusNotFound, http.StatusForbidden, http.StatusGone}, t.Status) {
		return nil
	}
	return t
}

// Bounds of a log that is read from where GitHub keeps it.
const (
	mostLog     = 32 << 20
	logPatience = 30 * time.Second
)

// stored is the end of a log at an address that GitHub gave out for it, which is
// on another server and is asked without a token; "" = it cannot be read.
func stored(ctx context.Context, address string) string {
	ctx, cancel := context.WithTimeout(ctx, logPatience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return ""
	}
	client := &http.Client{Transport: http.DefaultTransport.(*http.Transport).Clone()}
	defer client.CloseIdleConnections()
	res, err := client.Do(req)
	if err != nil {
		return ""
	}
	defer func() { _ = res.Body.Close() }()
	log, err := io.ReadAll(io.LimitReader(res.Body, mostLog))
	if err != nil || res.StatusCode != http.StatusOK {
		return ""
	}
	return host.LogEnd(log)
}
