//go:build real

package e2e

import (
	"fmt"
	"os"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"forge/internal/git"
	"forge/internal/host/github"
	"forge/internal/host/hosttest"
	"forge/internal/pace"
	"forge/internal/work"
)

// The question about a result stands in a pull request as well. The factory is killed
// while it waits, and once more as soon as somebody approved there, in Slack, on the
// page, at the terminal and by another program at once: one answer counts, and the
// result lands once.
func TestRealResultFromEveryDoorAndAPullRequest(t *testing.T) {
	pace.Slow(t, "a factory is killed twice, and works on an issue to its end")
	t.Parallel()
	c, g := newChannel(t), hosttest.StartGitHub(t)
	c.write("go", "")
	toml, err := os.ReadFile(c.at("repo/.forge/forge.toml"))
	if err != nil {
		t.Fatal(err)
	}
	c.write("repo/.forge/forge.toml", fmt.Sprintf("%s[host]\nkind = \"github\"\nurl = %q\nrepo = \"octo/repo\"\ntoken_env = \"HOST_TOKEN\"\npoll_secs = 1\n", toml, g.URL))
	c.must("git", "commit", "--quiet", "--all", "--message", "a code host")
	c.env = append(c.env, "HOST_TOKEN="+hosttest.GitHubToken)
	store, err := git.Open(t.Context(), git.Config{StateDir: t.TempDir(), Root: c.at("repo"), Environ: c.env})
	if err != nil {
		t.Fatal(err)
	}
	g.Seed(t, store, "main", strings.TrimSpace(c.must("git", "rev-parse", "HEAD")))
	h, err := github.New(github.Config{URL: g.URL, Owner: "octo", Repo: "repo", Token: hosttest.GitHubToken, Store: store})
	if err != nil {
		t.Fatal(err)
	}

	c.serve()
	m := c.message("Approve")
	id := askedBy(t, m)
	c.kill()
	c.serve()
	c.eventually("Slack is connected", func() bool { return c.slack.Connected() == 1 })
	var pull work.PullLook
	c.eventually("the pull request asks", func() bool {
		pull, err = h.Look(t.Context(), 1)
		return err == nil && strings.Contains(pull.Body, "How to answer")
	})
	press, err := c.slack.Press("U1", m, "Approve")
	if err != nil {
		t.Fatal(err)
	}
	server := c.address()
	session := c.speaks(server, strings.TrimSpace(c.acknowledged("token", "new", "--name", "editor", "--tier", "answer")))
	told := atOnce(map[string]func() string{
		"pull":  func() string { g.People().Review(t, "ann", 1, pull.Head, work.PullApproved, "fine"); return "said" },
		"slack": func() string { c.heard(c.slack.Deliver(press)); return "heard" },
		"web":   func() string { return c.posts(server, id, "") },
		"cli": func() string {
			_, stderr, code := c.quick("approve", id)
			return fmt.Sprint(code, " ", stderr)
		},
		"mcp": func() string {
			return calls(t, session, &sdk.CallToolParams{Name: "answer", Arguments: map[string]any{"id": id, "revision": 1, "answer": "approve"}})
		},
	})
	_ = session.Close()
	c.kill()
	c.serve()
	c.eventually("the result lands", func() bool {
		pull, err = h.Look(t.Context(), 1)
		return err == nil && pull.State == work.PullMerged
	})
	c.kill()

	if counts := c.answersTo(id); len(counts) != 1 {
		t.Errorf("counted %q; at the doors: %v", counts, told)
	}
	at, err := h.Fetch(t.Context(), "main", "refs/forge/at")
	if err != nil || at != pull.MergeCommit {
		t.Errorf("main is at %s, merged as %s: %v", at, pull.MergeCommit, err)
	}
	if got, err := store.Show(t.Context(), at, "thing1.txt"); err != nil || strings.TrimSpace(string(got)) != "thing1" {
		t.Errorf("what landed is %q, %v", got, err)
	}
	if other, err := h.Pull(t.Context(), 2); err == nil {
		t.Errorf("there is a second pull request: %+v", other)
	}
	t.Logf("at the doors: %v", told)
}
