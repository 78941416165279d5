package gitea

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"forge/internal/host"
	"forge/internal/text"
	"forge/internal/work"
)

// Checks is how the statuses of a commit stand. Gitea keeps what each said
// before.
func (h *Host) Checks(ctx context.Context, commit string) (work.PullChecks, error) {
	var runs []host.CheckRun
	r := request{do: "read the checks of " + text.Short(commit), path: "/commits/" + url.PathEscape(commit) + "/statuses"}
	if _, t := eachPage(ctx, h, r, func(s status) bool {
		runs = append(runs, host.CheckRun{
			PullCheck: work.PullCheck{Name: s.Context, Words: s.Description, URL: s.URL, Job: h.job(s.URL), At: commit},
			Ended:     statusState(s.State), At: s.Created.UTC(), Order: s.ID,
		})
		return false
	}); t != nil {
		return work.PullChecks{State: work.ChecksUnknown}, t
	}
	return host.Sum(runs), nil
}

// statusState is what one status says of its commit.
func statusState(s string) work.CheckState {
	switch s {
	case "success", "warning", "skipped":
		return work.ChecksPassed
	case "pending":
		return work.ChecksPending
	case "failure":
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
	path := fmt.Sprintf("/actions/jobs/%d", c.Job)
	var j job
	if _, t := h.ask(ctx, request{do: do, path: path}, &j); t != nil || j.Head != c.At {
		return c, noLog(t)
	}
	// Gitea 1.26 gives each step the end of its job: where several failed, nobody
	// knows which did.
	failed := 0
	for _, s := range j.Steps {
		if s.Conclusion == "failure" {
			c.Step = text.OneLine(s.Name, 200)
			failed++
		}
	}
	if failed > 1 {
		c.Step = ""
	}
	log, t := h.ask(ctx, request{do: do, path: path + "/logs"}, nil)
	if t != nil {
		return c, noLog(t)
	}
	c.Log = host.LogEnd(log.Body)
	return c, nil
}

// noLog is nil where the host has no such log for this token, or does not know
// of logs at all.
func noLog(t *work.HostTrouble) error {
	if t == nil || t.Status == 0 || t.Status == http.StatusNotFound || t.Status == http.StatusForbidden {
		return nil
	}
	return t
}
