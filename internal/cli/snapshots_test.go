package cli

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"forge/internal/config"
	"forge/internal/journal"
	"forge/internal/narrate"
	"forge/internal/project"
	"forge/internal/report"
	"forge/internal/work"
	"forge/orchestrator"
)

// recording is a run without agents: the core is told that they did nothing,
// and what it makes of that is the journal.
type recording struct {
	w     *world
	p     *project.Checkout
	lease *journal.Lease
	s     *orchestrator.State
	evs   []work.Event
}

// record opens a run of the world's plan in its journal.
func (w *world) record(ctx context.Context, run string) *recording {
	w.t.Helper()
	app := &App{Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: io.Discard, Environ: w.env, Dir: w.root, Now: time.Now}
	app.logTo(0)
	r := &recording{w: w}
	var err error
	must := func() {
		w.t.Helper()
		if err != nil {
			w.t.Fatal(err)
		}
	}
	r.p, err = project.Open(ctx, app.env())
	must()
	_, err = r.p.OpenStore(ctx, true)
	must()
	w.t.Cleanup(r.p.Close)
	plan, err := r.p.Plan()
	if err != nil {
		w.t.Fatal(err)
	}
	spec, _, err := r.p.Resolve(plan, config.PolicyFlags{Autonomous: true})
	if err != nil {
		w.t.Fatal(err)
	}
	r.lease, err = r.p.Journal.CreateRun(ctx, run, journal.Self())
	must()
	r.s, err = orchestrator.NewState(run, spec)
	must()
	r.feed(orchestrator.Opened{Inline: &spec})
	return r
}

func (r *recording) feed(f orchestrator.Fact) {
	r.w.t.Helper()
	evs, err := orchestrator.Feed(r.s, orchestrator.Input{Now: time.Now(), Fact: f})
	if err != nil {
		r.w.t.Fatal(err)
	}
	r.evs = append(r.evs, evs...)
}

// until lets agents work in vain until the run has n events, and writes those.
func (r *recording) until(ctx context.Context, n int64) {
	r.w.t.Helper()
	for r.s.Seq < n {
		before := r.s.Seq
		for _, c := range orchestrator.Pending(r.s) {
			r.feed(orchestrator.Began{Command: c})
			switch c.Step {
			case orchestrator.StepFolder:
				r.feed(orchestrator.FolderDone{Command: c, Setup: work.CommandsReport{OK: true}})
			case orchestrator.StepIterate:
				r.feed(orchestrator.IterationDone{Command: c, Report: work.IterationReport{Outcome: work.OutcomeOK, Message: "looked around once more"}})
			case orchestrator.StepVerify, orchestrator.StepBase:
				r.feed(orchestrator.VerifyDone{Command: c, Report: work.CommandsReport{OK: true, Ran: []work.CommandReport{{Command: "true", OK: true}}}, Evidence: &work.EvidenceReport{}})
			default:
				r.w.t.Fatalf("nobody thought of %s", c.ID)
			}
		}
		if r.s.Seq == before {
			last := r.evs[len(r.evs)-1]
			r.w.t.Fatalf("the run stands still at event %d: %s %s", before, last.Kind, last.Data)
		}
	}
	for len(r.evs) > 0 {
		part := r.evs[:min(len(r.evs), 1000)]
		if err := r.p.Journal.Append(ctx, r.lease, journal.Append{Events: part}); err != nil {
			r.w.t.Fatal(err)
		}
		r.evs = r.evs[len(part):]
	}
}

// inVain is a world whose phases never end by themselves.
func inVain(t *testing.T, phases int) *world {
	w := newWorld(t, "", "true")
	w.configure("[autonomy]\nstale_iterations_before_pivot = 0\n", "true")
	var plan []work.Phase
	for i := range phases {
		plan = append(plan, phase(fmt.Sprintf("%02d", i+1), fmt.Sprintf("phase %d", i+1), 1_000_000))
	}
	w.plan(plan...)
	return w
}

// edit changes the journal behind Forge's back.
func (w *world) edit(statements ...string) {
	w.t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(w.state, "journal.db"))
	if err != nil {
		w.t.Fatal(err)
	}
	defer db.Close()
	for _, s := range statements {
		if _, err := db.Exec(s); err != nil {
			w.t.Fatalf("%s: %v", s, err)
		}
	}
}

// one is a number that a query gives.
func (w *world) one(query string) (n int64) {
	w.t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(w.state, "journal.db"))
	if err != nil {
		w.t.Fatal(err)
	}
	defer db.Close()
	if err := db.QueryRow(query).Scan(&n); err != nil {
		w.t.Fatalf("%s: %v", query, err)
	}
	return n
}

// A long run is not folded from its beginning each time, and what is said of it
// is what its events say, whatever became of the state that was written down.
func TestStatusGoesOnFromWhereTheStateWasKept(t *testing.T) {
	t.Parallel()
	w := inVain(t, 3)
	r := w.record(t.Context(), "long")
	r.until(t.Context(), project.KeepEvery-100)
	status := func() string { return w.forge("status", "--output", "json").want(exitDone).stdout }
	truth := func() string {
		s, _, err := r.p.LoadRun(t.Context(), "long")
		if err != nil {
			t.Fatal(err)
		}
		row, err := r.p.PickRun(t.Context(), "long")
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		if err := printJSON(&b, report.StatusOf(row, s, nil)); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	same := func(when string) {
		t.Helper()
		if got, want := status(), truth(); got != want {
			t.Errorf("%s, status says\n%s\nwant\n%s", when, got, want)
		}
	}
	kept := func() int64 { return w.one(`SELECT coalesce(max(seq), 0) FROM states`) }
	same("a short run")
	if n := kept(); n != 0 {
		t.Errorf("the state of a short run was kept at event %d", n)
	}
	r.until(t.Context(), project.KeepEvery+100)
	same("a long run")
	first := kept()
	if first != r.s.Seq {
		t.Fatalf("the state is kept at event %d, want %d", first, r.s.Seq)
	}

	// It is used: what the events before it say is not looked at again.
	r.until(t.Context(), first+100)
	w.edit(`DROP TRIGGER events_are_not_changed`, `CREATE TABLE good AS SELECT * FROM events`, `UPDATE events SET data = '{}', iteration = 7 WHERE id & 0xffffffff = 20`)
	if got := status(); !strings.Contains(got, `"state": "running"`) || kept() != first {
		t.Errorf("status says %s, the state is kept at event %d", got, kept())
	}
	w.forge("why").want(exitUsage).warns("event 20", "journal is broken")
	w.forge("audit", "verify").want(exitUsage).says("BROKEN")
	back := `UPDATE events SET data = (SELECT data FROM good g WHERE g.id = events.id), iteration = (SELECT iteration FROM good g WHERE g.id = events.id)`
	w.edit(back)
	same("put right")

	// What comes after it is verified, and so is what it stands on.
	w.edit(fmt.Sprintf(`UPDATE events SET iteration = 7 WHERE id & 0xffffffff = %d`, first+20))
	w.forge("status").want(exitUsage).warns(fmt.Sprintf("event %d", first+20), "journal is broken")
	w.edit(back, fmt.Sprintf(`UPDATE events SET hash = zeroblob(32) WHERE id & 0xffffffff = %d`, first))
	w.forge("status").want(exitUsage).warns(fmt.Sprintf("event %d", first), "journal is broken")
	w.edit(`UPDATE events SET hash = (SELECT hash FROM good g WHERE g.id = events.id)`)
	same("put right again")

	// Damaged, or of another build, it is as if there were none.
	w.edit(`DELETE FROM states`)
	same("with none")
	w.edit(`CREATE TABLE kept AS SELECT * FROM states`)
	for what, change := range map[string]string{
		"with a digit more":    `UPDATE states SET state = CAST(replace(CAST(state AS TEXT), '"Iteration":', '"Iteration":1') AS BLOB)`,
		"cut short":            `UPDATE states SET state = substr(state, 1, length(state) / 2)`,
		"empty":                `UPDATE states SET state = zeroblob(0)`,
		"without its checksum": `UPDATE states SET state = substr(state, 66)`,
		"of another build":     `UPDATE states SET state = CAST('0123456789012345678901234567890123456789012345678901234567890123' || substr(state, 65) AS BLOB)`,
		"of another event":     `UPDATE states SET seq = seq - 1`,
		"of a later event":     `UPDATE states SET seq = seq + 100000`,
	} {
		w.edit(change)
		same("with a state that is kept " + what)
		if n := w.one(`SELECT count(*) FROM states s JOIN kept k ON s.seq = k.seq AND s.state = k.state`); n != 1 {
			t.Errorf("after one that was %s, another state is kept", what)
		}
	}
}

// The process that drives a run keeps its state as it goes.
func TestAKeeperKeepsTheState(t *testing.T) {
	t.Parallel()
	w := inVain(t, 2)
	r := w.record(t.Context(), "long")
	r.until(t.Context(), project.KeepEvery-10)
	k := &project.Keeper{Watcher: &narrate.LogWatcher{Log: r.p.Log}, Checkout: r.p}
	k.Events(nil, r.s)
	if n := w.one(`SELECT count(*) FROM states`); n != 0 {
		t.Errorf("a short run's state was kept")
	}
	r.until(t.Context(), project.KeepEvery+10)
	k.Events(nil, r.s)
	if s, seq := r.p.Saved(t.Context(), "long"); s == nil || seq != r.s.Seq || k.Saved != seq {
		t.Errorf("kept at event %d, want %d: %v", seq, r.s.Seq, s)
	}
}

// BenchmarkStatus: forge status on 50,000 events, as many as can be behind the
// kept state, beside the same on 500.
func BenchmarkStatus(b *testing.B) {
	ok := testing.RunTests(func(string, string) (bool, error) { return true, nil }, []testing.InternalTest{{Name: "BenchmarkStatus", F: func(t *testing.T) {
		worlds := map[int64]*world{}
		for _, n := range []int64{500, 50_000} {
			w := inVain(t, 20)
			r := w.record(t.Context(), "long")
			r.until(t.Context(), n-project.KeepEvery+10)
			w.forge("status").want(exitDone)
			r.until(t.Context(), n)
			worlds[n] = w
		}
		took := map[int64]time.Duration{}
		rounds := 0
		for b.Loop() {
			for n, w := range worlds {
				begin := time.Now()
				w.forge("status").want(exitDone)
				took[n] += time.Since(begin)
			}
			rounds++
		}
		b.ReportMetric(float64(took[50_000])/float64(took[500]), "×500(≤1.3)")
		b.ReportMetric(float64(took[500].Microseconds())/float64(rounds)/1000, "ms/500")
		b.ReportMetric(float64(took[50_000].Microseconds())/float64(rounds)/1000, "ms/50000")
		b.ReportMetric(0, "ns/op")
	}}})
	if !ok {
		b.Fatal("the journals could not be made")
	}
}
