//go:build real

package e2e

import (
	"fmt"
	"strings"
	"testing"

	"forge/internal/fakemodel"
)

// Each phase has the agent that the plan or an override gives it, and builds
// on what another left.
func TestRealMixedAgents(t *testing.T) {
	t.Parallel()
	all := players()
	var phases []string
	config := "[defaults]\nmax_parallel = 2\n[verify]\nnone = true\n[phases.overrides.\"by-served\"]\nagent = \"served\"\n"
	for i, p := range all {
		number, more := fmt.Sprintf("%02d", i+1), ""
		if p.name != "served" {
			more = fmt.Sprintf(`,"agent":%q`, p.name)
		}
		switch {
		case i == len(all)-1:
			more += `,"depends_on":["02","03","04"]`
		case i > 0:
			more += `,"depends_on":["01"]`
		}
		phases = append(phases, fmt.Sprintf(`{"number":%q,"name":"by-%s","promise":"DONE BY %s","budget":2%s}`, number, p.name, strings.ToUpper(p.name), more))
	}
	c := newWithAll(t, all, "required", `{"phases":[`+strings.Join(phases, ",")+"]}", config)
	for _, p := range all {
		c.server.Script(p.name, says("I write.", p.write(p.name+".txt", p.name+"\n")),
			says("I look.", p.shell("ls > seen-by-"+p.name+".txt")),
			fakemodel.Turn{Text: "<promise>DONE BY " + strings.ToUpper(p.name) + "</promise>"})
	}
	evs := c.runs(0, "run", "--autonomous")
	for i, p := range all {
		if got := ended(evs, fmt.Sprintf("%02d", i+1)); got != "done" {
			t.Errorf("the phase of %s ended %q", p.name, got)
		}
		if got := c.must("git", "show", "main:"+p.name+".txt"); got != p.name+"\n" {
			t.Errorf("%s wrote %q", p.name, got)
		}
		asked := c.promptsOf(p)
		if len(asked) != 1 || !strings.Contains(asked[0].prompt, "\nby-"+p.name+"\n") {
			t.Errorf("%s was asked %q", p.name, asked)
		}
		if i > 0 {
			if seen := c.must("git", "show", "main:seen-by-"+p.name+".txt"); !strings.Contains(seen, all[0].name+".txt") {
				t.Errorf("%s saw the files %q", p.name, seen)
			}
		}
	}
	last := all[len(all)-1]
	seen := strings.Fields(c.must("git", "show", "main:seen-by-"+last.name+".txt"))
	if want := 2*len(all) + 1; len(seen) != want {
		t.Errorf("the last agent saw %d files, want %d: %q", len(seen), want, seen)
	}
}
