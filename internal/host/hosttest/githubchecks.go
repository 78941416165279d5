package hosttest

import (
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// Job is one of GitHub's Actions.
type Job struct {
	Head string // commit
	Step string // that failed
	Log  string // "" = it is gone
}

// CheckRun adds one run of a check to a commit; a job of Actions where it has one.
func (g *GitHub) CheckRun(commit, name, status, conclusion string, began time.Time, job *Job) {
	g.mu.Lock()
	defer g.mu.Unlock()
	id := g.id()
	run := map[string]any{
		"id": id, "name": name, "status": status, "head_sha": commit, "html_url": "https://github.example.com/runs/" + fmt.Sprint(id),
		"output": map[string]any{"title": name + " ended", "summary": ""},
	}
	if conclusion != "" {
		run["conclusion"] = conclusion
	}
	if !began.IsZero() {
		run["started_at"] = began.UTC().Format(time.RFC3339)
	}
	if job != nil {
		run["app"] = map[string]any{"slug": "github-actions"}
		g.jobs[id] = *job
	}
	g.checkRuns[commit] = append(g.checkRuns[commit], run)
}

// serveJob tells of a job, and sends whoever wants its log to where that is kept.
func (g *GitHub) serveJob(w http.ResponseWriter, req *http.Request, at []string) {
	id, _ := strconv.ParseInt(at[2], 10, 64)
	job, known := g.jobs[id]
	switch {
	case !known, len(at) > 3 && job.Log == "":
		refusal(w, http.StatusNotFound, "Not Found")
	case len(at) > 3 && at[3] == "logs":
		w.Header().Set("Location", "http://"+req.Host+"/stored-logs/"+at[2])
		w.WriteHeader(http.StatusFound)
	default:
		say(w, http.StatusOK, map[string]any{"id": id, "head_sha": job.Head, "steps": []map[string]any{
			{"name": "checkout", "conclusion": "success"}, {"name": job.Step, "conclusion": "failure"}, {"name": "tidy", "conclusion": "skipped"},
			{"name": "always", "conclusion": "failure"},
		}})
	}
}

// serveLog is another server than the API: it knows no token, and is to get none.
func (g *GitHub) serveLog(w http.ResponseWriter, req *http.Request, number string) {
	id, _ := strconv.ParseInt(number, 10, 64)
	if req.Header.Get("Authorization") != "" {
		http.Error(w, "a token was sent here", http.StatusBadRequest)
		return
	}
	_, _ = w.Write([]byte(g.jobs[id].Log))
}
