package cli

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"forge/internal/pace"
	"forge/internal/work"
)

// shut closes an issue, or has a writer reopen it.
func (g *gitHub) shut(number int, closed bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	i := g.issues[number]
	if closed {
		i["state"], i["closedAt"] = "CLOSED", time.Unix(1700, 0).UTC().Format(time.RFC3339)
		return
	}
	i["state"], i["closedAt"] = "OPEN", nil
	line := i["timelineItems"].(map[string]any)
	line["nodes"] = append(line["nodes"].([]any), map[string]any{"__typename": "ReopenedEvent", "createdAt": time.Unix(1800, 0).UTC().Format(time.RFC3339), "actor": map[string]any{"login": "writer"}})
}

// deaf has the host answer nothing but 503.
func (g *gitHub) deaf(deaf bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.away = deaf
}

// An issue that is closed on its tracker after it was made ready is never
// claimed, and one that runs is stopped: both say why, and go on, the latter in
// the same run, once they are open again. While the tracker does not answer
// nothing of it is claimed, by no door, and the board's own issues run on.
func TestTrackerIssueIsNotWorkedOnOnceItIsClosed(t *testing.T) {
	pace.Slow(t, "trackers are asked every five seconds at most")
	t.Parallel()
	hub := &gitHub{T: t, issues: map[int]map[string]any{7: hubIssue(7, "")}, comments: map[int][]map[string]any{}, posts: map[int]int{}, closed: map[int]bool{}}
	on := httptest.NewServer(hub)
	defer on.Close()
	w := newWorld(t, "")
	begun, quick := filepath.Join(w.home, "begun"), filepath.Join(w.home, "quick")
	agent := filepath.Join(w.home, "agent.sh")
	w.write(agent, fmt.Sprintf("touch %s\ntest -e %s || sleep 600\necho \"$FORGE_PHASE_NAME\" >\"$FORGE_PHASE_NAME.txt\"\n"+
		"case $FORGE_PHASE_NAME in Wish*) echo '<promise>ISSUE 2 DONE</promise>' ;; *) echo '<promise>ISSUE 1 DONE</promise>' ;; esac\n", begun, quick))
	w.write(".forge/forge.toml", fmt.Sprintf("[agent]\nuse = \"mine\"\n[agents.mine]\nkind = \"exec\"\ncommand = [\"sh\", %q]\n"+
		"[factory]\ntriage = \"off\"\ndefault_policy = \"end_to_end\"\n[verify]\ncommands = [\"true\"]\n", agent))
	w.write(filepath.Join(w.home, ".config/forge/config.toml"), "[sandbox]\nmode = \"off\"\n[trackers.work]\nkind = \"github\"\nurl = \""+on.URL+
		"\"\nrepo = \"o/work\"\npoll_secs = 5\nsandbox = \"as_configured\"\n")
	w.env = append(w.env, "GITHUB_TOKEN=the-token-of-the-bot")
	w.forge("issue", "add", "kept back").want(exitDone) // makes the board, and is #1
	w.forge("factory", "pause").want(exitDone)
	s := w.serve("bot")
	card := func(id int, what string, like func(work.Issue) bool) (i work.Issue) {
		t.Helper()
		w.eventually(what, func() bool {
			code, text := s.send("GET", fmt.Sprintf("%s/issues/%d", s.project, id), "")
			if code == 200 {
				if err := json.Unmarshal([]byte(text), &i); err != nil {
					t.Fatal(err)
				}
			}
			return code == 200 && like(i)
		})
		return i
	}
	away := func(i work.Issue) bool {
		return i.Column == work.ColumnBacklog && i.State == work.IssueWaits && strings.HasPrefix(i.Reason, "closed_on_tracker: it was closed on the tracker on 1970-01-01 ")
	}

	// Ready, and closed before anybody claimed it.
	card(2, "the issue is imported", func(i work.Issue) bool { return i.Column == work.ColumnReady })
	s.run.stop()
	s.run.wait()
	hub.shut(7, true)
	w.forge("factory", "resume").want(exitDone)
	w.forge("issue", "run", "2").want(exitFrozen)
	w.forge("issue", "show", "2").want(exitDone).says("backlog", "closed_on_tracker", "reopen it there")
	s = w.serve("other")
	i := card(2, "the issue is put back", away)
	if i.Run != "" || i.Branch != "" {
		t.Errorf("it was claimed: %+v", i)
	}
	w.eventually("the tracker is told", func() bool {
		_, said, _ := hub.told(7)
		return strings.Contains(said, "does not work on this any more")
	})

	// Dragged to ready, it goes back; the tracker does not want it.
	w.forge("issue", "move", "2", "ready").want(exitDone)
	i = card(2, "the issue is put back again", away)
	if i.Run != "" || w.exists(begun) {
		t.Errorf("it was claimed: %+v", i)
	}

	// Reopened by a writer it runs; closed while it does, it stops and is kept.
	hub.shut(7, false)
	w.eventually("the agent works", func() bool { return w.exists(begun) })
	hub.shut(7, true)
	i = card(2, "the run is stopped", away)
	if i.Run == "" || !strings.Contains(i.Reason, "it goes on from what run "+i.Run+" has done") {
		t.Errorf("stopped: %+v", i)
	}
	run := i.Run
	w.eventually("the claim is given back", func() bool { return strings.Contains(s.run.stderr.String(), "the issue was taken away") })
	w.write(quick, "")

	// Nobody can say: it is held with a word, and another issue is worked on.
	if err := os.Remove(begun); err != nil {
		t.Fatal(err)
	}
	hub.deaf(true)
	w.forge("issue", "move", "2", "ready", "--top").want(exitDone)
	card(2, "the card says so", func(i work.Issue) bool {
		return i.Column == work.ColumnReady && strings.HasPrefix(i.Reason, "tracker_unreachable: work#7 cannot be asked")
	})
	if w.exists(begun) {
		t.Error("it was claimed though nobody could say whether it is wanted")
	}
	w.forge("issue", "move", "1", "ready").want(exitDone)
	card(1, "an issue of the board is worked on", func(i work.Issue) bool {
		if i.State != "" {
			t.Fatalf("an issue of the board: %+v", i)
		}
		return i.Column == work.ColumnDone
	})
	hub.shut(7, false)
	hub.deaf(false)
	i = card(2, "it lands", func(i work.Issue) bool { return i.Column == work.ColumnDone })
	if i.Run != run {
		t.Errorf("it was begun anew, in run %s instead of %s", i.Run, run)
	}
	s.run.stop()
	s.run.wait()
}
