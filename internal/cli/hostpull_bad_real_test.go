//go:build real

package cli

import (
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"forge/internal/host/hosttest"
	"forge/internal/pace"
	"forge/internal/work"
)

// badStart are runs that people cannot be shown: why that is, as forge show has
// it, and what mends it; nil is what only an answer at the terminal does.
var badStart = []struct {
	name, says string
	spoil      func(w *giteaWorld) // after hosted
	mend       func(w *giteaWorld)
}{
	{
		"NoGitea", "check host.url",
		func(w *giteaWorld) {
			w.hosted(hosttest.Listen(w.t, func(out http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(out, "<html>hello") }), "forge")
		}, nil,
	},
	{
		"NobodyThere", "check host.url and that the host runs",
		func(w *giteaWorld) { w.hosted("http://127.0.0.1:1", "forge") }, nil,
	},
	{
		"WrongToken", "make a new token",
		func(w *giteaWorld) { w.hosted(w.g.URL, "wrong-token-of-tests") },
		func(w *giteaWorld) { w.hosted(w.g.URL, "forge") },
	},
	{
		"MissingScope", "right to write",
		func(w *giteaWorld) {
			w.hosted(w.g.URL, w.g.Token(w.t, "forge", "read:repository", "read:user", "read:issue"))
		},
		func(w *giteaWorld) { w.hosted(w.g.URL, "forge") },
	},
	{
		"NoPermission", "right to write",
		func(w *giteaWorld) { w.hosted(w.g.URL, "eve") },
		func(w *giteaWorld) { w.hosted(w.g.URL, "forge") },
	},
	{
		"NoRepository", "check host.repo",
		func(w *giteaWorld) {
			w.g.Do(w.t, w.g.Tokens["owner"], http.MethodDelete, "/repos/owner/"+w.repo, nil, nil)
		},
		func(w *giteaWorld) { w.g.Make(w.t, w.repo, true) },
	},
	{
		"Archived", "unarchive the repository",
		func(w *giteaWorld) { w.people.Archive(w.t) },
		func(w *giteaWorld) { w.patch("", map[string]any{"archived": false}) },
	},
	{
		"ProtectedBase", "let the account of the token push",
		func(w *giteaWorld) {
			w.g.Do(w.t, w.g.Tokens["owner"], http.MethodPost, "/repos/owner/"+w.repo+"/branch_protections", map[string]any{"rule_name": "forge/**", "enable_push": false}, nil)
		},
		func(w *giteaWorld) {
			w.g.Do(w.t, w.g.Tokens["owner"], http.MethodDelete, "/repos/owner/"+w.repo+"/branch_protections/"+url.PathEscape("forge/**"), nil, nil)
		},
	},
}

func (w *giteaWorld) patch(path string, in map[string]any) {
	w.t.Helper()
	w.g.Do(w.t, w.g.Tokens["owner"], http.MethodPatch, "/repos/owner/"+w.repo+path, in, nil)
}

// held says that one question is open, and that forge show has the text.
func (w *giteaWorld) held(text string) string {
	w.t.Helper()
	open := w.open()
	if len(open) != 1 {
		w.t.Fatalf("open questions: %q", open)
	}
	w.forge("show", open[0]).want(exitDone).says(text)
	return open[0]
}

// badStarts: what is in the way of a pull request is told with its way out, the
// run waits, and goes on when it is mended, or without a pull request where it
// is answered at the terminal.
func badStarts(t *testing.T, g *hosttest.GiteaCrowd) {
	for _, bad := range badStart[:pace.Few(2, len(badStart))] {
		t.Run(bad.name, func(t *testing.T) {
			t.Parallel()
			w := realPulls(t, g, peopleScript).hosted(g.URL, "forge")
			bad.spoil(w)
			w.plan(phase("02", "only", 6))
			w.forge("run").want(exitFrozen)
			id := w.held(bad.says)
			if bad.mend == nil {
				w.forge("approve", id, "--resume").want(exitDone)
				if got := w.git("show", "HEAD:out-02.txt"); got != "made by 02" {
					t.Errorf("out-02.txt is %q", got)
				}
				return
			}
			bad.mend(w)
			w.plan(phase("02", "only", 6))
			w.forge("resume").want(exitFrozen)
			look, _ := w.current()
			w.says("ann", look, work.PullApproved)
			w.forge("resume").want(exitDone)
			w.landed(look)
			w.sound()
		})
	}
}

// badMiddle: what goes wrong once the pull request is there.
func badMiddle(t *testing.T, g *hosttest.GiteaCrowd) {
	w := peopled(t, g)
	look, _ := w.current()
	_, run, _ := strings.Cut(look.Base, "forge/run-")
	// The token expires between the approval and its merge.
	w.says("ann", look, work.PullApproved)
	good := w.env
	w.env = append(good[:len(good)-1:len(good)-1], "HOST_TOKEN=expired-of-tests")
	w.forge("resume").want(exitFrozen).warns("does not accept the token")
	w.env = good
	// The next branch is somebody's already.
	next := "forge/phases/" + run + "/phase-2-tactical"
	w.g.Do(t, w.g.Tokens["ann"], http.MethodPost, "/repos/owner/"+w.repo+"/branches", map[string]any{"new_branch_name": next, "old_branch_name": "main"}, nil)
	w.forge("resume").want(exitFrozen)
	w.landed(look)
	w.held("the branch has commits on the host that Forge has not seen")
	w.forge("resume").want(exitFrozen)
	if n := len(w.pulls()); n != 1 {
		t.Fatalf("there are %d pull requests", n)
	}
	w.remove(next)
	w.forge("resume").want(exitFrozen)
	look, _ = w.current()
	// More is said than anybody reads.
	w.people.Say(t, "ben", look.Number, "the-beginning "+strings.Repeat("much of it ", 1<<20/11)+" the-end")
	w.people.Review(t, "ann", look.Number, look.Head, work.PullChangesRequested, strings.Repeat("and more ", 20_000))
	w.forge("resume").want(exitFrozen)
	prompt := w.forge("logs", "02", "--prompt", "--iteration", "2").want(exitDone).says("the-beginning", "and more", "[the rest is on the pull request]")
	if len(prompt.stdout) > 32<<10 {
		t.Errorf("the prompt has %d bytes", len(prompt.stdout))
	}
	// The repository is archived between the approval and its merge.
	look, _ = w.current()
	w.says("ann", look, work.PullApproved)
	w.forge("host", "watch", "--once", "--answer-only").want(exitDone)
	w.people.Archive(t)
	w.forge("resume").want(exitFrozen)
	w.held("unarchive the repository")
	w.patch("", map[string]any{"archived": false})
	again, _ := w.current()
	w.says("ann", again, work.PullApproved)
	w.forge("resume").want(exitDone)
	w.landed(again)
	w.sound()
}

func (w *giteaWorld) remove(branch string) {
	w.t.Helper()
	w.g.Do(w.t, w.g.Tokens["owner"], http.MethodDelete, "/repos/owner/"+w.repo+"/branches/"+url.PathEscape(branch), nil, nil)
}

// force is what git push --force by a person does.
func (w *giteaWorld) force(branch, commit string) {
	w.t.Helper()
	basic := base64.StdEncoding.EncodeToString([]byte("owner:" + w.g.Tokens["owner"]))
	w.git("-c", "http.extraHeader=Authorization: Basic "+basic, "push", "--quiet", "--force", w.g.URL+"/owner/"+w.repo+".git", commit+":refs/heads/"+branch)
}

// badBranch: a branch that was forced elsewhere, or deleted, is told, and gone
// on with once it is back; a rule of the base holds until it is met.
func badBranch(t *testing.T, g *hosttest.GiteaCrowd) {
	w := peopled(t, g)
	look, id := w.current()
	w.git("fetch", "--quiet", w.g.URL+"/owner/"+w.repo+".git", look.Branch)
	w.force(look.Branch, w.git("commit-tree", "-m", "forced", "HEAD^{tree}", "-p", "HEAD"))
	forced := w.until(look, func(now work.PullLook) bool { return now.Head != look.Head })
	w.people.Review(t, "ann", look.Number, forced.Head, work.PullApproved, "fine")
	w.forge("resume").want(exitFrozen)
	again := w.held("does not grow out of what Forge pushed")
	if again == id {
		t.Errorf("%s is asked again under its own name", id)
	}
	w.force(look.Branch, look.Head)
	w.until(look, func(now work.PullLook) bool { return now.Head == look.Head })
	w.approved = append(w.approved, look.Head)
	w.forge("approve", again, "--resume").want(exitFrozen)
	w.landed(look)
	// The rule of a branch.
	w.people.Protect(t, "forge/run-*", 2, "")
	look, id = w.current()
	w.says("ann", look, work.PullApproved)
	w.stays(look, id, "1 of 2 required approvals")
	w.says("ben", look, work.PullApproved)
	w.git("fetch", "--quiet", w.g.URL+"/owner/"+w.repo+".git", look.Branch)
	w.remove(look.Branch)
	w.forge("resume").want(exitFrozen)
	w.forge("approve", id, "--resume").want(exitFrozen)
	again = w.held("there to go on with it")
	w.force(look.Branch, look.Head)
	w.patch(fmt.Sprintf("/pulls/%d", look.Number), map[string]any{"state": "open"})
	w.until(look, func(now work.PullLook) bool { return now.State == work.PullOpen && !now.BranchGone })
	w.forge("approve", again, "--resume").want(exitDone)
	w.landed(look)
	w.sound()
}

// until waits for what the host takes a moment for.
func (w *giteaWorld) until(was work.PullLook, is func(work.PullLook) bool) work.PullLook {
	w.t.Helper()
	var now work.PullLook
	w.eventually("the pull request follows its branch", func() bool {
		var err error
		now, err = w.host.Look(w.t.Context(), was.Number)
		return err == nil && is(now)
	})
	return now
}
