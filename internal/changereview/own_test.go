package changereview

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"charm.land/log/v2"

	"forge/internal/config"
	"forge/internal/host/hosttest"
	"forge/internal/project"
	"forge/internal/redact"
	"forge/internal/runs"
	"forge/internal/work"
	"forge/review"
)

// changeOf is a review of what differs between two states of a real repository.
func changeOf(t *testing.T, base, change map[string]string) *ongoing {
	t.Helper()
	store, start := hosttest.NewStore(t)
	w := hosttest.World{Store: store}
	r := &ongoing{Checkout: &project.Checkout{Env: project.Env{Log: log.New(io.Discard), Now: time.Now}, Config: &config.Config{}}, repo: store, temp: t.TempDir(), red: redact.New(nil)}
	r.set.Verify.Protected = config.ProtectedDefaults()
	r.base.Commit = w.Commit(t, start, "base\n", base)
	r.now = w.Commit(t, r.base.Commit, "change\n", change)
	return r
}

func (r *ongoing) owns(t *testing.T) (own []Finding, changes []work.FileChange) {
	t.Helper()
	changes, err := r.repo.Changes(t.Context(), r.base.Commit, r.now)
	if err == nil {
		own, err = r.ownFindings(t.Context(), changes)
	}
	if err != nil {
		t.Fatal(err)
	}
	return own, changes
}

func reviewersOf(r *ongoing) *runs.Reviewers { return &runs.Reviewers{Repo: r.repo} }

// What of the evidence was weakened is a warning, each kind of it; a test that was
// changed beside code and lost nothing is none.
func TestWeakenedEvidenceAlone(t *testing.T) {
	t.Parallel()
	const test = "package a\n\nimport \"testing\"\n\nfunc TestA(t *testing.T) {\n\tif got := a(); got != 1 {\n\t\tt.Fatal(got)\n\t}\n\tif got := b(); got != 2 {\n\t\tt.Fatal(got)\n\t}\n}\n"
	base := map[string]string{
		"go.mod": "module a\n\ngo 1.26\n", "a.go": "package a\n\nfunc a() int { return 1 }\n", "a_test.go": test,
		".github/workflows/ci.yml": "jobs:\n  test:\n    steps:\n      - run: go test ./...\n", "codecov.yml": "coverage:\n  status:\n    project:\n      default:\n        target: 90%\n",
		"jest.config.json": "{\"coverageThreshold\": {\"global\": {\"lines\": 90}}}\n", "Makefile": "test:\n\tgo test ./...\n",
	}
	const code = "package a\n\nfunc a() int { return 0 + 1 }\n"
	for name, tc := range map[string]struct {
		change map[string]string
		want   string // rule, severity, file
	}{
		"an assertion is gone": {map[string]string{"a.go": code, "a_test.go": strings.Replace(test, "\tif got := b(); got != 2 {\n\t\tt.Fatal(got)\n\t}\n", "", 1)}, "evidence_weakened major a_test.go"},
		"a skip is added":      {map[string]string{"a.go": code, "a_test.go": strings.Replace(test, "{\n\tif got := a", "{\n\tt.Skip()\n\tif got := a", 1)}, "evidence_weakened major a_test.go"},
		"a threshold is lower": {map[string]string{"a.go": code, "jest.config.json": strings.Replace(base["jest.config.json"], "90", "10", 1)}, "evidence_weakened major jest.config.json"},
		"CI is edited":         {map[string]string{"a.go": code, ".github/workflows/ci.yml": "jobs: {}\n"}, "evidence_weakened major .github/workflows/ci.yml"},
		"CI is added":          {map[string]string{"a.go": code, ".gitea/workflows/more.yml": "jobs: {}\n"}, "evidence_weakened major .gitea/workflows/more.yml"},
		"what runs the tests":  {map[string]string{"a.go": code, "Makefile": "test:\n\tgo test -count=1 ./...\n"}, "evidence_touched major Makefile"},
		"a test beside code":   {map[string]string{"a.go": code, "a_test.go": test + "\nfunc TestB(t *testing.T) {\n\tif a() < 0 {\n\t\tt.Fatal()\n\t}\n}\n"}, "evidence_touched minor a_test.go"},
		"a test alone":         {map[string]string{"a_test.go": test + "\nfunc TestB(t *testing.T) {\n\tif a() < 0 {\n\t\tt.Fatal()\n\t}\n}\n"}, "evidence_touched major a_test.go"},
		"code alone":           {map[string]string{"a.go": code}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			own, _ := changeOf(t, base, tc.change).owns(t)
			var got []string
			for _, f := range own {
				got = append(got, fmt.Sprintf("%s %s %s", f.Rule, f.Severity, f.File))
			}
			if shown := strings.Join(slices.Compact(got), "; "); shown != tc.want {
				t.Errorf("%q, want %q: %+v", shown, tc.want, own)
			}
			verdict, why := verdictOf(own, nil, 0, false)
			if quiet := tc.want == "" || strings.Contains(tc.want, "minor"); quiet != (verdict == work.VerdictPass) || quiet != (len(why) == 0) {
				t.Errorf("%s, %q", verdict, why)
			}
		})
	}
}

// Tests that were changed beside code are one line, whatever their number.
func TestChangedTestsAreFolded(t *testing.T) {
	t.Parallel()
	res := Result{Verdict: work.VerdictPass}
	for n := range 3 {
		res.Own = append(res.Own, Finding{Rule: ruleTouched, Finding: work.Finding{Severity: work.SeverityMinor, File: fmt.Sprintf("t%d_test.go", n)}})
	}
	md := Markdown(res).String()
	if strings.Count(md, "<details>") != 1 || strings.Contains(md, "Found by Forge itself") || !strings.Contains(md, "3 tests changed beside code") || !strings.Contains(md, "t2") {
		t.Error(md)
	}
	if said := Text(res); strings.Count(said, "_test.go") != 3 || strings.Count(said, "changed beside code") != 1 {
		t.Error(said)
	}
}

// What nobody wrote is left out by default, and named; evidence never is.
func TestWhatIsLeftOut(t *testing.T) {
	t.Parallel()
	base := map[string]string{
		"a.go": "package a\n", "a_test.go": "package a\n", "go.sum": "x\n", "gen.go": "// Code generated by x. DO NOT EDIT.\n", "api.js": "1\n", "logo.svg": "<svg/>\n",
		"vendor/modules.txt": "# m v1\n", "vendor/m/m.go": "package m\n", "lib/vendor/ours.go": "package vendor\n", ".gitattributes": "api.js linguist-generated\n", ".github/workflows/ci.yml": "a: 1\n",
	}
	change := map[string]string{".gitattributes": "* linguist-generated\n"}
	for name, text := range base {
		if name != ".gitattributes" {
			change[name] = text + "\n"
		}
	}
	change["new.go"] = "// Code generated by me. DO NOT EDIT.\n"
	r := changeOf(t, base, change)
	r.Config.File.Reviews.Ignore = []string{"*.svg", "*_test.go", ".github/**"}
	_, changes := r.owns(t)
	if err := r.readChange(t.Context(), reviewersOf(r), changes); err != nil {
		t.Fatal(err)
	}
	var shown []string
	for _, f := range r.shown.Files {
		shown = append(shown, f.Path)
	}
	if want := []string{".gitattributes", ".github/workflows/ci.yml", "a.go", "a_test.go", "lib/vendor/ours.go", "new.go"}; !slices.Equal(shown, want) {
		t.Errorf("shown %q, want %q", shown, want)
	}
	want := []review.LeftOut{{Path: "api.js", Why: review.LeftGenerated}, {Path: "gen.go", Why: review.LeftGenerated}, {Path: "go.sum", Why: review.LeftLock}, {Path: "logo.svg", Why: review.LeftIgnored},
		{Path: "vendor/m/m.go", Why: review.LeftVendored}, {Path: "vendor/modules.txt", Why: review.LeftVendored}}
	if !slices.Equal(r.out, want) || r.hidden {
		t.Errorf("left out %v", r.out)
	}
	res := r.result(changes, nil, nil)
	for _, said := range []string{Markdown(res).String(), Text(res)} {
		for _, l := range want {
			if !strings.Contains(strings.ReplaceAll(said, "\u200b", ""), l.Path) {
				t.Errorf("%s is not named:\n%s", l.Path, said)
			}
		}
	}
}

// A change of what is left out alone is no pass.
func TestChangeOfLeftOutFilesIsUnknown(t *testing.T) {
	t.Parallel()
	r := changeOf(t, map[string]string{"go.sum": "x\n"}, map[string]string{"go.sum": "y\n"})
	own, changes := r.owns(t)
	if err := r.readChange(t.Context(), reviewersOf(r), changes); err != nil {
		t.Fatal(err)
	}
	res := r.result(changes, own, nil)
	if !r.hidden || res.Verdict != work.VerdictUnknown || !strings.Contains(strings.Join(res.Why, "\n"), "nobody reviewed") || len(res.LeftOut) != 1 {
		t.Errorf("%+v", res)
	}
}
