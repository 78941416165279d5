package evidence

import (
	"slices"
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

// What a part was proven with is a proof of its own where it is another in the end,
// and none where may_change lets it differ, or others landed a change of the file.
func TestProofWithTheEvidenceOfAPart(t *testing.T) {
	b := newBed(t, project())
	test := ". ./calc.sh\n[ \"$(sub 3 2)\" = 1 ] || exit 1\n"
	part := b.forge(files{"tests/sub.sh": test, "sub.sh": "sub() { echo $(($1 - $2)); }\n"})
	same := b.forge(files{"sub.sh": "sub() { echo $(($1-$2)); }\n"})
	other := b.forge(files{"tests/sub.sh": strings.Replace(test, "= 1", "= 5", 1), "sub.sh": "sub() { echo $(($1 + $2)); }\n"})
	gone := b.forge(files{"tests/sub.sh": "-"})
	more := b.forge(files{"tests/sub.sh": strings.Replace(test, "= 1", "= 5", 1), "tests/new.sh": test})
	parts := []work.ProvenPart{{Base: b.base, Commit: part}}

	for name, tt := range map[string]struct {
		commit string
		change func(*work.EvidenceRequest)
		due    bool
	}{
		"as it was":        {commit: same},
		"others expected":  {commit: other, due: true},
		"gone":             {commit: gone, due: true},
		"beside a new one": {commit: more, due: true},
		"allowed":          {commit: other, change: func(r *work.EvidenceRequest) { r.MayChange = []string{"tests/**"} }},
		"no part":          {commit: other, change: func(r *work.EvidenceRequest) { r.Parts = nil }},
	} {
		req := b.request(tt.commit)
		if req.Parts = parts; tt.change != nil {
			tt.change(&req)
		}
		rep := b.judgeOf(req)
		if got := slices.Contains(rep.Floors, work.OnParts); got != tt.due || got != slices.Equal(rep.Parts, []string{"tests/sub.sh"}) {
			t.Errorf("%s: floors %v, parts %q", name, rep.Floors, rep.Parts)
		}
		if tt.due {
			mixed := b.mixOf(req, work.OnParts)
			b.want(mixed, files{"tests/sub.sh": test, "sub.sh": b.text(tt.commit, "sub.sh"), "tests/new.sh": b.text(tt.commit, "tests/new.sh")})
		}
	}
}

// A resolution of conflicts is held against what both sides were proven with, but
// for a file that both changed: the one side's file would take back the other's.
func TestProofOfAResolution(t *testing.T) {
	b := newBed(t, project())
	run := project()["tests/run.sh"]
	mine := b.forge(files{"tests/mine.sh": "exit 0 # mine\n", "tests/run.sh": run + "# mine\n"})
	b.git("checkout", "-q", b.base)
	head := b.forge(files{"tests/run.sh": run + "# theirs\n"})
	b.git("checkout", "-q", head)
	merged := b.forge(files{"tests/mine.sh": "true\n", "tests/run.sh": run + "# theirs\n# mine\n"})

	req := b.request(merged)
	req.Base, req.Parts = head, []work.ProvenPart{{Base: b.base, Commit: mine}}
	rep := b.judgeOf(req)
	if !slices.Contains(rep.Floors, work.OnParts) || !slices.Equal(rep.Parts, []string{"tests/mine.sh"}) {
		t.Errorf("floors %v, parts %q", rep.Floors, rep.Parts)
	}
	b.want(b.mixOf(req, work.OnParts), files{"tests/mine.sh": "exit 0 # mine\n", "tests/run.sh": run + "# theirs\n# mine\n"})
}

// A new test, and more in one that was there, are a line each and no doubt.
func TestEvidenceThatOnlyGrew(t *testing.T) {
	b := newBed(t, project())
	run := project()["tests/run.sh"]
	rep := b.judgeOf(b.request(b.forge(files{"tests/more.sh": run, "tests/run.sh": run + "[ \"$(add 5 5)\" = 10 ] || exit 1\n"})))
	if len(rep.Doubts) > 0 {
		t.Errorf("doubts %v", rep.Doubts)
	}
	if !slices.Contains(rep.Notes, "tests/more.sh is new evidence") || !slices.Contains(rep.Floors, work.OnTrusted) {
		t.Errorf("notes %q, floors %v", rep.Notes, rep.Floors)
	}
}
