package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Whatever both other targets leave is long, by whichever way it says so; what one of them
// plays is not. Of some packages the race detector watches what begins something beside, and
// none in which nothing does.
func TestPick(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("a/a_test.go", `package a
func TestBoth(t *testing.T) { pace.Slow(t, "x"); pace.Sequential(t, "y") }
func TestByAnother(t *testing.T) { world(t) }
func TestWithin(t *testing.T) { t.Run("a", func(t *testing.T) { pace.Slow(t, "x"); pace.Sequential(t, "y") }) }
func TestSlow(t *testing.T) { pace.Slow(t, "x") }
func TestSequential(t *testing.T) { pace.Sequential(t, "y") }
func TestNeither(t *testing.T) { t.Parallel() }
`)
	write("a/world_test.go", "package a\nfunc world(t *testing.T) { pace.Sequential(t, \"y\"); slowly(t) }\nfunc slowly(t *testing.T) { pace.Slow(t, \"x\") }\n")
	write("a/b/b_test.go", "package b\nfunc TestOfMany(t *testing.T) { run(t, pace.LeftButLong(true, false)) }\nfunc TestSlowQuiet(t *testing.T) { pace.Slow(t, \"x\") }\n")
	write("c/c.go", "package c\nimport _ \"net/http/httptest\"\n")
	write("g/g.go", "package g\nfunc f() { go f() }\n")
	write("g/g_test.go", "package g\nfunc TestWhatBegins(t *testing.T) { f() }\n")
	write("c/c_test.go", "package c\nfunc TestFast(t *testing.T) {}\n")
	write("c/real_test.go", "//go:build real\n\npackage c\nfunc TestRealBoth(t *testing.T) { pace.Slow(t, \"x\"); pace.Sequential(t, \"y\") }\n")
	write("d/testdata/x_test.go", "package x\nfunc TestOfData(t *testing.T) { pace.Slow(t, \"x\"); pace.Sequential(t, \"y\") }\n")
	write("e/go.mod", "module e\n")
	write("e/e_test.go", "package e\nfunc TestOfAnother(t *testing.T) { pace.Slow(t, \"x\"); pace.Sequential(t, \"y\") }\n")
	write("f/f_test.go", `package f
var _ = pace.OnlyBeside("x")
func TestStory(t *testing.T) { play(t) }
func TestSlowStory(t *testing.T) { pace.Slow(t, "x"); play(t) }
func TestStoryBeside(t *testing.T) { w.begin("run") }
func TestSlowStoryBeside(t *testing.T) { pace.Slow(t, "x"); all.Go(func() { play(t) }) }
func TestSequentialBeside(t *testing.T) { pace.Sequential(t, "x"); w.begin("run") }
`)
	write("f/world_test.go", "package f\nfunc play(t *testing.T) {}\nfunc (w *world) begin(words ...string) { go play(w.t) }\n")
	t.Chdir(dir)
	all, err := read(".")
	if err != nil {
		t.Fatal(err)
	}
	for part, want := range map[string][]string{
		"long":   {"-run=^(TestBoth|TestByAnother|TestOfMany|TestSlowQuiet|TestSlowStory|TestWithin)$", "./a", "./a/b", "./f"},
		"beside": {"-run=^(TestSlowStoryBeside|TestStoryBeside)$", "./f"},
		"others": {"./a", "./c", "./g"},
		"quick":  {"-skip=^(TestSlowStoryBeside|TestStoryBeside)$", "./..."},
	} {
		if got, err := pick(part, all); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %q, %v", part, got, err)
		}
	}
	all[0].tests["TestStoryBeside"] = reached{}
	if got, err := pick("quick", all); err == nil || !strings.Contains(err.Error(), "./a and ./f") && !strings.Contains(err.Error(), "./f and ./a") {
		t.Errorf("%q, %v where two tests have one name", got, err)
	}
	if got, err := pick("some", all); err == nil {
		t.Errorf("%q of a part that there is not", got)
	}
}
