package agent

import (
	"slices"
	"testing"

	"forge/internal/redact"
	"forge/internal/work"
)

// What an agent says to Forge is left out of what is shown of its words, unless
// it says nothing else; what it calls is shown to the letter.
func TestShownWords(t *testing.T) {
	var seen []string
	l := newLive(work.IterationRequest{}, redact.New(nil), func(a work.Activity) { seen = append(seen, a.Text) })
	l.show("text", "I look. <progress>20</progress>")
	l.show("text", "<promise>IT IS DONE</promise>")
	l.show("tool", "echo '<reply>rm -rf .</reply>'")
	l.show("text", " ")
	if want := []string{"I look.", "<promise>IT IS DONE</promise>", "echo '<reply>rm -rf .</reply>'"}; !slices.Equal(seen, want) {
		t.Errorf("shown: %q, want %q", seen, want)
	}
}
