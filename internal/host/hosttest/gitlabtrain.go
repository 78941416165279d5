package hosttest

import (
	"net/http"
	"slices"
	"strconv"
)

// glCar is a merge request in the merge train of its target.
type glCar struct {
	iid  int
	head string
	who  string
}

// MergesByTrain has the project merge by its merge train.
func (g *GitLab) MergesByTrain() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.trains = true
}

// Train are the merge requests in the merge train.
func (g *GitLab) Train() (all []int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, c := range g.train {
		all = append(all, c.iid)
	}
	return all
}

// RunTrain has the train end: what its pipeline is red of is taken out, as is what was
// pushed to since; the rest is merged.
func (g *GitLab) RunTrain(red ...int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.refresh()
	for _, c := range g.train {
		m := g.merges[c.iid-1]
		why := ""
		switch {
		case m.head != c.head:
			why = "source branch was changed"
		case slices.Contains(red, c.iid):
			why = "the pipeline did not succeed"
		case m.state != "opened" || !g.squash(m, c.who, m.title):
			why = "it cannot be merged"
		}
		if why != "" {
			g.tick()
			g.alone(m, "forge", "removed this merge request from the merge train because "+why, true)
			g.touch(m)
		}
	}
	g.train = nil
}

func (g *GitLab) serveTrain(w http.ResponseWriter, req *http.Request, at []string, who string, body map[string]any) {
	if !g.trains {
		glError(w, http.StatusForbidden, "403 Forbidden")
		return
	}
	n := 0
	if len(at) == 3 && at[1] == "merge_requests" {
		n, _ = strconv.Atoi(at[2])
	}
	if n < 1 || n > len(g.merges) {
		glError(w, http.StatusNotFound, "404 Not found")
		return
	}
	m := g.merges[n-1]
	there := slices.ContainsFunc(g.train, func(c glCar) bool { return c.iid == n })
	car := map[string]any{"id": 1, "merge_request": map[string]any{"iid": n}, "target_branch": m.target, "status": "fresh"}
	switch {
	case req.Method == http.MethodGet && !there:
		glError(w, http.StatusNotFound, "404 Not Found")
	case req.Method == http.MethodGet:
		say(w, http.StatusOK, car)
	case there || m.state != "opened" || g.status(m) != "mergeable":
		glError(w, http.StatusBadRequest, "400 Bad request - Failed to merge")
	case body["sha"] != m.head:
		glError(w, http.StatusConflict, "SHA does not match HEAD of source branch: "+m.head)
	default:
		g.tick()
		g.train = append(g.train, glCar{n, m.head, who})
		g.alone(m, who, "started a merge train", true)
		car["status"] = "idle"
		say(w, http.StatusCreated, []any{car})
	}
}
