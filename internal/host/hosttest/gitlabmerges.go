package hosttest

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"
)

func (g *GitLab) list(w http.ResponseWriter, req *http.Request) {
	q := req.URL.Query()
	since, _ := time.Parse(time.RFC3339Nano, q.Get("updated_after"))
	all := slices.Clone(g.merges)
	slices.SortFunc(all, func(a, b *glMerge) int { return b.updated.Compare(a.updated) })
	var shown []map[string]any
	for _, m := range all {
		if q.Get("state") == "opened" && m.state != "opened" {
			continue
		}
		if !m.updated.Before(since) && (q.Get("source_branch") == "" || q.Get("source_branch") == m.source) {
			shown = append(shown, g.show(m))
		}
	}
	g.page(w, req, shown)
}

func (g *GitLab) create(w http.ResponseWriter, who string, body map[string]any) {
	text := func(key string) string { s, _ := body[key].(string); return s }
	for _, m := range g.merges {
		if m.state == "opened" && m.source == text("source_branch") && m.target == text("target_branch") {
			glError(w, http.StatusConflict, []string{fmt.Sprintf("Another open merge request already exists for this source branch: !%d", m.iid)})
			return
		}
	}
	m := &glMerge{
		iid: len(g.merges) + 1, title: text("title"), description: text("description"), author: who, source: text("source_branch"), target: text("target_branch"), state: "opened",
		approved: map[string]time.Time{}, requested: map[string]time.Time{},
	}
	g.merges = append(g.merges, m)
	g.at(m, g.head(m.source))
	say(w, http.StatusCreated, g.show(m))
}

// status is how it can be merged, in GitLab's word.
func (g *GitLab) status(m *glMerge) string {
	needs, ruled := g.protected[m.target]
	switch {
	case m.state != "opened":
		return "not_open"
	case g.head(m.source) == "":
		return "commits_status"
	case !m.asked:
		m.asked = true
		return "checking"
	case !g.fits(m):
		return "conflict"
	case g.onlyGreen && ruled:
		last := map[string]string{}
		for _, s := range g.statuses[m.head] {
			last[s["name"].(string)] = s["status"].(string)
		}
		for _, s := range last {
			if s == "pending" {
				return "ci_still_running"
			}
		}
		if len(last) == 0 || slices.ContainsFunc(slices.Collect(maps.Values(last)), func(s string) bool { return s != "success" }) {
			return "ci_must_pass"
		}
	}
	if len(m.approved) < needs {
		return "not_approved"
	}
	return "mergeable"
}

func (g *GitLab) fits(m *glMerge) bool {
	_, err := g.try("merge-tree", "--write-tree", "refs/heads/"+m.target, m.head)
	return err == nil
}

func (g *GitLab) show(m *glMerge) map[string]any {
	v := m.versions[len(m.versions)-1]
	out := map[string]any{
		"iid": m.iid, "web_url": fmt.Sprintf("%s/%s/-/merge_requests/%d", g.URL, GitLabProject, m.iid), "title": m.title, "description": m.description, "state": m.state,
		"source_branch": m.source, "target_branch": m.target, "source_project_id": 7, "target_project_id": 7, "sha": m.head, "merge_commit_sha": nil, "squash_commit_sha": nil,
		"author": glUser(m.author), "merge_user": nil, "updated_at": glTime(m.updated), "draft": false, "detailed_merge_status": g.status(m),
		"diff_refs": map[string]any{"base_sha": v.base, "head_sha": v.head, "start_sha": v.base},
	}
	if m.state == "merged" {
		out["merge_commit_sha"], out["squash_commit_sha"], out["merge_user"] = m.merged, m.squashed, glUser(m.merger)
	}
	return out
}

// squash merges as GitLab does where a project also makes merge commits.
func (g *GitLab) squash(m *glMerge, who, message string) bool {
	base := g.head(m.target)
	tree, err := g.try("merge-tree", "--write-tree", base, m.head)
	if err != nil {
		return false
	}
	tree = strings.Fields(tree)[0]
	one, err := g.try("commit-tree", tree, "-p", base, "-m", message)
	if err != nil {
		return false
	}
	two, err := g.try("commit-tree", tree, "-p", base, "-p", one, "-m", message)
	if err != nil {
		return false
	}
	if _, err := g.try("update-ref", "refs/heads/"+m.target, two, base); err != nil {
		return false
	}
	m.state, m.merged, m.squashed, m.merger = "merged", two, one, who
	g.touch(m)
	return true
}

func (g *GitLab) mergeAt(w http.ResponseWriter, req *http.Request, m *glMerge, at []string, who string, body map[string]any) {
	text := func(key string) string { s, _ := body[key].(string); return s }
	switch what := req.Method + " " + strings.Join(at[:min(len(at), 1)], ""); {
	case what == "GET ":
		say(w, http.StatusOK, g.show(m))
	case what == "PUT ":
		if s, ok := body["title"].(string); ok {
			m.title = s
		}
		if s, ok := body["description"].(string); ok {
			m.description = s
		}
		if text("state_event") == "close" {
			m.state = "closed"
		}
		g.touch(m)
		say(w, http.StatusOK, g.show(m))
	case what == "PUT merge":
		m.asked = true
		switch status := g.status(m); {
		case m.state != "opened" || status == "not_approved" || strings.HasPrefix(status, "ci_") || status == "commits_status":
			glError(w, http.StatusMethodNotAllowed, "405 Method Not Allowed")
		case text("sha") != m.head:
			glError(w, http.StatusConflict, "SHA does not match HEAD of source branch: "+m.head)
		case status != "mergeable" || !g.squash(m, who, text("squash_commit_message")):
			glError(w, http.StatusUnprocessableEntity, "Branch cannot be merged")
		default:
			say(w, http.StatusOK, g.show(m))
		}
	case what == "GET approvals":
		by := []map[string]any{}
		for _, name := range slices.Sorted(maps.Keys(m.approved)) {
			by = append(by, map[string]any{"user": glUser(name), "approved_at": glTime(m.approved[name])})
		}
		say(w, http.StatusOK, map[string]any{"approved_by": by})
	case what == "GET reviewers":
		all := []map[string]any{}
		for _, name := range slices.Sorted(maps.Keys(m.requested)) {
			all = append(all, map[string]any{"user": glUser(name), "state": "requested_changes", "created_at": glTime(m.requested[name])})
		}
		g.page(w, req, all)
	case what == "GET versions" && len(at) == 1:
		var all []map[string]any
		for _, v := range slices.Backward(m.versions) {
			all = append(all, map[string]any{"id": v.id, "head_commit_sha": v.head, "base_commit_sha": v.base, "created_at": glTime(v.at)})
		}
		g.page(w, req, all)
	case what == "GET versions":
		for _, v := range m.versions {
			if fmt.Sprint(v.id) == at[1] {
				say(w, http.StatusOK, map[string]any{"id": v.id, "diffs": g.diffs(v.base, v.head)})
				return
			}
		}
		glError(w, http.StatusNotFound, "404 Not found")
	case len(at) == 3 && at[0] == "notes" && at[2] == "award_emoji":
		for _, d := range m.discussions {
			for _, n := range d.notes {
				if fmt.Sprint(n["id"]) != at[1] {
					continue
				}
				all, _ := n["awards"].([]map[string]any)
				one := map[string]any{"name": body["name"], "user": glUser(who)}
				twice := slices.ContainsFunc(all, func(a map[string]any) bool { return fmt.Sprint(a) == fmt.Sprint(one) })
				switch {
				case req.Method == http.MethodGet:
					g.page(w, req, all)
				case twice:
					glError(w, http.StatusNotFound, "404 Award Emoji Name has already been taken Not Found")
				default:
					n["awards"] = append(all, one)
					say(w, http.StatusCreated, one)
				}
				return
			}
		}
		glError(w, http.StatusNotFound, "404 Not found")
	case what == "GET discussions":
		var all []map[string]any
		for _, d := range m.discussions {
			all = append(all, map[string]any{"id": d.id, "notes": d.notes})
		}
		g.page(w, req, all)
	case what == "GET notes":
		var all []map[string]any
		for _, d := range m.discussions {
			all = append(all, d.notes...)
		}
		slices.SortFunc(all, func(a, b map[string]any) int { return a["id"].(int) - b["id"].(int) })
		g.page(w, req, all)
	case what == "POST notes":
		g.touch(m)
		say(w, http.StatusCreated, g.alone(m, who, text("body"), false))
	case what == "POST discussions" && len(at) == 1:
		place, _ := body["position"].(map[string]any)
		line, _ := place["new_line"].(float64)
		file, _ := place["new_path"].(string)
		v := m.versions[len(m.versions)-1]
		diff, err := g.try("diff", "-U3", v.base, v.head, "--", file)
		if err != nil || place["head_sha"] != v.head || place["position_type"] != "text" || !inHunks(diff, int(line)) {
			glError(w, http.StatusBadRequest, "400 Bad request - Note {:line_code=>[\"can't be blank\", \"must be a valid line code\"]}")
			return
		}
		g.touch(m)
		n := g.alone(m, who, text("body"), false)
		n["type"], n["position"] = "DiffNote", place
		say(w, http.StatusCreated, n)
	case strings.HasPrefix(what, "PUT discussions"):
		for _, d := range m.discussions {
			if d.id == at[1] {
				d.notes[0]["resolved"] = body["resolved"] == true
				say(w, http.StatusOK, map[string]any{"id": d.id, "notes": d.notes})
				return
			}
		}
		glError(w, http.StatusNotFound, "404 Discussion Not Found")
	case what == "POST discussions":
		for _, d := range m.discussions {
			if d.id == at[1] {
				g.touch(m)
				d.notes = append(d.notes, g.note(who, text("body"), false))
				say(w, http.StatusCreated, d.notes[len(d.notes)-1])
				return
			}
		}
		glError(w, http.StatusNotFound, "404 Discussion Not Found")
	default:
		glError(w, http.StatusNotFound, "404 Not Found")
	}
}

// diffs are the files of a change, each without the lines that git writes above.
func (g *GitLab) diffs(base, head string) []map[string]any {
	names, _ := g.try("diff", "--name-only", base, head)
	all := []map[string]any{}
	for _, name := range strings.Fields(names) {
		diff, _ := g.try("diff", "-U3", base, head, "--", name)
		if at := strings.Index(diff, "\n@@"); at >= 0 {
			diff = diff[at+1:]
		}
		all = append(all, map[string]any{"old_path": name, "new_path": name, "diff": diff + "\n"})
	}
	return all
}
