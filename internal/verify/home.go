package verify

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"forge/internal/filetree"
	"forge/internal/proc"
	"forge/internal/text"
	"forge/internal/warm"
	"forge/internal/work"
)

// workOf is where the kernel works while a folder or a home lies over others.
func workOf(dir string) string { return filepath.Clean(dir) + ".work" }

// leftHome is where what a command left in its home waits to be kept.
func leftHome(home string, n int) string { return fmt.Sprintf("%s.left-%d", home, n) }

// dropHome removes a home and what was made beside it. What stays is removed by
// the next call, which fails if it cannot.
func dropHome(home string) {
	_ = filetree.RemoveAll(home)
	_ = filetree.RemoveAll(keptHome(home))
	_ = filetree.RemoveAll(workOf(home))
	left, _ := filepath.Glob(leftHome(home, 0)[:len(leftHome(home, 0))-1] + "*")
	for _, dir := range left {
		_ = filetree.RemoveAll(dir)
	}
}

// lent is what the commands of one folder are lent of the project's caches. A
// command that ran on anything but accepted work has written to its own home
// alone, so that nothing it did is there for another.
type lent struct {
	key    string
	places []warm.Place
	loan   *warm.Loan // nil = nothing was kept yet
	over   bool       // the loan lies below the home, which is not a copy then
	aside  bool       // what setup left was put aside, and lies below the home
	left   int        // homes that commands left, when they are to be kept
}

// lend lends what there is. Without it a command takes longer and says the same,
// so that a failure to lend is none to judge.
func (b *Bench) lend(ctx context.Context, level proc.Level, f folder, home string) (*lent, error) {
	if f.caches.Off {
		return nil, nil
	}
	l := &lent{key: warm.Key(b.environ, madeIn(level, f.sandbox)), places: placesOf(f.caches)}
	// What setup makes is kept by itself, and has to be whole then.
	if f.accepted && len(f.worktree.CacheKey) > 0 {
		return l, nil
	}
	var err error
	if l.loan, err = b.warm.Lend(l.key, f.fills); err != nil || l.loan == nil {
		return l, nil
	}
	if l.over = b.overlays(ctx, level, filepath.Dir(home)); l.over {
		return l, nil
	}
	if err := l.loan.CopyTo(ctx, warm.Home, home); err != nil {
		l.giveBack()
		return l, errors.Join(ctx.Err(), b.makeHome(home, f.sandbox))
	}
	return l, nil
}

// madeIn tells apart what was made at different levels, and in different images: what
// is built for the libraries of one does not run with those of another.
func madeIn(level proc.Level, s work.SandboxSettings) string {
	if s.Container.Image == "" {
		return string(level)
	}
	return string(level) + " " + s.Container.Runtime + " " + s.Container.Image
}

// empty says that nothing was there to be lent. A nil lent is what its owner
// asked for.
func (l *lent) empty() bool { return l != nil && l.loan == nil }

// giveBack gives back what was lent. A nil lent has nothing.
func (l *lent) giveBack() {
	if l != nil {
		l.loan.Return()
		l.loan, l.over = nil, false
	}
}

// overlays says whether folders can be laid over each other where parent is.
func (b *Bench) overlays(ctx context.Context, level proc.Level, parent string) bool {
	if level != proc.LevelBubblewrap {
		return false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	works, tried := b.overlaid[parent]
	if !tried {
		works = proc.TryOverlay(ctx, parent) == nil
		if ctx.Err() == nil {
			b.overlaid[parent] = works
		}
	}
	return works
}

// keepHome puts the home aside as it is before the first command.
func (s *shell) keepHome(ctx context.Context) error {
	if !s.overlaid() {
		return copyHome(ctx, s.home, keptHome(s.home))
	}
	if err := filetree.RemoveAll(keptHome(s.home)); err != nil {
		return err
	}
	s.lent.aside = true
	return errors.Join(os.Rename(s.home, keptHome(s.home)), os.Mkdir(s.home, 0o700))
}

// freshHome makes the home of the next command as it was before the first.
func (s *shell) freshHome(ctx context.Context) error {
	err := s.leaveHome()
	switch {
	case err != nil:
	case s.overlaid():
		err = os.Mkdir(s.home, 0o700)
	default:
		err = copyHome(ctx, keptHome(s.home), s.home)
	}
	if err != nil {
		return fmt.Errorf("make the home of the next command: %w", err)
	}
	return nil
}

// leaveHome drops what the last command left in its home, or puts it aside when
// it is to be kept.
func (s *shell) leaveHome() error {
	if !s.fills || s.lent == nil {
		return filetree.RemoveAll(s.home)
	}
	to := leftHome(s.home, s.lent.left)
	s.lent.left++
	return errors.Join(filetree.RemoveAll(to), os.Rename(s.home, to))
}

// fill keeps what commands on accepted work left in the caches. What cannot be
// kept costs the next proof time, no more, and is said in the output.
func (b *Bench) fill(ctx context.Context, sh *shell, mark string) error {
	l := sh.lent
	if l == nil || !sh.fills || ctx.Err() != nil {
		return nil
	}
	homes := []string{sh.home}
	for n := range l.left {
		homes = append(homes, leftHome(sh.home, l.left-1-n))
	}
	if l.aside {
		homes = append(homes, keptHome(sh.home))
	}
	if sh.laid != nil && sh.laid.home != "" {
		homes = append(homes, sh.laid.home)
	}
	if err := b.warm.Keep(ctx, l.key, l.loan, mark, l.places, []warm.Left{{Area: warm.Home, Dirs: homes}}); err != nil {
		return sh.out.note("# caches were not kept: " + text.ClipLine(err.Error(), mostLine))
	}
	return nil
}

// placesOf are the caches of a project: those of known tools, and its own.
func placesOf(c work.Caches) []warm.Place {
	all := warm.Known()
	for _, text := range c.Also {
		if p, _ := ownCache(text); p.Dir != "" {
			all = append(all, p)
		}
	}
	return all
}

// ownCache reads one word of [verify] cache: "~/path", a path below the home, or
// the name of a variable that a cache is found by, which gets a place there.
func ownCache(text string) (place warm.Place, variable string) {
	if rest, ok := strings.CutPrefix(text, "~/"); ok {
		return warm.Place{Area: warm.Home, Dir: filepath.ToSlash(filepath.Clean(rest))}, ""
	}
	return warm.Place{Area: warm.Home, Dir: ".cache/" + strings.ReplaceAll(strings.ToLower(text), "_", "-")}, text
}

// cacheVariables say where the caches stand that are found by a variable.
func cacheVariables(home string, c work.Caches) (env []string) {
	for _, text := range c.Also {
		if p, name := ownCache(text); name != "" && !c.Off {
			env = append(env, name+"="+filepath.Join(home, filepath.FromSlash(p.Dir)))
		}
	}
	return env
}
