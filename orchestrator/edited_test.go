package orchestrator

import (
	"slices"
	"strings"
	"testing"

	"forge/internal/work"
)

// Conflicts that an event cannot name whole are nothing to go on from: nobody
// would look for the markers that are left in the others.
func TestConflictsThatCannotBeNamed(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		files []string
		want  bool
	}{
		"none":     {nil, true},
		"a few":    {[]string{"a.txt", "dir/b.txt"}, true},
		"too many": {slices.Repeat([]string{"a.txt"}, 31), false},
		"too long": {[]string{strings.Repeat("a", 201)}, false},
		"no text":  {[]string{"a\xffb"}, false},
	} {
		if got := NamesConflicts(test.files); got != test.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	s := &State{Phases: map[string]*Phase{"01": {View: View{Number: "01", Workspace: Workspace{Last: "c1"}}}}}
	d := &decision{s: s}
	cp := &work.Checkpoint{ID: "r.1", Phase: "01", Kind: "ckpt.phase_transition"}
	d.edited(cp, work.Edited{Base: "c1", Commit: "c2", Conflicts: slices.Repeat([]string{"a.txt"}, 31)}, "person:ann")
	if len(d.out) != 1 || d.out[0].Kind != work.Warned {
		t.Errorf("edits with conflicts that nobody could name: %+v", d.out)
	}
}
