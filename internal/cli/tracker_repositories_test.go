package cli

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"forge/internal/work"
)

// An issue that came from a tracker is worked on in the home alone, whatever its draft
// says: what lands in several repositories is not asked about there before it lands.
func TestTrackerIssueStaysInTheHome(t *testing.T) {
	t.Parallel()
	hub := &gitHub{T: t, issues: map[int]map[string]any{7: hubIssue(7, "")}, comments: map[int][]map[string]any{}, posts: map[int]int{}, closed: map[int]bool{}}
	on := httptest.NewServer(hub)
	defer on.Close()
	w := newWorld(t, "")
	api := filepath.Join(filepath.Dir(w.root), "api")
	w.write(filepath.Join(api, ".forge/forge.toml"), "[verify]\ncommands = [\"true\"]\n")
	w.git("init", "--quiet", api)
	w.git("-C", api, "add", ".")
	w.git("-C", api, "commit", "--quiet", "-m", "begin")
	agent, prompt, begun := filepath.Join(w.home, "agent.sh"), filepath.Join(w.home, "prompt"), filepath.Join(w.home, "begun")
	w.write(agent, fmt.Sprintf(`if [ "$FORGE_RUN" != plan ]; then touch %s; exit 0; fi
cat >>%s
echo '{"phases": [{"number": "01", "name": "server", "promise": "SERVED", "repository": "api"}]}' >forge-plan.json
`, begun, prompt))
	w.write(".forge/forge.toml", fmt.Sprintf("[agent]\nuse = \"mine\"\n[agents.mine]\nkind = \"exec\"\ncommand = [\"sh\", %q]\n"+
		"[factory]\ntriage = \"off\"\ndefault_policy = \"full\"\nplan = \"draft\"\n[verify]\ncommands = [\"true\"]\n[workspace.repositories.api]\npath = \"../api\"\n", agent))
	w.write(filepath.Join(w.home, ".config/forge/config.toml"), "[sandbox]\nmode = \"off\"\n[trackers.work]\nkind = \"github\"\nurl = \""+on.URL+
		"\"\nrepo = \"o/work\"\npoll_secs = 5\nsandbox = \"as_configured\"\n")
	w.env = append(w.env, "GITHUB_TOKEN=the-token-of-the-bot")
	w.forge("trust", "../api", "--yes").want(exitDone)
	s := w.serve("bot")
	w.eventually("its plan is refused", func() bool {
		var i work.Issue
		code, text := s.send("GET", s.project+"/issues/1", "")
		return code == 200 && json.Unmarshal([]byte(text), &i) == nil && i.State == work.IssueFailed && strings.Contains(i.Reason, `works in the repository "api", which it may not`)
	})
	if w.exists(begun) {
		t.Error("an agent worked on it")
	}
	if strings.Contains(w.read(prompt), "which is one of") {
		t.Error("the planner is told of other repositories")
	}
}
