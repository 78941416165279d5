//go:build real

package cli

import (
	"strings"
	"testing"
)

// A project's settings are changed one by one in a browser: what each means stands
// beside it, a wrong value is named where it was written, the change is shown
// before it is saved, and the rest of the file stays as its owner wrote it.
func TestRealSettingsInABrowser(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "", "true")
	before := w.read(".forge/forge.toml")
	b := withPages(t, w).signedIn()

	b.GoTo("/p/demo/settings")
	b.Check("settings")
	b.GoTo("/p/demo/health")
	b.Check("doctor")
	b.GoTo("/p/demo/settings")
	b.Set(`[name="set-autonomy.level"]`, "review")
	b.Until(`document.getElementById("set-autonomy.level-says").textContent.includes("see the result before it counts")`)
	b.Type(`[name="set-cost.run_usd"]`, "much")
	b.Click("form.settings button")
	b.Until(`document.getElementById("set-cost.run_usd-wrong")?.textContent.includes("is not a number")`)
	b.Check("settings-wrong")
	if b.Until(`document.querySelector('[name="set-autonomy.level"]').value === "review"`); w.read(".forge/forge.toml") != before {
		t.Error("a refused change was written")
	}
	b.Set(`[name="set-cost.run_usd"]`, "2.50")
	b.Click("form.settings button")
	b.Until(`document.querySelector("#proposed ins")`)
	b.Check("settings-change")
	if w.read(".forge/forge.toml") != before {
		t.Error("what was only shown was written")
	}
	b.Click("#proposed button.main")
	b.Until(`document.querySelector(".notice.good")?.textContent.includes("Saved")`)
	after := w.read(".forge/forge.toml")
	if !strings.Contains(after, "run_usd = 2.5\n") || !strings.Contains(after, "level = \"review\"\n") || !strings.HasPrefix(after, before) {
		t.Errorf("saved is\n%s\nafter\n%s", after, before)
	}
	b.Quiet("422")
}
