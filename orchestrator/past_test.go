package orchestrator

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"forge/internal/stuck"
	"forge/internal/work"
)

// fresh is what a new session of phase 01 would be told.
func (st *story) fresh() string {
	st.t.Helper()
	return Prompt(st.s, st.phase("01"), "")
}

// long is a phase of so many iterations that say, change and are refused much, and
// what an agent would have read of it had it been one session.
func long(t testing.TB, st *story, n int) (whole int) {
	t.Helper()
	for i := range n {
		whole += len(st.prompt("01"))
		st.work("01", says("P01"), func(d *IterationDone) {
			d.Report.Message = fmt.Sprintf("step %d: ", i+1) + strings.Repeat("very long ", 300)
			d.Report.Signals.Blockers = []string{fmt.Sprintf("blocker %d", i+1)}
			d.Report.Signals.Pivots = []string{fmt.Sprintf("strategy %d", i+1)}
			d.Report.Trace = &stuck.Trace{}
			d.Snapshot.Files = []work.FileChange{{Path: fmt.Sprintf("pkg/file%d.go", i+1)}, {Path: "go.mod"}}
			whole += len(d.Report.Message)
		})
		st.verify("01", false, func(d *VerifyDone) {
			d.Report.Problem, d.Report.Ran[0].Output = fmt.Sprintf("TestThing%d is red", i%40), strings.Repeat("--- FAIL\n", 400)
		})
	}
	return whole
}

func TestPastIsBounded(t *testing.T) {
	st := tell(t, budget(99))
	st.message("01", "m1", "use tabs, always")
	long(t, st, 80)
	st.phase("01").Session = ""
	got := st.fresh()
	if n := len(got); n > 24<<10 {
		t.Errorf("after 80 iterations the prompt has %d bytes", n)
	}
	for _, want := range []string{"use tabs, always", "TestThing39 is red", "blocker 80", "strategy 80", "pkg/file80.go", "Iteration 80: ok", "lines before are left out", "Iterations 1 to ", "for several reasons", "The last 60 files"} {
		if !strings.Contains(got, want) {
			t.Errorf("a new session is not told %q:\n%s", want, got)
		}
	}
	if told, err := st.s.Summary("01"); err != nil || !strings.Contains(told, "use tabs, always") || !strings.Contains(told, "pkg/file80.go") {
		t.Errorf("forge compact --show: %v\n%s", err, told)
	}
	if _, err := st.s.Summary("09"); err == nil {
		t.Error("a phase that is none has a summary")
	}
	times := 0
	for _, r := range st.phase("01").Past.Refuted {
		times += r.Times
	}
	if times != 80 {
		t.Errorf("%d of 80 refuted promises are counted", times)
	}
}

// A session that is nearly full is asked for its own summary, which the next one gets.
func TestASessionLeavesASummary(t *testing.T) {
	st := tell(t, budget(9), ofPhase01(func(ps *work.PhaseSettings) { ps.ContextTokens = 100 }))
	st.work("01", uses(0, 60))
	if got := st.prompt("01"); strings.Contains(got, "session-summary") {
		t.Errorf("it is asked while there is room: %s", got)
	}
	st.work("01", uses(0, 90))
	st.prompts("01", "session", "Your session is nearly full", "session-summary")
	st.work("01", uses(0, 120), func(d *IterationDone) {
		d.Report.Signals.Summaries = []string{"half of it is done; the parser is next <promise>P01</promise>"}
	})
	if got := st.s.sessionOf(st.phase("01")); got != "" {
		t.Errorf("session %q goes on beyond the limit", got)
	}
	st.prompts("01", "", "Your own summary, of iteration 3", "half of it is done; the parser is next")
	if got := st.prompt("01"); strings.Contains(got, "<promise>") || strings.Contains(got, "nearly full") {
		t.Errorf("the prompt of the new session: %s", got)
	}
	st.work("01", uses(0, 20))
	st.phase("01").Session = ""
	st.prompts("01", "", "Your own summary, of iteration 3")
}

// What is about work that a person took back is forgotten; what failed is not.
func TestARewoundPhaseForgetsWhatIsGone(t *testing.T) {
	st := tell(t, budget(9))
	summary := func(words string) func(*IterationDone) {
		return func(d *IterationDone) {
			d.Report.Signals.Summaries, d.Report.Signals.Blockers = []string{words}, []string{words + " blocker"}
			d.Report.Trace = &stuck.Trace{}
			d.Snapshot.Files = []work.FileChange{{Path: words + ".go"}}
		}
	}
	st.work("01", summary("early"))
	st.work("01", summary("late"))
	st.back("01", 2, 0, "b1", "")
	st.prompts("01", "", "Your own summary, of iteration 2", "late blocker")
	st.backAt("01", "c2", 3, 1)
	st.back("01", 1, 0, "b2", "")
	got := st.fresh()
	for _, gone := range []string{"Your own summary", "late.go"} {
		if strings.Contains(got, gone) {
			t.Errorf("%q is told: %s", gone, got)
		}
	}
	if !strings.Contains(got, "late blocker") {
		t.Errorf("what stopped it is lost: %s", got)
	}
}

// What people ask for is told to every later session, the newest whole.
func TestCommentsAreNotLostWithASession(t *testing.T) {
	st := tell(t, budget(9))
	p := st.phase("01")
	for i := range 20 {
		p.comment(fmt.Sprintf("wish %d\n", i) + strings.Repeat("because ", 400))
	}
	p.Comments = nil
	got := st.fresh()
	for i := range 20 {
		if !strings.Contains(got, fmt.Sprintf("wish %d", i)) {
			t.Errorf("wish %d is lost", i)
		}
	}
	if strings.Count(got, "because") < 3600 || len(got) > 48<<10 {
		t.Errorf("%d bytes, %d words of the wishes", len(got), strings.Count(got, "because"))
	}
}

// compact asks for a new session, as forge compact does.
func (st *story) compact(words string) ToldData {
	st.t.Helper()
	st.feed(Answered{work.Answer{By: "ann", Door: "cli", At: st.now, Message: &work.Message{ID: "c" + words, Phase: "01", Text: words, Anew: true}}})
	return last[ToldData](st, work.PhaseTold)
}

func TestAPersonAsksForANewSession(t *testing.T) {
	t.Run("between iterations", func(t *testing.T) {
		st := tell(t)
		st.work("01")
		if got := st.compact(""); got.Refused != "" || !got.Anew || got.Midway {
			t.Errorf("%+v", got)
		}
		st.prompts("01", "", "When it is done", "Iteration 1: ok", "ann asked for a new session")
		if got := st.s.sessionOf(st.phase("01")); got != "" {
			t.Errorf("session %q goes on", got)
		}
		st.work("01")
		if got := st.s.sessionOf(st.phase("01")); got != "session" {
			t.Errorf("the session after it is %q: it is asked for once", got)
		}
	})
	t.Run("in one that a death took back", func(t *testing.T) {
		st := tell(t)
		st.work("01")
		st.begun("01", StepIterate)
		st.compact("")
		st.feed(Resumed{})
		if got := st.s.sessionOf(st.phase("01")); got != "" {
			t.Errorf("session %q goes on", got)
		}
	})
	for name, end := range map[string]func(*IterationDone){
		"in an iteration": func(*IterationDone) {}, "in one that is interrupted": ends(work.OutcomeInterrupted), "in one that meets a limit": ends(work.OutcomeRateLimited),
	} {
		t.Run(name, func(t *testing.T) {
			st := tell(t)
			st.work("01")
			st.work("01", func(*IterationDone) { st.compact("") }, end)
			if got := st.s.sessionOf(st.phase("01")); got != "" {
				t.Errorf("session %q goes on", got)
			}
		})
	}
	t.Run("without words a promise counts", func(t *testing.T) {
		st := tell(t)
		st.work("01", says("P01"), func(*IterationDone) { st.compact("") })
		st.verify("01", true)
		if p := st.phase("01"); p.Stage != StageTurn {
			t.Errorf("phase 01 stands at %s", p.Stage)
		}
	})
	t.Run("with words it does not, and they are read", func(t *testing.T) {
		st := tell(t)
		st.work("01", says("P01"), func(*IterationDone) { st.compact("use tabs") })
		st.prompts("01", "", "A person says to you, while you work", "use tabs")
	})
	t.Run("a message still has to say something", func(t *testing.T) {
		st := tell(t)
		if got := st.message("01", "m1", " "); got.Refused == "" {
			t.Error("an empty message is taken")
		}
	})
}

// Whatever iterations say, what a new session is told is bounded, nothing of it acts
// as a signal, and folding does not write into what an earlier state holds.
func TestPastHoldsItsBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var past, was Past
		words := rapid.SliceOfN(rapid.OneOf(rapid.String(), rapid.Just(strings.Repeat("<promise>P01</promise> ", 900))), 0, 4)
		for n := range rapid.IntRange(0, 60).Draw(t, "iterations") {
			was = past
			before, _ := json.Marshal(was)
			switch rapid.IntRange(0, 2).Draw(t, "what") {
			case 0:
				past.sees(n, work.IterationFinishedData{Signals: clipSignals(work.Signals{Blockers: words.Draw(t, "blockers"), Pivots: words.Draw(t, "pivots"), Summaries: words.Draw(t, "summaries")}),
					Trace: (&stuck.Trace{Files: words.Draw(t, "files")}).Clipped()})
			case 1:
				past.refuted(n, rapid.String().Draw(t, "why"), strings.Join(words.Draw(t, "output"), "\n"))
			case 2:
				past.commented(strings.Join(words.Draw(t, "comment"), "\n"))
			}
			if after, _ := json.Marshal(was); string(after) != string(before) {
				t.Fatalf("the state before was\n%s\nand is\n%s", before, after)
			}
		}
		if len(past.Files) > maxPastFiles || len(past.Refuted) > maxPastRefuted || len(past.Blockers) > maxPastTold || len(past.Strategies) > maxPastTold {
			t.Fatalf("%d files, %d refuted, %d blockers, %d strategies", len(past.Files), len(past.Refuted), len(past.Blockers), len(past.Strategies))
		}
		var b strings.Builder
		(&Phase{Briefing: Briefing{Past: past}}).writePast(&b)
		if sig := scan(b.String()); len(sig.Promises)+len(sig.Summaries) > 0 {
			t.Fatalf("it acts as a signal: %+v", sig)
		}
	})
}

func scan(said string) work.Signals {
	var s work.SignalScanner
	_, _ = s.Write([]byte(said))
	return s.Signals()
}

// BenchmarkCompaction: what a new session reads of a phase of 30 iterations, beside
// all that was said in them.
func BenchmarkCompaction(b *testing.B) {
	for b.Loop() {
		st := tell(&testing.T{}, budget(99))
		whole := long(b, st, 30)
		st.phase("01").Session = ""
		now := len(st.fresh())
		b.ReportMetric(float64(whole)/4, "tokens-said")
		b.ReportMetric(float64(now)/4, "tokens-told")
		b.ReportMetric(float64(now)/float64(whole), "ratio")
	}
}

// A session that was stuck ends with the order to change its course: later ones are
// told of it, with what was seen, also once the agent works again.
func TestPivotsAreToldToLaterSessions(t *testing.T) {
	st := tell(t, budget(20), setting(func(set *work.Settings) { set.Stale.Threshold = 2 }))
	for range 9 {
		if st.phase("01").Stale.Pivoted {
			break
		}
		st.work("01", changesNothing)
	}
	p := st.phase("01")
	if !p.Stale.Pivoted || len(p.Past.Pivots) != 1 {
		t.Fatalf("it was told %v, and pivoted is %v", p.Past.Pivots, p.Stale.Pivoted)
	}
	at := p.Iteration
	st.work("01")
	p.Session = ""
	want := fmt.Sprintf("After iteration %d: ", at)
	if got := st.fresh(); strings.Contains(got, "Change your strategy\n") || !strings.Contains(got, "Where you were stuck") || !strings.Contains(got, want) {
		t.Errorf("a new session is not told %q:\n%s", want, got)
	}
	if told, err := st.s.Summary("01"); err != nil || !strings.Contains(told, want) {
		t.Errorf("forge compact --show: %v\n%s", err, told)
	}
	for i := range 3 * maxPastTold {
		p.Past.pivoted(i, strings.Repeat("it turns in circles ", 50))
	}
	if n := len(p.Past.Pivots); n != maxPastTold || len(p.Past.Pivots[0]) > 300 {
		t.Errorf("%d pivots are kept, the first of %d bytes", n, len(p.Past.Pivots[0]))
	}
}
