package gitea

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	sdk "code.gitea.io/sdk/gitea"

	"forge/internal/host"
	"forge/internal/text"
	"forge/internal/work"
)

// Checks is how the statuses of a commit stand. Gitea keeps what each said
// before.
func (h *Host) Checks(ctx context.Context, commit string) (work.PullChecks, error) {
	var runs []host.CheckRun
	seen := 0
	for page := 1; page <= maxPages; page++ {
		all, res, err := h.api(ctx).ListStatuses(h.cfg.Owner, h.cfg.Repo, commit, sdk.ListStatusesOption{ListOptions: sdk.ListOptions{Page: page, PageSize: pageSize}})
		if err != nil {
			return work.PullChecks{State: work.ChecksUnknown}, h.trouble("read the checks of "+text.Short(commit), res, err)
		}
		for _, s := range all {
			runs = append(runs, host.CheckRun{
				PullCheck: work.PullCheck{Name: s.Context, Words: s.Description, URL: s.TargetURL, Job: h.job(s.TargetURL), At: commit},
				Ended:     statusState(s.State), At: s.Created.UTC(), Order: s.ID,
			})
		}
		if seen += len(all); !more(res.Header, seen, len(all)) {
			break
		}
	}
	return host.Sum(runs), nil
}

// statusState is what one status says of its commit.
func statusState(s sdk.StatusState) work.CheckState {
	switch s {
	case sdk.StatusSuccess, sdk.StatusWarning, "skipped":
		return work.ChecksPassed
	case sdk.StatusPending:
		return work.ChecksPending
	case sdk.StatusFailure:
		return work.ChecksFailed
	}
	return work.ChecksUnknown
}

// job is the number of the job that a status of Gitea's own Actions is of, 0 =
// it is none.
func (h *Host) job(target string) int64 {
	at, err := url.Parse(target)
	if err != nil {
		return 0
	}
	_, rest, ours := strings.Cut(at.Path, "/"+h.cfg.Owner+"/"+h.cfg.Repo+"/actions/runs/")
	_, number, job := strings.Cut(rest, "/jobs/")
	id, err := strconv.ParseInt(number, 10, 64)
	if err != nil || !ours || !job {
		return 0
	}
	return id
}

// CheckLog reads the job of Gitea's Actions, where it is one of the commit. One
// whose log is gone, or that the token may not read, is told without.
func (h *Host) CheckLog(ctx context.Context, c work.PullCheck) (work.PullCheck, error) {
	if c.Job == 0 {
		return c, nil
	}
	do := "read the log of check " + text.OneLine(c.Name, 100)
	job, res, err := h.api(ctx).GetRepoActionJob(h.cfg.Owner, h.cfg.Repo, c.Job)
	if err != nil || job.HeadSha != c.At {
		return c, h.noLog(do, res, err)
	}
	for _, s := range job.Steps {
		if s.Conclusion == "failure" {
			c.Step = text.OneLine(s.Name, 200)
		}
	}
	log, res, err := h.api(ctx).GetRepoActionJobLogs(h.cfg.Owner, h.cfg.Repo, c.Job)
	if err != nil {
		return c, h.noLog(do, res, err)
	}
	c.Log = host.LogEnd(log)
	return c, nil
}

// noLog is nil where the host has no such log for this token, or does not know
// of logs at all.
func (h *Host) noLog(do string, res *sdk.Response, err error) error {
	if err == nil || res == nil || res.StatusCode == http.StatusNotFound || res.StatusCode == http.StatusForbidden {
		return nil
	}
	return h.trouble(do, res, err)
}
