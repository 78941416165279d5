package verify

import (
	"path/filepath"
	"strings"
	"testing"

	"forge/internal/opened"
	"forge/internal/proc"
	"forge/internal/work"
)

// rewrites is a product that replaces a test while it runs and puts it back, so
// that nobody sees it afterwards.
const rewrites = "cp tests/a tests/a.was; { echo exit 0 > tests/a; } 2>/dev/null; sh tests/a; code=$?; { cat tests/a.was > tests/a; } 2>/dev/null; rm -f tests/a.was; exit $code"

func fixedBench(t *testing.T) (*bench, work.VerifyRequest) {
	t.Helper()
	b := newBench(t, files{"tests/a": "exit 1\n", "gen": "made\n", "run": "true\n"})
	b.checkout = withTrees{b.checkout}
	b.opened = opened.New(filepath.Join(b.state, "opened"))
	req := b.req(rewrites)
	req.Evidence, req.Base = []string{"gen", "tests/a"}, "base"
	return b, req
}

func needBubblewrap(t *testing.T, b *bench, req *work.VerifyRequest) {
	t.Helper()
	levels(t)
	if caps := proc.Detect(t.Context()); !caps.Bubblewrap {
		t.Skipf("bubblewrap does not work here: %s", caps.Why)
	}
	b.caps = proc.Capabilities{Bubblewrap: true}
	req.Sandbox.Mode = "required"
}

// TestSandboxEvidenceCannotBeWritten: in bubblewrap a product that changes its
// test and changes it back is red, and all else works as before.
func TestSandboxEvidenceCannotBeWritten(t *testing.T) {
	t.Parallel()
	b, req := fixedBench(t)
	needBubblewrap(t, b, &req)
	rep := b.verify(req)
	if rep.OK || rep.ReadOnly == nil || *rep.ReadOnly != (work.ReadOnly{Files: 2, Of: 2}) {
		t.Errorf("report %+v, read-only %+v", rep, rep.ReadOnly)
	}

	req.Commands = []string{"echo x > tests/new && mv tests/new tests/other && echo y > run.out && test \"$(cat gen)\" = made"}
	b.green(req)

	// What the owner lets commands write, they write.
	req.Commands, req.MayWrite = []string{"echo other > gen"}, []string{"gen"}
	if rep := b.green(req); *rep.ReadOnly != (work.ReadOnly{Files: 1, Of: 1}) {
		t.Errorf("read-only %+v", rep.ReadOnly)
	}

	// Who cannot write is told what there is to do.
	req.MayWrite = nil
	if rep := b.verify(req); rep.OK || !strings.Contains(rep.Problem, "verify.may_write") {
		t.Errorf("problem %q", rep.Problem)
	}
}

// TestSandboxBaseThatWritesItsEvidence: commands that write the same again are
// found out on the base, and go on as they did.
func TestSandboxBaseThatWritesItsEvidence(t *testing.T) {
	t.Parallel()
	b, req := fixedBench(t)
	needBubblewrap(t, b, &req)
	b.commits.all["base"] = b.commits.all["c1"]
	req.Commands = []string{"echo made > gen"}
	if rep := b.verify(req); rep.OK {
		t.Fatal("nothing kept it from writing, and nobody saw the base")
	}

	base := req
	base.Commit = "base"
	if rep := b.green(base); rep.ReadOnly.Files != 0 || !strings.Contains(rep.ReadOnly.Why, "unless they can write") {
		t.Errorf("read-only on the base %+v", rep.ReadOnly)
	}
	if rep := b.green(req); rep.ReadOnly.Files != 0 || rep.ReadOnly.Of != 2 {
		t.Errorf("read-only after it %+v", rep.ReadOnly)
	}
}

// TestEvidenceWithoutMounts: where nothing can be mounted it is said, and what
// commands leave changed is still seen.
func TestEvidenceWithoutMounts(t *testing.T) {
	t.Parallel()
	b, req := fixedBench(t)
	req.Commands = []string{"true"}
	if rep := b.green(req); rep.ReadOnly == nil || *rep.ReadOnly != (work.ReadOnly{Of: 2, Why: "there is no sandbox"}) {
		t.Errorf("read-only %+v", rep.ReadOnly)
	}
	req.Commands = []string{"echo exit 0 > tests/a"}
	if rep := b.verify(req); rep.OK || rep.Disturbed == "" {
		t.Errorf("report %+v", rep)
	}
}

// everyLevel runs a test without a sandbox, and in the one that mounts nothing.
func everyLevel(t *testing.T, run func(t *testing.T, b *bench, req work.VerifyRequest)) {
	t.Run("none", func(t *testing.T) {
		t.Parallel()
		b, req := fixedBench(t)
		run(t, b, req)
	})
	t.Run("landlock", func(t *testing.T) {
		t.Parallel()
		b, req := fixedBench(t)
		if caps := proc.Detect(t.Context()); !caps.Landlock {
			t.Skipf("landlock does not work here: %s", caps.Why)
		}
		b.caps, req.Sandbox.Mode = proc.Capabilities{Landlock: true}, "required"
		run(t, b, req)
	})
}

// TestEvidencePutBack: where nothing can be mounted, evidence that was written to
// while it judged is seen though it is as before afterwards.
func TestEvidencePutBack(t *testing.T) {
	t.Parallel()
	everyLevel(t, func(t *testing.T, b *bench, req work.VerifyRequest) {
		for _, command := range []string{
			rewrites,
			"mv tests/a tests/b && echo exit 0 > tests/a && sh tests/a && mv tests/b tests/a", // the same file again
			"cp -p gen kept && echo other > gen && touch -r kept gen && cp -p kept gen && rm kept",
			"true; sh -c 'chmod 600 gen; chmod 644 gen'",
		} {
			req.Commands = []string{command}
			if rep := b.verify(req); rep.OK || !strings.Contains(rep.Disturbed, "put it back") || !strings.Contains(rep.Disturbed, "verify.may_write") {
				t.Errorf("%s: report %+v", command, rep)
			}
		}

		// What is read, and what stands beside it, is nothing of that.
		req.Commands = []string{"cat gen tests/a > read && echo x > tests/new && rm tests/new && echo other > run && echo true > run"}
		b.green(req)
		req.Commands, req.MayWrite = []string{"echo other > gen && echo made > gen"}, []string{"gen"}
		b.green(req)
	})
}

// TestBaseThatPutsBack: commands that write the same again are found out on the
// base, and go on as they did.
func TestBaseThatPutsBack(t *testing.T) {
	t.Parallel()
	everyLevel(t, func(t *testing.T, b *bench, req work.VerifyRequest) {
		b.commits.all["base"] = b.commits.all["c1"]
		req.Commands = []string{"echo made > gen"}
		if rep := b.verify(req); rep.OK {
			t.Fatal("it was written to, and nobody saw the base")
		}
		base := req
		base.Commit = "base"
		if rep := b.green(base); !strings.Contains(rep.ReadOnly.Why, "unless they can write") {
			t.Errorf("read-only on the base %+v", rep.ReadOnly)
		}
		if rep := b.green(req); !strings.Contains(rep.ReadOnly.Why, "on the base") {
			t.Errorf("read-only after it %+v", rep.ReadOnly)
		}
	})
}
