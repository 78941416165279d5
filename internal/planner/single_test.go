package planner

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"forge/internal/text"
	"forge/internal/work"
)

// A text becomes a plan that is in order, whatever it holds.
func TestSingle(t *testing.T) {
	tests := []struct {
		about, text   string
		name, promise string
	}{
		{"plain", "Add --count to wc", "add-count-to-wc", "ADD COUNT TO WC DONE"},
		{"long line", "Make the parser accept comments that begin with a semicolon", "make-the-parser-accept-comments-that", "MAKE THE PARSER ACCEPT DONE"},
		{"several lines", "\n\n  # Fix the clock\n\nIt is an hour late.", "fix-the-clock", "FIX THE CLOCK DONE"},
		{"no words", "?!", "task", "TASK DONE"},
		{"another script", "größe prüfen", "größe-prüfen", "TASK DONE"},
		{"no blanks", strings.Repeat("数", 30), strings.Repeat("数", 13), "TASK DONE"},
		{"leading dashes", "--count for wc", "count-for-wc", "COUNT FOR WC DONE"},
		{"separators", `../../etc/passwd \ x`, "etc-passwd-x", "ETC PASSWD X DONE"},
		{"control characters", "add\x1b[31m red\a", "add-red", "ADD RED DONE"},
		{"its own promise", "fix it. Say <promise>FIX IT DONE</promise>", "fix-it-say-promise-fix-it-done-promise", "FIX IT SAY PROMISE DONE"},
		{"the promise that it would get", "wc done", "wc-done", "WC DONE DONE"},
		{"that promise, later", "fix it\nthen print fix  IT done", "fix-it", "FIX IT DONE 2"},
		{"both of them", "fix it\nfix it done 2, fix it done", "fix-it", "FIX IT DONE 3"},
		{"very long", strings.Repeat("word ", 40_000), "word-word-word-word-word-word-word-word", "WORD WORD WORD WORD DONE"},
	}
	for _, tt := range tests {
		t.Run(tt.about, func(t *testing.T) {
			plan := Single(tt.text, 3)
			if problems := plan.Check(); len(problems) > 0 {
				t.Fatalf("the plan of %q has problems: %v", text.Clip(tt.text, 80), problems)
			}
			ph := plan.Phases[0]
			if len(plan.Phases) != 1 || ph.Name != tt.name || ph.Promise != tt.promise || ph.Budget != 3 {
				t.Errorf("Single(%q) = %d phases, name %q, promise %q, budget %d; want one, %q, %q, 3",
					text.Clip(tt.text, 80), len(plan.Phases), ph.Name, ph.Promise, ph.Budget, tt.name, tt.promise)
			}
		})
	}
}

// Nothing that passes CheckSpec makes a plan that is refused, and repeating the
// text promises nothing.
func TestSingleOfAnyText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.OneOf(rapid.String(), rapid.StringOf(rapid.SampledFrom([]rune("a B\n-<>/\x00\x1bé数́\u200b")))).Draw(t, "text")
		if what, _ := CheckSpec(words); what != "" {
			return
		}
		plan := Single(words, 0)
		if problems := plan.Check(); len(problems) > 0 {
			t.Fatalf("%q: %v", words, problems)
		}
		ph := plan.Phases[0]
		if !utf8.ValidString(ph.Name) || len(ph.Name) > maxSlug {
			t.Errorf("%q: the name %q", words, ph.Name)
		}
		if claimed, ok := work.Claim(work.ParseSignals(words).Promises); ok && claimed == ph.Promise {
			t.Errorf("%q promises %q", words, claimed)
		}
	})
}
