// Package verify makes fresh folders ready for work and runs a project's own
// verify commands on exactly one commit, in a folder that no agent ever sees.
//
// # What a verify command can reach
//
// It runs under the agent's sandbox: its folder and a home of its own are
// writable, tool chains and what [sandbox] names are readable, the state
// folder is hidden. Its environment is the short list of proc.BaseEnv without
// any credential. Each command has a home of its own, dropped with the folder,
// so nothing that the agent's code writes during one command (a forged test
// cache, a configuration file) is there in the next one. It starts with what
// the setup commands left in theirs, over the caches of tools that proofs of
// accepted work filled and no others (internal/warm); paths of [sandbox] read and write that
// lie under the user's home stand at the same place in it, which is how an
// owner shares a build cache who accepts that. No name that a command sees
// tells that Forge runs it, so that nothing can behave better for it.
//
// # What a command may do to the tree
//
// Build, and no more. After each command its leftover processes are ended and
// every tracked file is held against the commit: a difference ends the verify
// as disturbed. What a command left that the next one could load as part of its
// judgement (tests, settings, start-up files, byte code) is taken out.
package verify

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"forge/internal/filetree"
	"forge/internal/opened"
	"forge/internal/proc"
	"forge/internal/redact"
	"forge/internal/warm"
	"forge/internal/work"
)

// DefaultTimeout bounds each command for which nothing else is configured.
const DefaultTimeout = 600 * time.Second

// Checkout writes the files of a commit. It is called for different folders
// at once, never twice for the same.
type Checkout interface {
	// Materialize makes dir, or changes it, so that it holds exactly the
	// files of commit, without a .git.
	Materialize(ctx context.Context, dir, commit string) error
}

// Bench sets folders up and verifies commits in them. It may be used for
// several folders at once.
type Bench struct {
	checkout Checkout
	caps     proc.Capabilities
	environ  []string
	cache    *cache
	warm     *warm.Store
	red      *redact.Redactor
	told     told
	opened   opened.Store

	mu       sync.Mutex
	building map[string]chan struct{} // one setup per cache key at a time
	overlaid map[string]bool          // whether overlays work, by folder
	// unmounted says why single files cannot be mounted, by folder; "" = they can
	unmounted map[string]string
}

// New returns a bench. environ is Forge's own environment; the results of
// setup are kept in cacheDir/setup, the caches of tools in cacheDir/warm, and
// which files green proofs opened in cacheDir/opened, which are made when
// needed and must be out of every agent's reach. A nil red hides nothing.
func New(co Checkout, caps proc.Capabilities, environ []string, cacheDir string, red *redact.Redactor) *Bench {
	if red == nil {
		red = redact.New(nil)
	}
	return &Bench{
		checkout: co,
		caps:     caps,
		environ:  append([]string(nil), environ...),
		cache:    &cache{dir: filepath.Join(cacheDir, "setup")},
		warm:     warm.New(filepath.Join(cacheDir, "warm")),
		opened:   opened.New(filepath.Join(cacheDir, "opened")),
		red:      red,
		overlaid: map[string]bool{},
		building: map[string]chan struct{}{},

		unmounted: map[string]string{},
	}
}

// Setup makes the fresh folder req.Dir ready for work: copies, links, then
// the setup commands, or what they produced when they last ran for the same
// cache key. Setup that fails is a report that is not OK, with the output of
// the command; an error means that it could not be judged.
//
// The folder must hold accepted work only, and must not have been set up
// before: what the commands add to it is what later folders are given.
func (b *Bench) Setup(ctx context.Context, req work.SetupRequest) (work.CommandsReport, error) {
	out, err := openTranscript("", b.red)
	if err != nil {
		return work.CommandsReport{}, err
	}
	sh, rep, err := b.open(ctx, folder{
		dir: req.Dir, checkout: req.Checkout, accepted: true,
		phase: req.Phase, mark: req.Mark, out: out,
		worktree: req.Settings, sandbox: req.Sandbox, hide: req.Hide, caches: req.Caches,
	})
	sh.close()
	dropHome(homeOf(req.Dir))
	if err != nil {
		return rep, orCancelled(ctx, fmt.Errorf("set up %s: %w", req.Dir, err))
	}
	return rep, nil
}

// Verify runs req.Commands on exactly req.Commit in req.Dir, which is made
// anew and dropped afterwards. Each runs by sh -c, in order, until one fails;
// every exit code but 0, a signal and a timeout are failures. Setup that fails
// is a failure as well. An error, which is ctx's own when it was cancelled,
// means that the commit could not be judged and is neither red nor green. Of
// req.Evidence the commands can read, where the sandbox can see to that, and no
// more; how much of it the report says. A
// nil watch is fine; it is called from the caller's goroutine.
func (b *Bench) Verify(ctx context.Context, req work.VerifyRequest, watch func(work.Activity)) (work.CommandsReport, error) {
	rep, err := b.verify(ctx, req, nil, watch)
	if err == nil && !rep.OK && req.Base == req.Commit && rep.ReadOnly != nil && (rep.ReadOnly.Files > 0 || rep.Disturbed != "") {
		rep, err = b.onBase(ctx, req, rep, watch)
	}
	if err != nil {
		return rep, orCancelled(ctx, fmt.Errorf("verify %s: %w", req.Commit, err))
	}
	return rep, nil
}

// verify runs the commands on the commit with the files of over laid on it.
func (b *Bench) verify(ctx context.Context, req work.VerifyRequest, over map[string][]byte, watch func(work.Activity)) (work.CommandsReport, error) {
	var none work.CommandsReport
	if len(req.Commands) == 0 {
		return none, errors.New("there are no verify commands")
	}
	out, err := openTranscript(req.LogPath, b.red)
	if err != nil {
		return none, err
	}
	defer func() { _ = out.Close() }() // the way out with an error; else it is closed by then
	var took work.ProofTime
	began := time.Now()
	since := func() int64 {
		now := time.Now()
		millis := now.Sub(began).Milliseconds()
		began = now
		return millis
	}
	// Removed here and not left to the checkout: whatever the last verify did
	// to the folder, this one starts from nothing.
	if err := filetree.RemoveAll(req.Dir); err != nil {
		return none, err
	}
	if err := b.checkout.Materialize(ctx, req.Dir, req.Commit); err != nil {
		return none, err
	}
	defer func() {
		// What stays is removed by the next call, which fails if it cannot.
		_ = filetree.RemoveAll(req.Dir)
		_ = filetree.RemoveAll(workOf(req.Dir))
		_ = filetree.RemoveAll(outOf(req.Dir))
		dropHome(homeOf(req.Dir))
	}()
	if err := writeOver(req.Dir, over); err != nil {
		return none, err
	}
	hears, tree, err := b.listensTo(req)
	if err != nil {
		return none, err
	}
	var seen *trace
	if over == nil {
		if seen, err = newTrace(req.Dir); err != nil {
			return none, err
		}
	}
	judge, err := b.newGuard(req.Dir, req.Commit, req.MayWrite)
	if problem := (*settingError)(nil); errors.As(err, &problem) {
		return work.CommandsReport{Problem: "verify: " + problem.Error()}, nil
	}
	if err != nil {
		return none, err
	}
	took.FolderMillis = since()
	sh, rep, err := b.open(ctx, folder{
		dir: req.Dir, checkout: req.Checkout, env: req.Env,
		phase: req.Phase, mark: req.Mark, out: out, watch: watch,
		worktree: req.Worktree, sandbox: req.Sandbox, hide: req.Hide, caches: req.Caches, fills: req.Accepted,
	})
	defer sh.close()
	took.SetupMillis, took.Cold = since(), sh != nil && sh.lent.empty()
	if err == nil && rep.OK {
		sh.sayCold()
		sh.kind, sh.timeout, sh.listens = "verify", timeout(req.TimeoutSecs), hears
		sh.fixed, sh.top = b.fixedOf(ctx, sh.level(), req).in(req.Dir), req.Dir
		if seen != nil {
			seen.begin()
		}
		rep, err = sh.prove(ctx, judge, req.Commands, req.OneHome)
		took.RunMillis, rep.ReadOnly = since(), sh.fixed.said()
		if seen != nil && err == nil && rep.OK {
			b.keepOpened(ctx, req.Commit, seen, sh.fixed.files)
		}
	}
	if err == nil && rep.OK {
		err = b.keepTold(hears, tree, surroundings{req.Commands, req.Worktree, req.Sandbox, req.Env, req.Caches, req.Checkout})
	}
	rep.Time = &took
	if err == nil && rep.OK {
		err = b.fill(ctx, sh, "verify "+req.Commit+" "+strings.Join(req.Commands, "; "))
	}
	if err == nil {
		err = out.Close()
	}
	return rep, err
}

// folder is one folder that is to be made ready.
type folder struct {
	dir, checkout, phase, mark string

	env      []string // names let through
	worktree work.Worktree
	sandbox  work.SandboxSettings
	hide     []string
	caches   work.Caches
	accepted bool // the content is the run's own, not one agent's
	fills    bool // what the commands leave in caches of tools is kept
	out      *transcript
	watch    func(work.Activity)
}

// open makes f ready for work and returns the shell for its commands. The
// report is OK when everything worked.
func (b *Bench) open(ctx context.Context, f folder) (*shell, work.CommandsReport, error) {
	var rep work.CommandsReport
	level, err := proc.Choose(f.sandbox.How(), f.sandbox.OnlyHosts, b.caps)
	if err != nil {
		return nil, rep, err
	}
	rep.Sandbox = string(level)
	home := homeOf(f.dir)
	if err := b.makeHome(home, f.sandbox); err != nil {
		return nil, rep, err
	}
	in, err := b.bring(ctx, f.checkout, f.dir, f.worktree)
	if problem := (*settingError)(nil); errors.As(err, &problem) {
		rep.Problem = "worktree setup: " + problem.Error()
		return nil, rep, nil
	}
	if err != nil {
		return nil, rep, err
	}
	at := seatsOf(level, f.dir, home)
	borrowed, err := b.lend(ctx, level, f, home)
	if err != nil {
		return nil, rep, err
	}
	sh := &shell{
		dir: f.dir, home: home, lent: borrowed, fills: f.fills, mark: f.mark,
		env:   append(inImage(level, b.environment(at.home, f.env)), cacheVariables(at.home, f.caches)...),
		box:   b.sandbox(level, at, f.sandbox, slices.Concat(f.hide, f.sandbox.Hide), in.targets),
		phase: f.phase, kind: "setup", timeout: timeout(f.worktree.TimeoutSecs),
		out: f.out, watch: f.watch, red: b.red,
	}
	sh.hosts = bound(sh.box, f.sandbox)
	rep, err = b.setUp(ctx, sh, f, home, in.print)
	return sh, rep, err
}

// setUp runs the setup commands, or restores what they produced.
func (b *Bench) setUp(ctx context.Context, sh *shell, f folder, home, brought string) (work.CommandsReport, error) {
	hit := work.CommandsReport{OK: true, Sandbox: string(sh.level())}
	if len(f.worktree.Setup) == 0 {
		return hit, nil
	}
	key, err := cacheKey(f.dir, f.worktree, brought+madeIn(proc.Level(""), f.sandbox))
	if err != nil {
		return work.CommandsReport{}, err
	}
	if key == "" {
		return sh.run(ctx, f.worktree.Setup)
	}
	free, err := b.alone(ctx, key)
	if err != nil {
		return work.CommandsReport{}, err
	}
	defer free()
	if b.lays(ctx, sh, f) {
		if sh.laid, err = b.cache.lay(key, f.dir); err != nil || sh.laid != nil {
			return hit, err
		}
	}
	areas := []area{{name: folderArea, dir: f.dir}, {name: homeArea, dir: home}}
	if found, err := b.cache.restore(ctx, key, areas); found || err != nil {
		return hit, err
	}
	for i := range areas {
		if areas[i].before, err = filetree.List(areas[i].dir); err != nil {
			return work.CommandsReport{}, err
		}
	}
	rep, err := sh.run(ctx, f.worktree.Setup)
	// An agent's commit never feeds the cache: what its scripts do to a
	// package folder would outlive the commit that did it.
	if err == nil && rep.OK && f.accepted {
		// A result that cannot be kept costs the next folder time, no more.
		_ = b.cache.store(ctx, key, areas)
	}
	return rep, err
}

// lays says whether what setup made can lie below the folder: that of a proof,
// which is dropped with what its commands change, where overlays work and the
// owner wants caches to be lent at all.
func (b *Bench) lays(ctx context.Context, sh *shell, f folder) bool {
	return !f.accepted && sh.lent != nil && b.overlays(ctx, sh.level(), filepath.Dir(f.dir))
}

// alone waits until no other folder is being set up for key, so that of
// several phases that start together one works and the others are given.
func (b *Bench) alone(ctx context.Context, key string) (free func(), err error) {
	b.mu.Lock()
	turn, ok := b.building[key]
	if !ok {
		turn = make(chan struct{}, 1)
		b.building[key] = turn
	}
	b.mu.Unlock()
	select {
	case turn <- struct{}{}:
		return func() { <-turn }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// orCancelled returns ctx's error when it was cancelled: what went wrong after
// that is its consequence.
func orCancelled(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

func timeout(secs int) time.Duration {
	if secs <= 0 {
		return DefaultTimeout
	}
	return time.Duration(secs) * time.Second
}
