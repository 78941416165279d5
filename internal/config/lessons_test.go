package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"forge/internal/lessons"
	"forge/internal/work"
)

// What people kept is what agents are told; a lesson whose file is gone is not.
func TestLessons(t *testing.T) {
	dir := project(t, resolveFiles(map[string]string{
		lessons.File: "- Tests want TZ=UTC.\n- Run make gen first.\n  - about: Makefile\n- Lint with golint.\n  - about: lint/old.sh\n", "Makefile": "gen:\n",
	}))
	cfg, _, err := Load(Sources{ProjectDir: dir})
	must(t, err)
	p, _, err := parsePlan(goodPlan, PlanFile, nil)
	must(t, err)
	set, err := Resolve(cfg, p, kindFacts())
	must(t, err)
	if got := set.Lessons; len(got) != 2 || got[0].Text != "Tests want TZ=UTC." || got[1] != (work.Lesson{Text: "Run make gen first.", File: "Makefile"}) {
		t.Errorf("told %+v", got)
	}
	kept, body, err := ReadLessons(dir)
	if err != nil || len(kept) != 3 || kept[1].Gone || !kept[2].Gone || !strings.HasPrefix(body, "- Tests") {
		t.Errorf("kept %+v, %v", kept, err)
	}

	write(t, filepath.Join(dir, lessons.File), "- a\n  - told: b\n")
	if _, err := Resolve(cfg, p, kindFacts()); err == nil || !strings.Contains(err.Error(), `.forge/lessons.md:2: unknown key "told"`) {
		t.Errorf("got %v", err)
	}
	outside := filepath.Join(t.TempDir(), "key")
	write(t, outside, "- private\n")
	must(t, os.Remove(filepath.Join(dir, lessons.File)))
	must(t, os.Symlink(outside, filepath.Join(dir, lessons.File)))
	if _, err := Resolve(cfg, p, kindFacts()); err == nil || !strings.Contains(err.Error(), "must not lead out of the checkout") {
		t.Errorf("got %v", err)
	}
}
