//go:build real

package e2e

import (
	"strings"
	"testing"
)

// A real agent drafts the plan of an issue, and then works on its phase.
func TestRealPlansAnIssueAndWorksOnIt(t *testing.T) {
	t.Parallel()
	p := the("claude")
	c := newWith(t, p, "off", "", proveB+"[factory]\nplan = \"draft\"\ntriage = \"off\"\ndefault_policy = \"end_to_end\"\n",
		says("I plan.", p.write("forge-plan.json", `{"phases":[{"number":"01","name":"write","promise":"ALL DONE"}]}`)), says("It is planned."),
		says("I write.", p.write("b.txt", "b\n")), claim)
	c.acknowledged("issue", "add", "Say b", "--column", "ready")
	_, stderr, code := c.forge("factory", "--once")
	if card := c.card(1); code != 0 || card.Column != "done" {
		t.Fatalf("exit code %d, card %+v\n%s", code, card, stderr)
	}
	if got := c.must("git", "show", "forge/landed:b.txt"); got != "b\n" {
		t.Errorf("the target holds b.txt %q", got)
	}
	if got := c.must("git", "ls-tree", "--name-only", "forge/landed"); strings.Contains(got, "forge-plan.json") {
		t.Errorf("the draft landed, too:\n%s", got)
	}
	prompts := c.prompts()
	if len(prompts) != 2 || !strings.Contains(prompts[0].prompt, "forge-plan.json") || strings.Contains(prompts[1].prompt, "forge-plan.json") {
		t.Errorf("the model was asked %q", prompts)
	}
}
