package evidence

import (
	"strings"
	"testing"

	"forge/internal/work"
)

// What a sub-phase brought and was proven with may not be weaker when its parent
// is proven, though the parent began without it; what others changed is theirs.
func TestWeakerThanAProvenPart(t *testing.T) {
	b := newBed(t, project())
	test := ". ./calc.sh\n[ \"$(add 20 3)\" = 23 ] || exit 1\ntest -n \"$(add 1 1)\" || exit 1\n"
	part := b.forge(files{"tests/more.sh": test})
	soft := b.forge(files{"tests/more.sh": strings.Replace(test, "test -n \"$(add 1 1)\" || exit 1\n", "", 1)})
	grown := b.forge(files{"tests/more.sh": test + "test -n \"$(add 1 2)\" || exit 1\n"})
	gone := b.forge(files{"tests/more.sh": "-"})

	for name, tt := range map[string]struct {
		commit string
		parts  []work.ProvenPart
		want   bool
	}{
		"softer":    {soft, []work.ProvenPart{{Base: b.base, Commit: part}}, true},
		"gone":      {gone, []work.ProvenPart{{Base: b.base, Commit: part}}, true},
		"grown":     {grown, []work.ProvenPart{{Base: b.base, Commit: part}}, false},
		"as it was": {part, []work.ProvenPart{{Base: b.base, Commit: part}}, false},
		"no part":   {soft, nil, false},
		"of others": {soft, []work.ProvenPart{{Base: part, Commit: part}}, false},
	} {
		req := b.request(tt.commit)
		req.Parts = tt.parts
		all := lines(b.judgeOf(req).Doubts)
		if got := strings.Contains(all, "tests/more.sh"); got != tt.want {
			t.Errorf("%s: %v, want %v: %s", name, got, tt.want, all)
		}
	}
}
