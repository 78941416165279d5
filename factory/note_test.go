package factory

import (
	"encoding/json"
	"testing"

	"forge/internal/work"
)

// What made an issue be claimed is said, also where nothing was answered.
func TestNoteOfAClaim(t *testing.T) {
	for want, a := range map[string]work.Answer{
		"approved by ann":      {Status: work.CheckpointApproved, By: "ann"},
		"a message by ann":     {By: "ann", Message: &work.Message{Text: "use tabs"}},
		"another level by ann": {By: "ann", Policy: json.RawMessage(`{}`)},
	} {
		if got := noteOf(work.IssueClaim{}, []work.Answer{a}); got != want {
			t.Errorf("said %q, want %q", got, want)
		}
	}
}
