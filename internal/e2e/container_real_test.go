//go:build real

package e2e

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"forge/internal/proc/containertest"
)

// A run whose agent and proof are in containers, from the command to the merge; and
// what is said where there is no such image.
func TestRealRunInAContainer(t *testing.T) {
	containertest.Use(t, "head")
	c := newCheckout(t, "auto", map[string]string{
		".forge/phases.json": `{"phases":[{"number":"01","name":"one","promise":"ALL DONE","budget":2}]}`,
		".forge/spec.md":     "Write out.txt.\n",
		".forge/forge.toml":  "[agent]\nuse = \"own\"\n[agents.own]\nkind = \"exec\"\ncommand = [\"./agent.sh\"]\n[verify]\ncommands = [\"test -n \\\"$OF_THE_IMAGE\\\" && ! command -v git\"]\n",
		"agent.sh":           "#!/bin/sh\ncommand -v git && exit 1\necho \"$OF_THE_IMAGE\" > out.txt\necho '<promise>ALL DONE</promise>'\n",
	})
	user := func(image string) {
		c.write("config/forge/config.toml", "[sandbox]\nkind = \"container\"\nimage = \""+image+"\"\nruntime = \""+containertest.Runtime()+"\"\n")
	}

	user("localhost/none:1")
	_, stderr, code := c.forge("run", "--autonomous")
	if code != 2 || !strings.Contains(stderr, "localhost/none:1") || !strings.Contains(stderr, "docs/containers.md") {
		t.Errorf("an image that is not there: exit code %d\n%s", code, stderr)
	}
	if said, _, code := c.forge("doctor"); code == 0 || !strings.Contains(said, "✗ sandbox: "+containertest.Runtime()+" cannot run the image localhost/none:1") {
		t.Errorf("doctor: exit code %d\n%s", code, said)
	}

	user(containertest.Image)
	evs, _, code := c.stream(0, "run", "--autonomous")
	if code != 0 || ended(evs, "01") != "done" {
		t.Errorf("exit code %d, %s", code, ended(evs, "01"))
		for _, e := range evs {
			t.Logf("%s %s", e.Kind, e.Data)
		}
	}
	in := map[string]bool{}
	for _, e := range evs {
		var d struct {
			Sandbox string
			Report  struct{ Sandbox string }
		}
		if json.Unmarshal(e.Data, &d) == nil && d.Sandbox+d.Report.Sandbox != "" {
			in[d.Sandbox+d.Report.Sandbox] = true
		}
	}
	if len(in) != 1 || !in["container"] {
		t.Errorf("it ran in %v", in)
	}
	if said, _, _ := c.forge("doctor"); !strings.Contains(said, "✓ container of "+containertest.Image) {
		t.Errorf("doctor:\n%s", said)
	}
	if got, err := os.ReadFile(c.at("repo/out.txt")); err != nil || string(got) != "1\n" {
		t.Errorf("%q, %v", got, err)
	}
}
