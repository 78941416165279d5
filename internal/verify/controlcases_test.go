package verify

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"forge/internal/pace"
	"forge/internal/proc"
	"forge/internal/runner"
	"forge/internal/work"
)

// shellClaim is a project whose runner costs next to nothing: prove of files
// that sh runs.
func shellClaim(change files) claim {
	return claim{
		need: "perl", commands: []string{"prove -e sh t"},
		base: files{
			"calc.sh":  "add() { echo $(($1 + $2)); }\n",
			"t/calc.t": "#!/bin/sh\n. ./calc.sh\necho 1..1\n[ \"$(add 1 2)\" = 3 ] && echo 'ok 1 - adds' || echo 'not ok 1 - adds'\n",
			"t/late.t": "#!/bin/sh\necho 1..1\necho 'ok 1 - late # skip later'\n",
		},
		change: change,
	}
}

func TestControlLosesByName(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ product, lost string }{
		"fails": {"add() { echo $(($1 - $2)); }\n", "t/calc.t: adds: failed"},
		"skips": {"echo 'ok 1 - adds # skip no'\nexit 0\n", "t/calc.t: adds: skipped"},
		"ends":  {"exit 0\n", "t/calc.t: adds: not reported"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, req := judged(t, shellClaim(files{"calc.sh": tt.product}))
			rep := b.control(req)
			if len(rep.Lost) != 1 || rep.Lost[0] != tt.lost {
				t.Errorf("lost %q, want %q", rep.Lost, tt.lost)
			}
			if !rep.Bad() {
				t.Error("nothing bad is found")
			}
		})
	}
}

// A run of the trusted state is not repeated while the state is the same, and
// no run of an agent's state is kept.
func TestControlKeepsWhatTrustedStatesSaid(t *testing.T) {
	t.Parallel()
	b, req := judged(t, shellClaim(files{"calc.sh": "add() { echo $(($2 + $1)); }\n"}))
	runs := func() (trusted, claimed int) {
		_, err := b.Control(t.Context(), req, func(a work.Activity) {
			if a.Kind != "control" || a.Phase != "01" || len(a.Text) > 200 {
				t.Errorf("activity %+v", a)
			}
			if strings.Contains(a.Text, "trusted") {
				trusted++
			} else {
				claimed++
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		return trusted, claimed
	}
	first, claimed := runs()
	again, claimedAgain := runs()
	if first == 0 || again != 0 || claimed == 0 || claimed != claimedAgain {
		t.Errorf("the trusted state ran %d and %d times, the claim %d and %d", first, again, claimed, claimedAgain)
	}
	b.commits.all["base"]["t/late.t"] += "# another content\n"
	if trusted, _ := runs(); trusted == 0 {
		t.Error("another trusted state is taken for the one before")
	}
}

func TestControlSaysWhatItCannotAsk(t *testing.T) {
	t.Parallel()
	b, req := judged(t, claim{commands: []string{"test -f a"}, base: files{"a": "1"}, change: files{"a": "2"}})
	rep := b.control(req)
	if len(rep.Runners) != 1 || rep.Runners[0].Accounted || !strings.Contains(rep.Runners[0].Why, "not accounted") || !strings.Contains(rep.Runners[0].Why, "no red control") {
		t.Errorf("runners %+v", rep.Runners)
	}
	if len(rep.Skipped) == 0 {
		t.Error("nothing is said to be left out")
	}
	// A runner that is named and is not there.
	b, req = judged(t, claim{commands: []string{"bats tests"}, base: files{"tests/a.bats": "broken"}, change: files{"a": "2"}})
	if rep := b.control(req); len(rep.Runners) != 1 || rep.Runners[0].Accounted || rep.Runners[0].Why == "" {
		t.Errorf("runners %+v", rep.Runners)
	}
}

func TestControlStaysInItsBudget(t *testing.T) {
	pace.Slow(t, "a budget of seconds has to run out")
	t.Parallel()
	change := files{}
	for _, name := range []string{"a", "b", "c", "d"} {
		change[name+".sh"] = "true\n"
	}
	change["calc.sh"] = "add() { echo $(($2 + $1)); }\n"
	c := shellClaim(change)
	c.base["t/calc.t"] = "#!/bin/sh\nsleep 1.1\n" + strings.TrimPrefix(c.base["t/calc.t"], "#!/bin/sh\n")
	b, req := judged(t, c)
	req.BudgetSecs = 1
	rep := b.control(req)
	if rep.Green.Of != 5 || rep.Green.Done != 0 || !strings.Contains(strings.Join(rep.Skipped, "\n"), "5 of 5 changed functions were not taken out: budget") {
		t.Errorf("green %+v, skipped %q", rep.Green, rep.Skipped)
	}
	if len(rep.Unproven) != 0 {
		t.Errorf("what was not tried is unproven: %+v", rep.Unproven)
	}
}

func TestControlErrorsAreNeitherGoodNorBad(t *testing.T) {
	t.Parallel()
	b, req := judged(t, shellClaim(files{"calc.sh": "add() { sleep 300; }\n"}))
	ctx, cancel := context.WithCancel(t.Context())
	rep, err := b.Control(ctx, req, func(a work.Activity) {
		if strings.HasSuffix(a.Text, "which tests pass") {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) || rep.Bad() || len(rep.Runners) > 0 {
		t.Errorf("cancelled: %+v, %v", rep, err)
	}

	b, req = judged(t, shellClaim(files{"x": "1"}))
	req.Worktree.Setup = []string{"exit 3"}
	if rep, err := b.Control(t.Context(), req, nil); !errors.Is(err, errSetup) || len(rep.Runners) > 0 {
		t.Errorf("setup that fails: %+v, %v", rep, err)
	}

	b, req = judged(t, shellClaim(files{"x": "1"}))
	req.Base = "gone"
	if _, err := b.Control(t.Context(), req, nil); err == nil {
		t.Error("a base that is not there is no error")
	}
}

// What hangs is not reported, and so lost: never a pass.
func TestControlEndsWhatHangs(t *testing.T) {
	pace.Slow(t, "what hangs is waited for")
	t.Parallel()
	b, req := judged(t, shellClaim(files{"calc.sh": "sleep 300\n"}))
	req.TimeoutSecs = 2
	rep := b.control(req)
	if len(rep.Lost) != 1 {
		t.Errorf("lost %q", rep.Lost)
	}
}

func TestControlInASandbox(t *testing.T) {
	for _, level := range levels(t) {
		t.Run(string(level), func(t *testing.T) {
			b, req := judged(t, shellClaim(files{"calc.sh": "touch " + filepath.Join(os.TempDir(), "control-was-here") + " " + t.Name() + " 2>/dev/null\nadd() { echo $(($2 + $1)); }\n"}))
			b.caps = proc.Capabilities{Bubblewrap: level == proc.LevelBubblewrap, Landlock: level == proc.LevelLandlock}
			req.Sandbox = work.SandboxSettings{Mode: "required"}
			req.Hide = []string{b.state}
			rep := b.control(req)
			if rep.Bad() || len(rep.Runners) != 1 || !rep.Runners[0].Accounted || rep.Runners[0].Planted != 1 {
				t.Errorf("%+v", rep)
			}
			if exists(os.TempDir(), "control-was-here") {
				t.Error("it wrote outside of its folders")
			}
		})
	}
}

// An entry of what is known that is damaged is made anew.
func TestControlDistrustsADamagedEntry(t *testing.T) {
	t.Parallel()
	b, req := judged(t, shellClaim(files{"calc.sh": "exit 0\n"}))
	b.control(req)
	entries, err := filepath.Glob(filepath.Join(b.state, "cache", "control", "known", "*.json"))
	if err != nil || len(entries) != 1 {
		t.Fatalf("entries %v, %v", entries, err)
	}
	if err := os.WriteFile(entries[0], []byte(`{"version":1,"passed":`), 0o600); err != nil {
		t.Fatal(err)
	}
	if rep := b.control(req); len(rep.Lost) == 0 {
		t.Errorf("nothing is lost by %+v", rep)
	}
}

func TestWithNamed(t *testing.T) {
	ask := runner.Ask{Dir: "web", Tests: []string{"web/b.test.js"}}
	got := withNamed(ask, []string{"web/checks/a.js", "api/c.js", "web/b.test.js", "web/d.py"})
	if want := []string{"web/b.test.js", "web/checks/a.js"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A planted test that is not reported, or reported as anything but failed, is
// deaf.
func TestDeafPlants(t *testing.T) {
	planted := map[string]string{"a_test.go": "balo", "b_test.go": "dimu", "c_test.go": "rufa"}
	rep := runner.Report{Tests: []runner.Test{{Name: "m.TestBalo", Outcome: runner.Failed}, {Name: "m.TestDimu", Outcome: runner.Passed}}}
	got := (&control{}).deafPlants(planted, rep)
	if len(got) != 2 || !strings.Contains(got[0], "b_test.go") || !strings.Contains(got[1], "c_test.go") {
		t.Errorf("got %q", got)
	}
}
