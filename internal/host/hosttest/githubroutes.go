package hosttest

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

func (g *GitHub) route(w http.ResponseWriter, req *http.Request, at []string, who string, body map[string]any) {
	get, post := req.Method == http.MethodGet, req.Method == http.MethodPost
	switch {
	case at[0] == "":
		say(w, http.StatusOK, map[string]any{
			"id": 7, "full_name": "octo/repo", "default_branch": "main", "archived": g.archived, "size": 1,
			"permissions": map[string]bool{"admin": true, "push": true, "pull": true}, "allow_squash_merge": true,
		})
	case at[0] == "collaborators" && len(at) == 3:
		right, ok := g.rights[at[1]]
		if !ok {
			refusal(w, http.StatusNotFound, at[1]+" is not a user")
			return
		}
		say(w, http.StatusOK, map[string]any{"permission": right})
	case at[0] == "branches" && at[len(at)-1] == "protection":
		rule := g.protected[strings.Join(at[1:len(at)-1], "/")]
		say(w, http.StatusOK, map[string]any{
			"required_pull_request_reviews": map[string]any{"required_approving_review_count": rule.approvals},
			"required_status_checks":        map[string]any{"strict": false, "contexts": []string{rule.check}},
		})
	case at[0] == "branches":
		name := strings.Join(at[1:], "/")
		if g.head(name) == "" {
			refusal(w, http.StatusNotFound, "Branch not found")
			return
		}
		_, protected := g.protected[name]
		say(w, http.StatusOK, map[string]any{"name": name, "protected": protected, "commit": map[string]any{"sha": g.head(name)}})
	case at[0] == "git" && at[1] == "commits":
		parents, _ := g.try("show", "-s", "--format=%P", at[2])
		var list []map[string]any
		for _, p := range strings.Fields(parents) {
			list = append(list, map[string]any{"sha": p})
		}
		say(w, http.StatusOK, map[string]any{"sha": at[2], "parents": list})
	case at[0] == "git" && (at[1] == "ref" || at[1] == "refs"):
		name := strings.TrimPrefix(strings.Join(at[2:], "/"), "heads/")
		switch id := g.head(name); {
		case id == "" && get:
			refusal(w, http.StatusNotFound, "Not Found")
		case id == "":
			refusal(w, http.StatusUnprocessableEntity, "Reference does not exist")
		case get:
			say(w, http.StatusOK, map[string]any{"ref": "refs/heads/" + name, "object": map[string]any{"sha": id}})
		default:
			_, _ = g.try("update-ref", "-d", "refs/heads/"+name)
			w.WriteHeader(http.StatusNoContent)
		}
	case at[0] == "commits" && at[2] == "status":
		state, total := g.combined(at[1])
		say(w, http.StatusOK, map[string]any{"state": state, "total_count": total, "sha": at[1]})
	case at[0] == "commits" && at[2] == "check-runs":
		runs := g.checkRuns[at[1]]
		say(w, http.StatusOK, map[string]any{"total_count": len(runs), "check_runs": slices.Concat([]map[string]any{}, runs)})
	case at[0] == "commits" && at[2] == "statuses":
		all := slices.Concat([]map[string]any{}, g.said[at[1]])
		slices.Reverse(all)
		g.page(w, req, all)
	case at[0] == "actions" && len(at) > 2 && at[1] == "jobs":
		g.serveJob(w, req, at)
	case at[0] == "hooks":
		g.serveHooks(w, req, at, body)
	case at[0] == "pulls" && len(at) == 1 && get:
		g.listPulls(w, req)
	case at[0] == "pulls" && len(at) == 1 && post:
		g.createPull(w, who, body)
	case at[0] == "issues" && len(at) == 4 && at[1] == "comments" && at[3] == "reactions":
		for _, p := range g.pulls {
			for _, c := range p.comments {
				if fmt.Sprint(c["id"]) == at[2] && post {
					signs, _ := c["signs"].(map[string]bool)
					if signs == nil {
						signs = map[string]bool{}
					}
					signs[who+" "+fmt.Sprint(body["content"])] = true
					c["signs"] = signs
					say(w, http.StatusCreated, map[string]any{"id": g.id(), "content": body["content"]})
					return
				}
			}
		}
		refusal(w, http.StatusNotFound, "Not Found")
	case at[0] == "pulls" || at[0] == "issues":
		n, _ := strconv.Atoi(at[1])
		if i := n - firstIssue; at[0] == "issues" && len(at) == 2 && i >= 0 && i < len(g.issues) {
			say(w, http.StatusOK, g.issues[i])
			return
		}
		if n < 1 || n > len(g.pulls) {
			refusal(w, http.StatusNotFound, "Not Found")
			return
		}
		g.servePull(w, req, g.pulls[n-1], at, who, body)
	default:
		refusal(w, http.StatusNotFound, "Not Found")
	}
}

func (g *GitHub) serveHooks(w http.ResponseWriter, req *http.Request, at []string, body map[string]any) {
	switch {
	case len(at) == 1 && req.Method == http.MethodGet:
		g.page(w, req, g.hooks)
	case len(at) == 1:
		hook := map[string]any{"id": g.id(), "config": body["config"], "events": body["events"], "active": true}
		g.hooks = append(g.hooks, hook)
		say(w, http.StatusCreated, hook)
	default:
		for _, h := range g.hooks {
			if fmt.Sprint(h["id"]) == at[1] {
				if len(at) == 2 {
					h["config"] = body["config"]
					say(w, http.StatusOK, h)
					return
				}
				g.ping(h)
				w.WriteHeader(http.StatusNoContent)
				return
			}
		}
		refusal(w, http.StatusNotFound, "Not Found")
	}
}

// ping delivers a webhook in its own time.
func (g *GitHub) ping(hook map[string]any) {
	config, _ := hook["config"].(map[string]any)
	address, secret, id := fmt.Sprint(config["url"]), fmt.Sprint(config["secret"]), fmt.Sprint(hook["id"])
	body := []byte(`{"zen":"Keep it logically awesome.","repository":{"full_name":"octo/repo"}}`)
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(body)
	g.deliveries.Go(func() {
		req, err := http.NewRequest(http.MethodPost, address, bytes.NewReader(body))
		if err != nil {
			return
		}
		req.Header.Set("X-Github-Event", "ping")
		req.Header.Set("X-Github-Delivery", "delivery-"+id)
		req.Header.Set("X-Hub-Signature-256", "sha256="+hex.EncodeToString(mac.Sum(nil)))
		client := &http.Client{Timeout: 10 * time.Second}
		defer client.CloseIdleConnections()
		if res, err := client.Do(req); err == nil { // one that nobody takes is lost
			_ = res.Body.Close()
		}
	})
}

func (g *GitHub) combined(commit string) (string, int) {
	all := g.statuses[commit]
	state := "success"
	for _, s := range all {
		switch {
		case s == "failure" || s == "error":
			return "failure", len(all)
		case s == "pending":
			state = "pending"
		}
	}
	if len(all) == 0 {
		state = "pending"
	}
	return state, len(all)
}
