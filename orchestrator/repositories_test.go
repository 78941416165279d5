package orchestrator

import (
	"slices"
	"strings"
	"testing"

	"forge/gates"
	"forge/internal/work"
)

// inSeveral lets phase 01 work in the repository api, and 02, which needs it, in the
// home.
func inSeveral(sp *Spec) {
	phases("01", "02 after 01")(sp)
	sp.Plan.Phases[0].Repository = "api"
	set := sp.Settings.Phases["01"]
	set.Verify = []string{"make api"}
	sp.Settings.Phases["01"] = set
	sp.Repositories = []work.Repository{{
		Name: "api", Base: work.Base{Commit: "a0", Branch: "trunk", RepoRoot: "/api"}, Trusted: "a-trusted",
		Verify: work.VerifySettings{Commands: []string{"make api"}, Protected: []string{"contract/**"}, TimeoutSecs: 7},
		Proof:  work.ProofSettings{NoControls: true}, Worktree: work.Worktree{Setup: []string{"make deps"}},
	}}
}

// bothBases lets the bases of both repositories be green.
func bothBases(t *testing.T, change ...func(*Spec)) *story {
	t.Helper()
	st := open(t, append([]func(*Spec){inSeveral}, change...)...)
	st.base(true)
	st.base(true)
	return st
}

// effectOf is what carrying out the pending command of a phase takes.
func (st *story) effectOf(n string, step Step) Effect {
	st.t.Helper()
	for _, c := range Pending(st.s) {
		if c.Phase == n && c.Step == step {
			e, err := EffectOf(st.s, c, Known{})
			if err != nil {
				st.t.Fatal(err)
			}
			return e
		}
	}
	st.t.Fatalf("%s of phase %q is not pending", step, n)
	return nil
}

// inApi takes phase 01 to its end, in its repository.
func (st *story) inAPI() {
	st.t.Helper()
	st.work("01", says("P01"))
	st.verify("01", true)
	st.merge("01", func(m *MergeFinishedData) { m.Head = "a0" })
	st.land("01")
}

// Each repository has its own base, head, commands, protected files and trusted
// state, and a phase is asked about in its own.
func TestAPhaseWorksInItsRepository(t *testing.T) {
	st := open(t, inSeveral)
	for _, want := range []struct{ repo, commit, command string }{{"", "c0", "make test"}, {"api", "a0", "make api"}} {
		e := st.effectOf("", StepBase).(VerifyEffect)
		if e.Of().Repository != want.repo || e.Of().Commit != want.commit || !slices.Equal(e.Proof.Verify.Commands, []string{want.command}) || e.Base != want.commit {
			t.Errorf("the base of %q: %+v of %+v", want.repo, e.Of(), e.Proof.Verify)
		}
		st.base(true)
	}

	open := st.effectOf("01", StepFolder).(FolderEffect)
	if open.Command.Repository != "api" || open.Opening.Base != "a0" || !slices.Equal(open.Opening.Setup.Settings.Setup, []string{"make deps"}) {
		t.Errorf("the folder: %+v", open)
	}
	st.folder("01")
	if prompt := st.effectOf("01", StepIterate).(IterateEffect).Request.Prompt; !strings.Contains(prompt, "the one called api") {
		t.Errorf("the prompt does not name the repository:\n%s", prompt)
	}
	st.work("01", says("P01"))
	proof := st.effectOf("01", StepVerify).(VerifyEffect).Proof
	if proof.Evidence.Trusted != "a-trusted" || !slices.Equal(proof.Evidence.Protected, []string{"contract/**"}) || proof.Verify.TimeoutSecs != 7 {
		t.Errorf("the proof: %+v", proof)
	}
	st.verify("01", true)
	if m := st.effectOf("01", StepMerge).(MergeEffect); m.Head != "a0" || m.Command.Repository != "api" {
		t.Errorf("the merge: %+v", m)
	}
	st.merge("01", func(m *MergeFinishedData) { m.Head = "a0" })
	if l := st.effectOf("01", StepLand).(LandEffect); l.Head != "a0" {
		t.Errorf("the landing: %+v", l)
	}
	st.land("01")
	if st.s.Head != "c0" || st.s.HeadOf("api") != "landed-01" {
		t.Errorf("heads are %q and %q", st.s.Head, st.s.HeadOf("api"))
	}
	if p := st.phase("02"); p.Stage != StageFolder {
		t.Fatalf("phase 02 is at %s", p.Stage)
	}
	if e := st.effectOf("02", StepFolder).(FolderEffect); e.Command.Repository != "" || e.Opening.Base != "c0" {
		t.Errorf("the folder of the home: %+v", e)
	}
}

// A red base of any repository holds the run before anything is spent.
func TestARedBaseBesideHolds(t *testing.T) {
	st := open(t, inSeveral)
	st.base(true)
	st.base(false)
	if s := st.s; s.Stopping == nil || s.Stopping.Reason != ReasonRedBaseline {
		t.Errorf("a red base of api does not stop the run: %v", st.pending())
	}
}

// Nothing moves in any repository while a phase is not done, and everything does,
// in the graph's order, once all are.
func TestRepositoriesAreHandedOverTogether(t *testing.T) {
	t.Run("one red", func(t *testing.T) {
		st := bothBases(t, ofPhaseN("02", func(ps *work.PhaseSettings) { ps.Budget = 1 }))
		st.inAPI()
		st.work("02", says("P02"))
		st.verify("02", false)
		st.prepared("api")
		if st.s.Live || st.s.Outcome != work.RunFailed || st.count(work.TogetherStarted) != 1 {
			t.Errorf("the run is %q, with %d steps", st.s.Outcome, st.count(work.TogetherStarted))
		}
		d := st.s.Delivery
		if d.FastForwarded || d.Repositories[0].Moved || d.Reason != "not everything is done" {
			t.Errorf("delivery %+v", d)
		}
	})
	t.Run("both green", func(t *testing.T) {
		st := bothBases(t)
		st.inAPI()
		st.done("02")
		st.prepared("api")
		st.prepared("")
		if d := last[TogetherDecidedData](st, work.TogetherDecided); d.To != TogetherMove || !slices.Equal(d.Order, []string{"api", "home"}) {
			t.Errorf("decided %+v", d)
		}
		st.moved("api")
		e := st.effectOf("", StepMove).(TogetherEffect)
		if !slices.Equal(e.Before, []TogetherPlace{{Repository: "api", Branch: "trunk", Commit: "landed-01"}}) {
			t.Errorf("what has to stand before the home is moved: %+v", e.Before)
		}
		st.moved("")
		if d := st.s.Delivery; st.s.Outcome != work.RunCompleted || !d.FastForwarded || len(d.Repositories) != 2 || !d.Repositories[0].Moved || !d.Repositories[1].Moved {
			t.Errorf("%s, delivery %+v", st.s.Outcome, d)
		}
	})
	t.Run("what a person approved is accepted in each", func(t *testing.T) {
		st := bothBases(t, human(gates.PointFinal))
		st.inAPI()
		st.done("02")
		st.approve("", gates.PointFinal)
		st.prepared("api")
		st.prepared("")
		e := st.effectOf("", StepMove).(TogetherEffect)
		if len(e.Accepts) != 1 || e.Accepts[0].From != "a0" || e.Accepts[0].To != "landed-01" {
			t.Errorf("accepts %+v", e.Accepts)
		}
	})
}

// pulled ends a step about a pull request.
func (st *story) pulled(step Step, repo string, is ResultPulled) {
	st.t.Helper()
	c := st.begun("", step)
	if c.Repository != repo {
		st.t.Fatalf("%s of %q, want %q", step, c.Repository, repo)
	}
	st.feed(TogetherDone{Command: c, ResultPulled: is})
}

// A host was asked to merge one part, and nobody heard what came of it: then no run is
// ended for good before somebody has looked.
func TestAMergeThatNobodyHeardOfIsNotForgotten(t *testing.T) {
	st := bothBases(t, onHosts)
	st.inAPI()
	st.done("02")
	for _, repo := range []string{"api", ""} {
		st.prepared(repo)
	}
	for _, step := range []Step{StepPropose, StepLink, StepLook} {
		st.pulled(step, "api", ResultPulled{Number: 3})
		st.pulled(step, "", ResultPulled{Number: 5})
	}
	e := st.effectOf("", StepMove).(TogetherEffect)
	if e.Pull.Number != 3 || e.Pull.At != 0 || len(e.Pull.Others) != 1 || e.Pull.Others[0].Repository != "home" || e.Pull.Others[0].Number != 5 {
		t.Errorf("the merge of api: %+v", e.Pull)
	}
	st.begun("", StepMove) // and the process dies
	st.feed(Resumed{RunResumedData: RunResumedData{By: "test"}})
	st.begun("", StepLook)
	st.feed(Stop{Outcome: work.RunCancelled, Reason: "a person"})
	if s := st.s; s.Stopping == nil || s.Stopping.Outcome != work.RunInterrupted || len(s.Leaving) > 0 {
		t.Errorf("it ends as %+v, and leaves %+v", s.Stopping, s.Leaving)
	}
}

func (st *story) step(step Step, repo, why string) {
	st.t.Helper()
	c := st.begun("", step)
	if c.Repository != repo {
		st.t.Fatalf("%s of %q, want %q", step, c.Repository, repo)
	}
	st.feed(TogetherDone{Command: c, Why: why})
}

func (st *story) prepared(repo string) { st.t.Helper(); st.step(StepPrepare, repo, "") }
func (st *story) moved(repo string)    { st.t.Helper(); st.step(StepMove, repo, "") }

// What is not made for several repositories is refused, whatever let it in.
func TestWhatIsOfOneRepositoryIsRefused(t *testing.T) {
	for name, change := range map[string]func(*Spec){
		"a conflict": func(sp *Spec) { sp.Issue = &work.IssueBrief{Conflict: &work.Conflict{}} },
		"pushed":     func(sp *Spec) { sp.Issue = &work.IssueBrief{Pushed: &work.Pushed{}} },
		"a job":      func(sp *Spec) { sp.Job = &work.Job{} },
		"pulls":      func(sp *Spec) { sp.Pulls = &work.PullSettings{} },
		"a host":     func(sp *Spec) { sp.Host = &work.PullSettings{URL: "http://host"} },
		"a fork":     func(sp *Spec) { sp.Fork = &Fork{} },
		"hooks":      func(sp *Spec) { sp.Settings.Hooks = []work.Hook{{}} },
		"tries":      ofPhaseN("02", func(ps *work.PhaseSettings) { ps.Tries = 2 }),
		"unknown":    func(sp *Spec) { sp.Plan.Phases[1].Repository = "web" },
		"home":       func(sp *Spec) { sp.Repositories[0].Name = "home" },
		"twice":      func(sp *Spec) { sp.Repositories = append(sp.Repositories, sp.Repositories[0]) },
	} {
		st := open(t, inSeveral)
		sp := st.spec
		sp.Plan.Phases, sp.Repositories = slices.Clone(sp.Plan.Phases), slices.Clone(sp.Repositories)
		change(&sp)
		if _, err := NewState("sim", sp); err == nil {
			t.Errorf("%s: it opens", name)
		}
	}
}

// The pages that a proof shows are those of the repository that it is in: another's
// are neither wanted there nor forgotten where they are.
func TestPagesAreOfTheRepository(t *testing.T) {
	t.Parallel()
	page := work.ProofSettings{Pages: []work.PageSettings{{URL: "http://127.0.0.1:8080/"}}}
	for _, c := range []struct {
		home, api work.ProofSettings
		at        string
		ok        bool
	}{
		{page, work.ProofSettings{}, "", false}, {page, work.ProofSettings{}, "api", true},
		{work.ProofSettings{}, page, "", true}, {work.ProofSettings{}, page, "api", false},
	} {
		s := &State{Spec: Spec{Settings: work.Settings{Proof: c.home}, Repositories: []work.Repository{{Name: "api", Proof: c.api}}}}
		data := work.VerifyFinishedData{OK: true}
		(&decision{s: s}).pagesDone(c.at, nil, &data)
		if data.OK != c.ok {
			t.Errorf("pages of home %d, of api %d, nobody looked in %q: %v", len(c.home.Pages), len(c.api.Pages), c.at, data.OK)
		}
	}
}
