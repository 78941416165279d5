package github

import (
	"context"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	sdk "github.com/google/go-github/v88/github"

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
	statuses := &sdk.ListOptions{PerPage: pageSize}
	for range maxPages {
		all, res, err := h.api.Repositories.ListStatuses(ctx, h.cfg.Owner, h.cfg.Repo, commit, statuses)
		if err != nil {
			return unknown, h.trouble(do, res, err)
		}
		for _, s := range all {
			out = append(out, host.CheckRun{
				PullCheck: work.PullCheck{Name: s.GetContext(), Words: s.GetDescription(), URL: s.GetTargetURL(), At: commit},
				Ended:     statusState(s.GetState()), At: s.GetCreatedAt().UTC(), Order: s.GetID(),
			})
		}
		if statuses.Page = res.NextPage; res.NextPage == 0 {
			break
		}
	}
	runs := &sdk.ListCheckRunsOptions{Filter: sdk.Ptr("all"), ListOptions: sdk.ListOptions{PerPage: pageSize}}
	for range maxPages {
		all, res, err := h.api.Checks.ListCheckRunsForRef(ctx, h.cfg.Owner, h.cfg.Repo, commit, runs)
		if err != nil {
			return unknown, h.trouble(do, res, err)
		}
		for _, r := range all.CheckRuns {
			c := work.PullCheck{Name: r.GetName(), URL: r.GetHTMLURL(), At: commit}
			c.Words = strings.TrimSpace(r.GetOutput().GetTitle() + "\n" + r.GetOutput().GetSummary() + "\n" + r.GetOutput().GetText())
			if r.GetApp().GetSlug() == "github-actions" {
				c.Job = r.GetID() // which is that of its job
			}
			out = append(out, host.CheckRun{PullCheck: c, Ended: runState(r), At: r.GetStartedAt().UTC(), Order: r.GetID(), Of: r.GetCheckSuite().GetID()})
		}
		if runs.Page = res.NextPage; res.NextPage == 0 {
			break
		}
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
func runState(r *sdk.CheckRun) work.CheckState {
	if r.GetStatus() != "completed" {
		return work.ChecksPending
	}
	switch c := r.GetConclusion(); {
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
	job, res, err := h.api.Actions.GetWorkflowJobByID(ctx, h.cfg.Owner, h.cfg.Repo, c.Job)
	if err != nil || job.GetHeadSHA() != c.At {
		return c, h.noLog(do, res, err)
	}
	for _, s := range job.Steps {
		if s.GetConclusion() == "failure" {
			c.Step = text.OneLine(s.GetName(), 200)
		}
	}
	at, res, err := h.api.Actions.GetWorkflowJobLogs(ctx, h.cfg.Owner, h.cfg.Repo, c.Job, 0)
	if err != nil {
		return c, h.noLog(do, res, err)
	}
	c.Log = stored(ctx, at.String())
	return c, nil
}

func (h *Host) noLog(do string, res *sdk.Response, err error) error {
	if err == nil || res != nil && (res.StatusCode == http.StatusNotFound || res.StatusCode == http.StatusForbidden || res.StatusCode == http.StatusGone) {
		return nil
	}
	return h.trouble(do, res, err)
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
