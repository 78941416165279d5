package gitlab

import (
	"context"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"time"

	"forge/internal/gitlabapi"
	"forge/internal/host"
	"forge/internal/text"
	"forge/internal/work"
)

// status is one of a commit: a job of GitLab's own CI, or what somebody else's says.
type status struct {
	ID          int64     `json:"id"`
	Name        string    `json:"name"`
	Status      string    `json:"status"`
	Description string    `json:"description"`
	URL         string    `json:"target_url"`
	Created     time.Time `json:"created_at"`
	MayFail     bool      `json:"allow_failure"`
}

// jobAddress is where GitLab shows a job of its own.
var jobAddress = text.Lazy(`/-/jobs/(\d+)$`)

// Checks is how the statuses of a commit stand. GitLab keeps what each said before.
func (h *Host) Checks(ctx context.Context, commit string) (work.PullChecks, error) {
	all, err := gitlabapi.List[status](ctx, h.api, "read the checks of "+text.Short(commit), "/repository/commits/"+url.PathEscape(commit)+"/statuses", url.Values{"all": {"true"}})
	if err != nil {
		return work.PullChecks{State: work.ChecksUnknown}, err
	}
	var out []host.CheckRun
	for _, s := range all {
		c := work.PullCheck{Name: s.Name, Words: s.Description, URL: s.URL, At: commit}
		c.Job = jobOf(jobAddress(), s)
		out = append(out, host.CheckRun{PullCheck: c, Ended: ended(s), At: s.Created.UTC(), Order: s.ID})
	}
	return host.Sum(out), nil
}

// jobOf is the number of a job of GitLab's own, 0 = it is none.
func jobOf(address *regexp.Regexp, s status) int64 {
	m := address.FindStringSubmatch(s.URL)
	if m == nil || m[1] != strconv.FormatInt(s.ID, 10) {
		return 0
	}
	return s.ID
}

// ended is what a status says of its commit. One that was cancelled says nothing, and
// one that waits for a person's press is no answer yet, if it has to be one.
func ended(s status) work.CheckState {
	switch s.Status {
	case "success", "skipped":
		return work.ChecksPassed
	case "failed":
		if s.MayFail {
			return work.ChecksPassed
		}
		return work.ChecksFailed
	case "manual":
		if s.MayFail {
			return work.ChecksPassed
		}
		return work.ChecksPending
	case "created", "waiting_for_resource", "preparing", "waiting_for_callback", "pending", "running", "scheduled":
		return work.ChecksPending
	}
	return work.ChecksUnknown
}

func (h *Host) state(ctx context.Context, commit string) (work.CheckState, error) {
	all, err := h.Checks(ctx, commit)
	return all.State, err
}

// CheckLog reads the log of a job of GitLab's own. One whose log is gone, or that the
// token may not read, is told without.
func (h *Host) CheckLog(ctx context.Context, c work.PullCheck) (work.PullCheck, error) {
	if c.Job == 0 {
		return c, nil
	}
	a, err := h.api.Ask(ctx, "read the log of check "+text.OneLine(c.Name, 100), http.MethodGet, "/jobs/"+strconv.FormatInt(c.Job, 10)+"/trace", nil, nil)
	if a.Status == http.StatusNotFound || a.Status == http.StatusForbidden {
		return c, nil
	}
	if err == nil {
		c.Log = host.LogEnd(a.Body)
	}
	return c, err
}
