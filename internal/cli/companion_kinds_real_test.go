//go:build real

package cli

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"forge/factory/web/webtest"
	"forge/internal/fakemodel"
	"forge/internal/pace"
	"forge/internal/work"
)

// Each kind of proposal in a browser: what it would change is shown, and nothing is
// changed by that, nor where it is dismissed; confirmed, by mouse on a wide screen and
// by a finger on a phone, it is done; and one whose ground moved is refused in words.
func TestRealProposalsInABrowser(t *testing.T) {
	pace.Slow(t, "a run and pages for each kind, in a browser")
	t.Parallel()
	var b *webtest.Tab
	n := 0
	for kind, k := range kinds() {
		var turns []fakemodel.Turn
		for range 3 {
			turns = append(turns, calls(tool("propose_"+string(kind), k.input)), fakemodel.Turn{Text: "See the proposal."})
		}
		w := k.world(t, fakemodel.Service{Turns: turns})
		s := withPages(t, w.world)
		p := w.room(t)
		seen := func() string {
			data, err := json.Marshal(k.seen(t, w, p))
			if err != nil {
				t.Fatal(err)
			}
			return string(data)
		}
		if b == nil {
			b = s.Browser()
		}
		look, press := webtest.Looks[0], b.Click
		if n++; n%2 == 0 {
			look, press = webtest.Looks[2], b.Tap
		}
		b.As(look)
		b.Open(s.HTTP.URL + "/sign-in?link=" + s.Keys.Link())
		b.Open(s.HTTP.URL + "/p/demo/runs/" + w.run)
		b.Live()
		press(".companion > summary")
		propose := func(turn int, state string) string {
			t.Helper()
			b.Type("#companion-question", "Propose it")
			press(".companion-ask button.main")
			at := fmt.Sprintf(".turn:nth-of-type(%d) .proposal", turn)
			b.Until(fmt.Sprintf(`document.querySelectorAll(".turn").length === %d && document.querySelector("%s.proposal-%s") && !document.querySelector(".turn .pulse")`, turn, at, state))
			return at
		}
		before := seen()

		no := propose(1, "open")
		if wrong := b.Wrong(); len(wrong) > 0 {
			t.Errorf("%s, shown (%s): %q", kind, look.Name, wrong)
		}
		var shows string
		b.JS(fmt.Sprintf(`document.querySelector("%s").textContent`, no), &shows)
		if !strings.Contains(shows, k.holds) {
			t.Errorf("%s: a person is shown %q, without %q", kind, shows, k.holds)
		}
		press(no + ` form[action$="dismiss"] button`)
		b.Until(fmt.Sprintf(`document.querySelector("%s.proposal-dismissed")`, no))
		turn := 2
		if kind == work.ProposeSettings { // what is edited at a question is refused in TestRealCompanionInABrowser
			late := propose(turn, "open")
			k.stale(t, w, p)
			before = seen()
			press(late + ` form[action$="confirm"] button`)
			b.Until(fmt.Sprintf(`document.querySelector("%s.proposal-refused .bad").textContent.includes(%q)`, late, k.why))
			turn++
		}
		yes := propose(turn, "open")
		if now := seen(); now != before {
			t.Fatalf("%s: before anybody confirms it is %s, and was %s", kind, now, before)
		}
		press(yes + ` form[action$="confirm"] button`)
		b.Until(fmt.Sprintf(`document.querySelector("%s.proposal-done .good").textContent.includes("Confirmed by owner")`, yes))
		b.Until(fmt.Sprintf(`!document.querySelector("%s form")`, yes)) // it is not offered twice
		done := seen()
		if done == before || strings.Count(done, k.holds) != strings.Count(before, k.holds)+1 {
			t.Errorf("%s: once it is confirmed it is %s, and was %s", kind, done, before)
		}
		if wrong := b.Wrong(); len(wrong) > 0 {
			t.Errorf("%s, settled (%s): %q", kind, look.Name, wrong)
		}
	}
	b.Quiet()
}
