//go:build real

package cli

import "testing"

// From a wish to work by way of a drafted plan, all of it in a browser: the draft is
// shown while it is made and when it is there, and the run begins with a click.
func TestRealDraftInABrowser(t *testing.T) {
	t.Parallel()
	w, goOn, _ := withDrafter(t)
	b := withPages(t, w).signedIn()
	b.GoTo("/p/demo/runs/new")
	b.Check("draft-new")
	b.Click(`input[name="from"][value="draft"]`)
	b.Type("#text", "Greet and leave, so that both stand in files of their own")
	b.Set(`[name="level"]`, "full")
	b.Click("form.stack button.main")
	b.Until(`location.pathname.includes("/drafts/") && document.querySelector("#draft")?.textContent.includes("The agent drafts a plan")`)
	b.Check("draft-under-way")
	goOn()
	b.Until(`document.querySelector("#forecast")?.textContent.includes("Then leave.")`)
	b.Check("draft-ready")
	if w.exists("01.txt") {
		t.Error("work began before anybody said so")
	}
	b.Click("#begin button.main")
	b.Until(`location.pathname.includes("/runs/w-")`)
	b.Until(`document.querySelector("#now").textContent.includes("completed")`)
	b.Check("draft-run")
	if got := w.git("show", "main:02.txt"); got != "02" {
		t.Errorf("landed is %q", got)
	}
	b.Quiet()
}
