package gates

import (
	"flag"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write docs/policy.md anew")

const docsPage = "../docs/policy.md"

func TestDocsPageIsMadeFromThePresets(t *testing.T) {
	got := docsText()
	if *update {
		if err := os.WriteFile(docsPage, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(docsPage)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s is not what the presets make; run go test ./gates -update and look at the difference", docsPage)
	}
	for _, info := range Presets() {
		if !strings.Contains(got, "### `"+info.Name+"`") || !strings.Contains(got, info.Use) {
			t.Errorf("the page lacks %s", info.Name)
		}
	}
}

func TestExplain(t *testing.T) {
	stops := func(name string) string {
		var out []string
		for _, s := range Explain(preset(t, name)).Stops {
			out = append(out, string(s.Point))
		}
		return strings.Join(out, " ")
	}
	for name, want := range map[string]string{
		"full":            "evidence",
		"review":          "final blocker ckpt.final_output ckpt.question action evidence promote",
		"partial":         "plan.initial final blocker ckpt.final_output ckpt.question action evidence promote",
		"guided":          "plan.initial plan.later final decompose tries blocker ckpt.phase_transition ckpt.deliverable ckpt.final_output ckpt.question action evidence promote",
		"dependent":       "plan.initial plan.later tactical final stale decompose tries blocker ckpt.* intent context action findings evidence promote",
		"interactive":     "final phase.start stale subphase decompose tries blocker ckpt.question action findings evidence promote",
		"semi_supervised": "final blocker ckpt.phase_transition ckpt.deliverable ckpt.final_output ckpt.question action evidence promote",
	} {
		if got := stops(name); got != want {
			t.Errorf("%s stops at %s, want %s", name, got, want)
		}
	}
	own := preset(t, "manual")
	own.Gates["ckpt.report"] = Auto
	own.Gates[PointIntent], own.Consent = Auto, []string{"intent_confirmed"}
	own.Gates[PointAction] = Auto
	e := Explain(own)
	text := ""
	for _, s := range e.Stops {
		text += s.When + "\n"
	}
	text += strings.Join(e.Alone, "\n")
	for _, want := range []string{"not named auto", "consent to: intent.", "at least 60 % sure what an issue needs, it does not ask", "harder to undo than medium"} {
		if !strings.Contains(text, want) {
			t.Errorf("missing %q in\n%s", want, text)
		}
	}
	if e := Explain(Policy{}); !strings.Contains(strings.Join(e.Alone, " "), "models from none to none") {
		t.Errorf("the zero policy: %v", e)
	}
}
