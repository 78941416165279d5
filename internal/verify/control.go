package verify

import (
	"context"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"forge/internal/installed"
	"forge/internal/runner"
	"forge/internal/text"
	"forge/internal/work"
)

// leastBudget is what the controls may take however short the verify was.
const leastBudget = 2 * time.Second

// Control asks what a green proof is worth. It asks the project's test runners
// directly, each run in a folder made anew, under the restrictions of a verify:
//
//   - what setup installs for tests alone has to be what it is on req.Trusted;
//   - what passed by name on req.Trusted has to be reported as passed on
//     req.Commit, beside planted tests that have to be red;
//   - expectations of the trusted tests made wrong have to be red by name, and
//     so do those of tests that earlier work brought, on req.Snapshot;
//   - both hold with the settings of req.Snapshot, where those are others;
//   - tests that the snapshot has otherwise notice what they noticed before;
//   - a changed function of req.Snapshot without its body has to be noticed;
//   - each hunk taken back by itself, where req.Ablate asks for it.
//
// With req.Rest it goes on with what there was no time for, and asks nothing else.
//
// The first and the third are always run, of the second and the fourth one run
// each; more runs end with the budget. What was left out is said. An error means that something
// could not be judged, and is neither good nor bad. A nil watch is fine; it is
// called from the caller's goroutine.
func (b *Bench) Control(ctx context.Context, req work.ControlRequest, watch func(work.Activity)) (work.ControlReport, error) {
	began := time.Now()
	rep, err := b.control(ctx, req, watch)
	if err != nil {
		return work.ControlReport{}, orCancelled(ctx, fmt.Errorf("control the proof of %s: %w", req.Commit, err))
	}
	rep.Millis = time.Since(began).Milliseconds()
	return rep, nil
}

func (b *Bench) control(ctx context.Context, req work.ControlRequest, watch func(work.Activity)) (work.ControlReport, error) {
	out, err := openTranscript(req.LogPath, b.red)
	if err != nil {
		return work.ControlReport{}, err
	}
	defer func() { _ = out.Close() }() // the way out with an error; else it is closed by then
	c := &control{Bench: b, req: req, watch: watch, out: out}
	defer c.tidy()

	ask := c.all
	if req.Rest != nil {
		ask = c.rest
	}
	if err := ask(ctx); err != nil {
		return work.ControlReport{}, err
	}
	c.rep.Left = c.left.marked()
	if err := c.writeFound(); err != nil {
		return work.ControlReport{}, err
	}
	if err := out.Close(); err != nil {
		return work.ControlReport{}, err
	}
	return bounded(c.rep), nil
}

// control is one call of Control.
type control struct {
	*Bench
	req   work.ControlRequest
	watch func(work.Activity)
	out   *transcript
	rep   work.ControlReport

	until     time.Time                // of the budget; zero = it has not begun
	now       map[string]runner.Report // what was accounted for, by ask
	prepared  map[string]bool          // those of now that needed the verify commands first
	unplanted map[string]bool          // those of now beside which nothing was planted yet
	baselines map[string]baseline      // of the snapshot, by ask and its command
	product   *product                 // of the snapshot; nil = nobody looked at it yet
	met       string                   // what failed tests printed when the whole product was taken out
	noticing  *judge                   // of the snapshot; nil = nobody asked for it yet
	reading   reading
	left      left
	// What setup installed for tests alone on the commit that is judged, whether
	// that was compared with the trusted state, and whether it differed.
	nowInstalled       installed.Sums
	compared, replaced bool
	unfound            []string // marks of runners that there was no time for, none of which was found yet
	shell              *shell   // of the folder as it is now
	written            string   // the commit that the folder holds, and nothing else; "" = something ran in it
}

func (c *control) all(ctx context.Context) error {
	asks, known, err := c.count(ctx)
	if err != nil {
		return err
	}
	// The budget begins with what is not known of the trusted state already.
	c.until = time.Now().Add(c.budget(c.req.BudgetSecs))
	if err := c.makeWrong(ctx, asks, known, "", nil); err != nil {
		return err
	}
	if err := c.holdInstalled(ctx); err != nil {
		return err
	}
	if err := c.askCommands(ctx, known); err != nil {
		return err
	}
	if err := c.askOwn(ctx); err != nil {
		return err
	}
	if err := c.askAsChanged(ctx, asks, known); err != nil {
		return err
	}
	if err := c.askChanged(ctx, asks, known); err != nil {
		return err
	}
	if err := c.takeOut(ctx); err != nil {
		return err
	}
	if err := c.readBack(ctx); err != nil {
		return err
	}
	c.until = time.Now().Add(c.budget(c.req.AblateSecs))
	return c.ablate(ctx)
}

// count asks each runner of the trusted state which tests pass, there and on the
// commit that is judged.
func (c *control) count(ctx context.Context) ([]runner.Ask, []known, error) {
	asks, all, err := c.known(ctx)
	if err != nil {
		return nil, nil, err
	}
	c.now, c.prepared, c.unplanted = map[string]runner.Report{}, map[string]bool{}, map[string]bool{}
	for i, a := range asks {
		if err := c.account(ctx, a, all[i]); err != nil {
			return nil, nil, err
		}
	}
	return asks, all, nil
}

// known asks each runner of the trusted state, where that is not known already.
func (c *control) known(ctx context.Context) ([]runner.Ask, []known, error) {
	asks, err := c.find(ctx, c.req.Trusted)
	if err != nil {
		return nil, nil, err
	}
	all := make([]known, len(asks))
	for i, a := range asks {
		if all[i], err = c.calibrate(ctx, a); err != nil {
			return nil, nil, err
		}
	}
	return asks, all, nil
}

// budget is the time for what may be left out.
func (c *control) budget(secs int) time.Duration {
	if secs != 0 {
		return time.Duration(max(secs, 0)) * time.Second
	}
	return max(leastBudget, time.Duration(c.req.VerifyMillis)*time.Millisecond)
}

func (c *control) over() bool { return time.Now().After(c.until) }

func (c *control) skip(format string, args ...any) {
	c.rep.Skipped = append(c.rep.Skipped, fmt.Sprintf(format, args...))
}

func (c *control) say(format string, args ...any) {
	if c.watch != nil {
		c.watch(work.Activity{Phase: c.req.Phase, Kind: "control", Text: text.ClipLine(c.red.String(fmt.Sprintf(format, args...)), mostLine)})
	}
}

// find returns how the runners of a commit are asked.
func (c *control) find(ctx context.Context, commit string) ([]runner.Ask, error) {
	tree, err := c.files(ctx, commit)
	if err != nil {
		return nil, err
	}
	asks := runner.Find(tree, c.req.Commands)
	for i := range asks {
		asks[i].Tests = withNamed(asks[i], c.req.Tests)
	}
	if len(asks) == 0 && commit == c.req.Trusted {
		c.rep.Runners = append(c.rep.Runners, work.RunnerReport{Why: "not accounted: no test runner was recognised; no red control"})
	}
	return asks, nil
}

// withNamed returns the test files of an ask and those of named that are of the
// same kind and lie below its folder: a project may collect by patterns of its
// own.
func withNamed(ask runner.Ask, named []string) []string {
	tests := slices.Clone(ask.Tests)
	for _, f := range named {
		in := ask.Dir == "." || strings.HasPrefix(f, ask.Dir+"/")
		same := slices.ContainsFunc(ask.Tests, func(t string) bool { return path.Ext(t) == path.Ext(f) })
		if in && same && !slices.Contains(tests, f) {
			tests = append(tests, f)
		}
	}
	slices.Sort(tests)
	return tests
}

// keepDir is where what is known of trusted states is kept.
func (c *control) keepDir() string { return filepath.Join(filepath.Dir(c.cache.dir), "control") }

// writeFound writes into the log all that was found: an event names the first few.
func (c *control) writeFound() error {
	said := func(what string, names []string) error {
		for _, one := range names {
			if err := c.out.note("# " + what + ": " + text.ClipLine(one, mostLine)); err != nil {
				return err
			}
		}
		return nil
	}
	at := func(all []work.Place) (out []string) {
		for _, p := range all {
			out = append(out, strings.TrimSpace(fmt.Sprintf("%s:%d %s", p.Path, p.Line, p.Name)))
		}
		return out
	}
	idle, plain := []work.Place{}, []work.Place{}
	if a := c.rep.Ablation; a != nil {
		idle, plain = a.Idle, a.Plain
	}
	return errors.Join(
		said("lost", c.rep.Lost), said("deaf", c.rep.Deaf), said("replaced", c.rep.Replaced), said("unsteady", c.rep.Unsteady), said("loosened", c.rep.Loosened),
		said("softer", c.rep.Softened),
		said("unproven", at(c.rep.Unproven)), said("undecided", at(c.rep.Undecided)), said("unread", c.rep.Unread),
		said("not needed", at(idle)), said("only words", at(plain)), said("left out", c.rep.Skipped),
	)
}

// bounded caps the lists of a report, which goes into an event.
func bounded(r work.ControlReport) work.ControlReport {
	r.Lost, r.Deaf, r.Unsteady = names(r.Lost), names(r.Deaf), names(r.Unsteady)
	r.Loosened, r.Softened, r.Replaced = names(r.Loosened), names(r.Softened), names(r.Replaced)
	r.Unread, r.Skipped = names(r.Unread), names(r.Skipped)
	r.Unproven, r.Undecided = places(r.Unproven), places(r.Undecided)
	if r.Ablation != nil {
		r.Ablation.Idle, r.Ablation.Plain = places(r.Ablation.Idle), places(r.Ablation.Plain)
	}
	return r
}
