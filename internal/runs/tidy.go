package runs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"forge/internal/git"
	"forge/internal/journal"
	"forge/internal/lookup"
	"forge/internal/opened"
	"forge/internal/project"
	"forge/internal/proven"
	"forge/internal/warm"
	"forge/internal/work"
)

// sweptFolders are the folders of a run that a completed one needs no more.
func sweptFolders() []string { return []string{"phases", "verify"} }

// Sweep removes the folders that a completed run worked in; its logs stay.
func Sweep(p *project.Checkout, run string) {
	dir := p.Layout().RunDir(run)
	for _, name := range sweptFolders() {
		if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
			p.Log.Warn("remove the folders of the finished run", "err", err)
		}
	}
}

// KeepRuns is how long the folders and logs of finished runs are kept.
const KeepRuns = 30 * 24 * time.Hour

// strayFor is how long a folder of no run stays: a run may just be about to begin, and
// its row may be younger than the list that was read.
const strayFor = 24 * time.Hour

// Collect removes the folders of runs that ended before keep ago, and those of
// no run at all that nobody wrote to for a day. Runs that can be resumed keep theirs.
func Collect(ctx context.Context, p *project.Checkout, keep time.Duration, dry bool, say func(dir string, bytes int64)) (freed int64, err error) {
	runs := filepath.Join(p.State, "runs")
	// Before the runs are listed: what begins meanwhile is not among them.
	entries, err := os.ReadDir(runs)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, fmt.Errorf("list the folders of runs: %w", err)
	}
	rows, err := p.Journal.Runs(ctx)
	if err != nil {
		return 0, err
	}
	known := map[string]journal.RunRow{}
	for _, r := range rows {
		known[r.ID] = r
	}
	over := func(r journal.RunRow) bool {
		return !r.Unfinished() && !r.Alive && p.Now().Sub(r.Updated) >= keep
	}
	for _, entry := range entries {
		dir := filepath.Join(runs, entry.Name())
		r, ok := known[entry.Name()]
		switch {
		case !ok && p.Now().Sub(changedAt(dir)) < strayFor:
			continue
		case ok && !over(r):
			if !dry && r.Outcome == work.RunCompleted && !r.Alive {
				sweepLeft(ctx, p, r.ID)
			}
			continue
		}
		size := sizeOf(dir)
		if !dry {
			removed, err := whileOver(ctx, p, entry.Name(), over, func() error { return os.RemoveAll(dir) })
			if err != nil {
				return freed, fmt.Errorf("remove %s: %w", dir, err)
			}
			if !removed {
				continue
			}
		}
		freed += size
		say(dir, size)
	}
	return freed, nil
}

// CollectCaches removes what proofs are lent of tools' caches and nobody was for
// keep, the records of proofs that are older, and what old proofs opened. What is lent at the moment stays.
func CollectCaches(p *project.Checkout, keep time.Duration, dry bool, say func(dir string, bytes int64)) (freed int64, err error) {
	count := func(path string) {
		size := sizeOf(path)
		freed += size
		say(path, size)
	}
	// Nothing was used less than no time ago; 0 is how Prune is told to keep.
	err = warm.New(filepath.Join(p.State, "cache", "warm")).At(p.Now).Prune(max(keep, 1), dry, count)
	err = errors.Join(err, provenIn(p).Prune(min(keep, proven.MostAge), dry, count))
	return freed, errors.Join(err, opened.New(filepath.Join(p.State, "cache", "opened")).Prune(p.Now(), dry, count))
}

// draftsStay is how long drafts stay, however short anybody wants to keep them: an
// agent may be at work on them.
const draftsStay = 24 * time.Hour

// CollectDrafts removes what agents drafted and nobody touched for keep: folders,
// logs and drafts that came to nothing. What waits for a person (plans, interviews)
// goes as well only where all is set: nobody's work is taken away unasked.
func CollectDrafts(p *project.Checkout, keep time.Duration, all, dry bool, say func(path string, bytes int64)) (freed int64, err error) {
	old := map[string][]string{} // what belongs to one draft, by its name
	for _, pattern := range []string{"drafts/*", "interviews/*", "draft-*.json"} {
		found, err := filepath.Glob(filepath.Join(globSafe(p.State), pattern))
		if err != nil {
			return 0, fmt.Errorf("list drafts: %w", err)
		}
		for _, path := range found {
			if all || !waitsForPerson(path) {
				name, _, _ := strings.Cut(filepath.Base(path), ".")
				name = filepath.Join(filepath.Dir(path), name)
				old[name] = append(old[name], path)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(old)) {
		young := slices.ContainsFunc(old[name], func(path string) bool {
			return p.Now().Sub(changedAt(path)) < max(keep, draftsStay)
		})
		if young {
			continue
		}
		for _, path := range old[name] {
			size := sizeOf(path)
			if !dry {
				if err := os.RemoveAll(path); err != nil {
					return freed, fmt.Errorf("remove %s: %w", path, err)
				}
			}
			freed += size
			say(path, size)
		}
	}
	return freed, nil
}

// waitsForPerson says whether a file among drafts is one that a person is to look at.
func waitsForPerson(path string) bool {
	name := filepath.Base(path)
	return filepath.Base(filepath.Dir(path)) == "interviews" || name == "phases.json" || strings.HasPrefix(name, "d-") && strings.HasSuffix(name, ".json")
}

// globSafe is a path as a pattern that means just it.
func globSafe(path string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(path)
}

// changedAt is when a file, or the newest one below a folder, was written.
func changedAt(path string) (newest time.Time) {
	_ = filepath.WalkDir(path, func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil
		}
		if info, err := d.Info(); err == nil && info.ModTime().After(newest) {
			newest = info.ModTime()
		}
		return nil
	})
	return newest
}

// TidyAfter gives back what a run held that ended so: what kept its base, and the
// folders that it worked in. What it left is read for the search. What fails is logged.
func TidyAfter(ctx context.Context, p *project.Checkout, repo *git.Store, run string, end work.RunFinishedData) {
	if end.Outcome.Final() {
		if err := repo.DropBase(ctx, run); err != nil {
			p.Log.Warn("drop the ref that kept the base", "err", err)
		}
	}
	if end.Outcome == work.RunCompleted {
		Sweep(p, run)
	}
	lookup.AtEnd(ctx, p)
}

// TidyOld removes what is left of old runs. What fails is logged. One call at a
// time is enough in a process.
func TidyOld(ctx context.Context, p *project.Checkout, repo *git.Store) {
	if err := DropBases(ctx, p, repo); err != nil {
		p.Log.Warn("drop the refs that kept the bases of earlier runs", "err", err)
	}
	if _, err := Collect(ctx, p, KeepRuns, false, func(string, int64) {}); err != nil {
		p.Log.Warn("tidy up after old runs", "err", err)
	}
	if _, err := CollectCaches(p, KeepRuns, false, func(string, int64) {}); err != nil {
		p.Log.Warn("tidy up old caches", "err", err)
	}
	if _, err := CollectDrafts(p, KeepRuns, false, false, func(string, int64) {}); err != nil {
		p.Log.Warn("tidy up old drafts", "err", err)
	}
	if _, err := repo.Pack(ctx, false); err != nil && ctx.Err() == nil {
		p.Log.Warn("pack Forge's own repository", "err", err)
	}
}

// TidyRepository settles what a Forge that died had begun in the user's
// repository, drops what it kept there for runs that are over, and packs Forge's own.
func TidyRepository(ctx context.Context, p *project.Checkout) error {
	repo, err := git.Open(ctx, git.Config{StateDir: p.State, Root: p.Base.RepoRoot, Environ: p.Environ})
	if err != nil {
		return err
	}
	p.Settle(ctx, repo)
	if err := DropBases(ctx, p, repo); err != nil {
		return err
	}
	_, err = repo.Pack(ctx, true)
	return err
}

// DropBases drops the references that kept the bases of runs which are over:
// Forge may have died between the end of a run and that. Runs that this project
// does not know are another's.
func DropBases(ctx context.Context, p *project.Checkout, repo *git.Store) error {
	kept, err := repo.KeptBases(ctx)
	if err != nil || len(kept) == 0 {
		return err
	}
	rows, err := p.Journal.Runs(ctx)
	if err != nil {
		return err
	}
	over := func(r journal.RunRow) bool { return !r.Unfinished() && !r.Alive }
	for _, r := range rows {
		if over(r) && slices.Contains(kept, r.ID) {
			if _, err := whileOver(ctx, p, r.ID, over, func() error { return repo.DropBase(ctx, r.ID) }); err != nil {
				return err
			}
		}
	}
	return nil
}

// sweepLeft sweeps after a process that died when its run was completed and its
// folders were still there. Nobody else has the run meanwhile.
func sweepLeft(ctx context.Context, p *project.Checkout, run string) {
	left := slices.ContainsFunc(sweptFolders(), func(name string) bool {
		_, err := os.Lstat(filepath.Join(p.Layout().RunDir(run), name))
		return err == nil
	})
	if !left {
		return
	}
	completed := func(r journal.RunRow) bool { return r.Outcome == work.RunCompleted && !r.Alive }
	_, err := whileOver(ctx, p, run, completed, func() error {
		Sweep(p, run)
		return nil
	})
	if err != nil {
		p.Log.Warn("remove the folders of a completed run", "run", run, "err", err)
	}
}

// whileOver does what may be done to a run that is over, unless somebody has it: it may have
// begun, or have been taken up again, since it was listed. Nobody takes it up meanwhile.
func whileOver(ctx context.Context, p *project.Checkout, run string, over func(journal.RunRow) bool, do func() error) (done bool, err error) {
	switch r, err := p.Journal.RunOf(ctx, run); {
	case errors.Is(err, journal.ErrNoRun):
		return true, do()
	case err != nil || !over(r):
		return false, err
	}
	lease, err := p.Journal.AcquireRun(ctx, run, journal.Self())
	if err != nil {
		if errors.Is(err, journal.ErrLease) || errors.Is(err, journal.ErrAway) {
			err = nil // somebody has it
		}
		return false, err
	}
	defer func() { err = errors.Join(err, lease.Release(context.WithoutCancel(ctx))) }()
	defer lease.Keep(ctx)() // a large folder takes longer to remove than a lease holds by itself
	r, err := p.Journal.RunOf(ctx, run)
	r.Alive = false // by this lease
	if err != nil || !over(r) {
		return false, err
	}
	return true, do()
}

// sizeOf counts the bytes of the files below dir; what cannot be read counts
// as nothing.
func sizeOf(dir string) (bytes int64) {
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil
		}
		if info, err := d.Info(); err == nil && info.Mode().IsRegular() {
			bytes += info.Size()
		}
		return nil
	})
	return bytes
}
