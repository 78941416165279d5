package evidence

import (
	"strings"
	"sync"
	"testing"

	"forge/internal/git"
	"forge/internal/work"
)

// TestTrustedMoves: what moves a trusted state, and what does not.
func TestTrustedMoves(t *testing.T) {
	b := newBed(t, project())
	first := b.trustedOf("main", b.base)
	if b.tree(first) != b.tree(b.base) {
		t.Error("at first the base is not trusted as it is")
	}
	if again := b.trustedOf("main", b.base); again != first {
		t.Errorf("the same head got %s, then %s", first, again)
	}

	// Forge's own commit moves no evidence; its product is that of the head.
	head := b.forge(files{"tests/run.sh": "weak\n", "tests/new.sh": "new\n", "calc.sh": "product\n"})
	b.want(b.trustedOf("main", head), files{"tests/run.sh": goodTest, "tests/new.sh": "none", "calc.sh": "product\n"})

	// A person's moves the paths that it changes, also one that it removes.
	head = b.commit("mine", files{"tests/new.sh": "mine\n", "tests/empty.sh": "-"})
	b.want(b.trustedOf("main", head), files{"tests/run.sh": goodTest, "tests/new.sh": "mine\n", "tests/empty.sh": "none"})

	// What Forge changes of it afterwards does not.
	head = b.forge(files{"tests/new.sh": "weak\n"})
	b.want(b.trustedOf("main", head), files{"tests/run.sh": goodTest, "tests/new.sh": "mine\n"})
}

// TestTrustedPersonThenForge: both between two runs, in either order.
func TestTrustedPersonThenForge(t *testing.T) {
	b := newBed(t, project())
	b.trustedOf("main", b.base)
	b.commit("mine", files{"tests/run.sh": "mine\n", "tests/a.sh": "mine\n"})
	b.forge(files{"tests/run.sh": "weak\n"})
	b.forge(files{"tests/b.sh": "weak\n"})
	head := b.commit("mine again", files{"tests/b.sh": "mine\n", "tests/a.sh": "mine, later\n"})
	b.want(b.trustedOf("main", head), files{"tests/run.sh": "mine\n", "tests/a.sh": "mine, later\n", "tests/b.sh": "mine\n"})
}

// TestTrustedMerge: of a person's merge that counts which no parent has.
func TestTrustedMerge(t *testing.T) {
	b := newBed(t, project())
	b.trustedOf("main", b.base)
	b.git("checkout", "-q", "-b", "forge/r1")
	b.forge(files{"tests/run.sh": "weak\n"})
	b.git("checkout", "-q", "main")
	b.commit("mine", files{"README.md": "mine\n"})
	b.git("merge", "-q", "--no-ff", "--no-commit", "forge/r1")
	head := b.commit("merge", files{"tests/empty.sh": "in the merge\n"})
	b.want(b.trustedOf("main", head), files{"tests/run.sh": goodTest, "tests/empty.sh": "in the merge\n"})
}

// TestTrustedAccepted: a result that a person approved moves what it changed,
// once it is in the target.
func TestTrustedAccepted(t *testing.T) {
	b := newBed(t, project())
	b.trustedOf("main", b.base)
	b.git("checkout", "-q", "-b", "forge/r1")
	b.forge(files{"tests/run.sh": "first\n", "tests/other.sh": "not shown\n"})
	result := b.forge(files{"tests/run.sh": "second\n"})
	if err := b.Accept(b.ctx, "r1", []work.TrustMove{{From: b.base, To: result, Paths: []string{"tests/run.sh"}}}); err != nil {
		t.Fatal(err)
	}

	b.git("checkout", "-q", "main")
	head := b.commit("meanwhile", files{"README.md": "mine\n"})
	b.want(b.trustedOf("main", head), files{"tests/run.sh": goodTest})

	b.git("merge", "-q", "--no-ff", "-m", "merge\n\nForge-Run: r1\n", "forge/r1")
	head = b.git("rev-parse", "HEAD")
	b.want(b.trustedOf("main", head), files{"tests/run.sh": "second\n", "tests/other.sh": "none"})
}

// TestTrustedOtherBranch: no new branch is a way to have agents' evidence
// trusted, wherever on another one it begins.
func TestTrustedOtherBranch(t *testing.T) {
	b := newBed(t, project())
	b.trustedOf("main", b.base)
	weak := b.forge(files{"tests/run.sh": "weak\n"})

	// Here the other branch went on since.
	b.trustedOf("main", b.commit("mine", files{"tests/later.sh": "mine\n"}))
	b.want(b.trustedOf("side", weak), files{"tests/run.sh": goodTest, "tests/later.sh": "none"})
	weak = b.forge(files{"tests/later.sh": "weak\n"})
	b.want(b.trustedOf("third", weak), files{"tests/run.sh": goodTest, "tests/later.sh": "mine\n"})

	// What is older than anything that ran is trusted as it is, and so is a
	// history of its own.
	b.git("checkout", "-q", "--orphan", "apart")
	apart := b.commit("apart", files{"tests/run.sh": "apart\n"})
	b.want(b.trustedOf("apart", apart), files{"tests/run.sh": "apart\n"})
}

// TestTrustedOlderRun: a run that begins further back gets what was trusted
// there, and takes nothing from the target.
func TestTrustedOlderRun(t *testing.T) {
	b := newBed(t, project())
	b.trustedOf("main", b.base)
	head := b.commit("mine", files{"tests/run.sh": "mine\n"})
	now := b.trustedOf("main", head)
	b.want(b.trustedOf("main", b.base), files{"tests/run.sh": goodTest})
	if again := b.trustedOf("main", head); again != now {
		t.Errorf("an older run moved the state from %s to %s", now, again)
	}
}

// TestTrustedRewritten: a target that is set back trusts what was trusted there;
// one that was written anew trusts no more of Forge's than before.
func TestTrustedRewritten(t *testing.T) {
	b := newBed(t, project())
	b.trustedOf("main", b.base)
	weak := b.forge(files{"tests/run.sh": "weak\n"})
	b.trustedOf("main", weak)
	b.trustedOf("main", b.commit("mine", files{"tests/dropped.sh": "mine\n"}))
	b.git("reset", "-q", "--hard", weak)
	b.want(b.trustedOf("main", weak), files{"tests/run.sh": goodTest, "tests/dropped.sh": "none"})

	head := b.commit("mine after it", files{"tests/kept.sh": "mine\n"})
	b.want(b.trustedOf("main", head), files{"tests/run.sh": goodTest, "tests/dropped.sh": "none", "tests/kept.sh": "mine\n"})

	// The same content under new commits, from the first one on.
	b.git("checkout", "-q", "--orphan", "anew")
	content := project()
	content["tests/kept.sh"], content["tests/dropped.sh"] = "-", "-"
	b.commit("start again", content)
	weak = b.forge(files{"tests/run.sh": "weak\n"})
	head = b.commit("mine anew", files{"tests/kept.sh": "mine, anew\n"})
	b.want(b.trustedOf("main", head), files{"tests/run.sh": goodTest, "tests/kept.sh": "mine, anew\n"})
	b.want(b.trustedOf("main", weak), files{"tests/run.sh": goodTest})
}

// TestTrustedCutOff: where nothing is left of what was trusted on, since the
// repository was made anew and its old commits are gone, people's own commits are
// trusted, and those of Forge no more than before.
func TestTrustedCutOff(t *testing.T) {
	anew := func(t *testing.T) *bed {
		b := newBed(t, project())
		b.trustedOf("main", b.base)
		b.trustedOf("main", b.commit("mine", files{"tests/old.sh": "mine\n"}))
		b.git("checkout", "-q", "--orphan", "anew")
		content := project()
		content["tests/old.sh"] = "-"
		b.commit("start again", content)
		b.git("branch", "-q", "-D", "main")
		b.git("branch", "-q", "-m", "main")
		b.git("reflog", "expire", "--expire=now", "--all")
		b.git("gc", "-q", "--prune=now")
		return b
	}
	t.Run("people's own", func(t *testing.T) {
		b := anew(t)
		head := b.commit("mine anew", files{"tests/kept.sh": "mine\n"})
		b.want(b.trustedOf("main", head), files{"tests/run.sh": goodTest, "tests/kept.sh": "mine\n", "tests/old.sh": "none"})
		weak := b.forge(files{"tests/run.sh": "weak\n"})
		b.want(b.trustedOf("main", weak), files{"tests/run.sh": goodTest, "tests/kept.sh": "mine\n"})
	})
	t.Run("Forge's", func(t *testing.T) {
		b := anew(t)
		b.forge(files{"tests/run.sh": "weak\n", "calc.sh": "product\n"})
		head := b.commit("mine anew", files{"tests/kept.sh": "mine\n"})
		b.want(b.trustedOf("main", head), files{"tests/run.sh": goodTest, "tests/kept.sh": "mine\n", "tests/old.sh": "none", "calc.sh": "product\n"})
	})
}

// TestTrustedAtOnce: runs that begin at one moment get one content, and no move
// is lost.
func TestTrustedAtOnce(t *testing.T) {
	b := newBed(t, project())
	b.trustedOf("main", b.base)
	b.forge(files{"tests/run.sh": "weak\n"})
	head := b.commit("mine", files{"tests/a.sh": "mine\n"})
	ids := make([]string, 4)
	var wait sync.WaitGroup
	for i := range ids {
		wait.Go(func() {
			id, err := New(b.repo, b.dirOfMaps()).Trusted(b.ctx, "main", head, work.EvidenceRequest{})
			if err != nil {
				t.Error(err)
			}
			ids[i] = id
		})
	}
	wait.Wait()
	for _, id := range ids {
		b.want(id, files{"tests/run.sh": goodTest, "tests/a.sh": "mine\n"})
	}
}

// TestAcceptPaths: a person takes over evidence by its path, at the target's
// head; what was accepted stays so.
func TestAcceptPaths(t *testing.T) {
	b := newBed(t, project())
	b.trustedOf("main", b.base)
	head := b.forge(files{"tests/run.sh": "new\n", "tests/a.sh": "a\n", "tests/empty.sh": "-", "calc.sh": "product\n"})
	set := work.EvidenceRequest{Commands: []string{"make test"}}
	accept := func(pick func(string) bool, want ...string) {
		t.Helper()
		moved, err := b.AcceptPaths(b.ctx, "main", head, set, pick)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, c := range moved {
			got = append(got, c.Status+" "+c.Path)
		}
		equal(t, "moved", got, want)
	}

	now, err := b.Current(b.ctx, "main", head, set)
	if err != nil {
		t.Fatal(err)
	}
	b.want(now, files{"tests/run.sh": goodTest, "tests/a.sh": "none", "tests/empty.sh": "", "calc.sh": "product\n"})
	accept(func(path string) bool { return path == "nothing" })
	accept(func(path string) bool { return path == "tests/run.sh" }, "M tests/run.sh")
	b.want(b.trustedOf("main", head), files{"tests/run.sh": "new\n", "tests/a.sh": "none", "tests/empty.sh": ""})
	accept(nil, "A tests/a.sh", "D tests/empty.sh")
	accept(nil)

	head = b.forge(files{"tests/run.sh": "weak\n"})
	b.want(b.trustedOf("main", head), files{"tests/run.sh": "new\n", "tests/a.sh": "a\n", "tests/empty.sh": "none"})
	b.want(b.trustedOf("side", head), files{"tests/run.sh": "new\n"})
}

// TestAcceptAtOnce: two people who accept different paths at one moment both do.
func TestAcceptAtOnce(t *testing.T) {
	b := newBed(t, project())
	b.trustedOf("main", b.base)
	head := b.forge(files{"tests/run.sh": "new\n", "tests/a.sh": "a\n"})
	var wait sync.WaitGroup
	for _, path := range []string{"tests/run.sh", "tests/a.sh"} {
		wait.Go(func() {
			if _, err := b.AcceptPaths(b.ctx, "main", head, work.EvidenceRequest{}, func(p string) bool { return p == path }); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	b.want(b.trustedOf("main", head), files{"tests/run.sh": "new\n", "tests/a.sh": "a\n"})
}

// TestNoState: what is no trusted state is not taken for one.
func TestNoState(t *testing.T) {
	b := newBed(t, project())
	id, err := b.repo.CommitTree(b.ctx, b.tree(b.base), nil, "no state\n", "")
	if err == nil {
		err = b.repo.SetRefs(b.ctx, map[string]string{b.refOf("main"): id})
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Trusted(b.ctx, "main", b.base, work.EvidenceRequest{}); err == nil || !strings.Contains(err.Error(), "is no trusted state") {
		t.Errorf("got %v", err)
	}
}

// TestTrailer: what makes a commit Forge's.
func TestTrailer(t *testing.T) {
	for message, want := range map[string]bool{
		"mine\n": false, "phase\n\nForge-Run: r\n": true, "phase\n\nForge-Phase: 1\nForge-Run: r": true,
		"squashed\n\n* phase\n\n  Forge-Run: r\n": true, "about Forge-Run: trailers\n": false,
	} {
		if got := forges(message); got != want {
			t.Errorf("%q: got %v", message, got)
		}
	}
}

// What was accepted for other commits is not read: each run would read what all before
// it had accepted.
func TestAcceptedForOthersIsNotRead(t *testing.T) {
	b := newBed(t, project())
	other, err := b.repo.CommitRecord(b.ctx, map[string][]byte{movesFile: []byte("no JSON")}, []string{b.base}, "of others\n")
	if err != nil {
		t.Fatal(err)
	}
	if err := b.repo.SetRefs(b.ctx, map[string]string{acceptedRefs + "other": other}); err != nil {
		t.Fatal(err)
	}
	commits, err := b.repo.History(b.ctx, "", b.base)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := b.accepted(b.ctx, nil); err != nil || len(got) != 0 {
		t.Errorf("%v, %v", got, err)
	}
	if got, err := b.accepted(b.ctx, []git.Commit{{ID: other}}); err != nil || len(got) != 0 {
		t.Errorf("%v, %v", got, err)
	}
	if got, err := b.accepted(b.ctx, commits); err == nil {
		t.Errorf("its own, which is broken, counts as %v", got)
	}
}

// A run that begins further back finds the state of its own base, also where results
// landed on several branches since, and however many states there are in between.
func TestTheStateOfAnOlderBaseIsFound(t *testing.T) {
	b := newBed(t, project())
	bases := []string{b.base}
	ids := []string{b.trustedOf("main", b.base)}
	for n := range 6 {
		if n == 3 { // what was merged has a history of its own
			b.git("checkout", "-q", "-b", "side", bases[1])
			b.commit("side", files{"side.txt": "side\n"})
			b.git("checkout", "-q", "main")
			b.git("merge", "-q", "--no-ff", "-m", "merge", "side")
		}
		base := b.commit("change", files{"README.md": strings.Repeat("more\n", n+1)})
		bases, ids = append(bases, base), append(ids, b.trustedOf("main", base))
	}
	last, err := b.state(b.ctx, ids[len(ids)-1])
	if err != nil {
		t.Fatal(err)
	}
	side := b.git("rev-parse", "side")
	for n, base := range append(bases, side) {
		want := ids[min(n, len(ids)-1)]
		if base == side {
			want = ids[1]
		}
		one, older, err := b.within(b.ctx, last, base)
		if err != nil || one.id != want || older {
			t.Errorf("base %d: %+v, %v, %v, want %s", n, one, older, err, want)
		}
		for _, id := range ids[2:] { // going over several at once passes nothing that base holds
			s, err := b.state(b.ctx, id)
			if err != nil {
				t.Fatal(err)
			}
			p := b.past(b.ctx, s, base)
			for at := s; at.id != p.id; {
				if held, err := b.holds(b.ctx, base, at.head); err != nil || held {
					t.Fatalf("base %d: %s was passed: %v", n, at.id, err)
				}
				if at, err = b.state(b.ctx, at.before); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	if p := b.past(b.ctx, last, bases[0]); p.before != "" || p.head != bases[0] {
		t.Errorf("it goes back to %+v", p)
	}
}
