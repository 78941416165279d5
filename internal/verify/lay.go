package verify

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"forge/internal/filetree"
	"forge/internal/proc"
	"forge/internal/warm"
)

// laid is an entry of the setup cache that lies below the folder and the home of
// commands, instead of being copied into them. Nobody can write to it there:
// what a command changes of it is in its own folder, over it. The entry stays
// until giveBack, whoever prunes.
type laid struct {
	dir          string                   // the folder it lies below
	folder, home string                   // of the entry; "" = there is nothing for it
	files        map[string]filetree.Node // of the folder, by path
	held         *os.File
}

// lay holds the entry of key for an overlay below dir. It is nil when there is
// none, and when a stamp differs: then only its sums can tell, which are asked
// while it is copied.
func (c *cache) lay(key, dir string) (*laid, error) {
	entry := filepath.Join(c.dir, key)
	held, err := os.Open(entry)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	l := &laid{dir: dir, held: held, files: map[string]filetree.Node{}}
	if !l.holds(entry) {
		l.giveBack()
		return nil, nil
	}
	m, err := readManifest(entry)
	if err != nil || !m.whole(entry) {
		l.giveBack()
		return nil, nil
	}
	for _, n := range m.Areas[folderArea] {
		l.files[n.Path] = n
	}
	if len(l.files) > 0 {
		l.folder = filepath.Join(entry, folderArea)
	}
	if len(m.Areas[homeArea]) > 0 {
		l.home = filepath.Join(entry, homeArea)
	}
	markUsed(entry)
	return l, nil
}

// holds takes the lock of the entry; false when it is being removed.
func (l *laid) holds(entry string) bool {
	if syscall.Flock(int(l.held.Fd()), syscall.LOCK_SH|syscall.LOCK_NB) != nil {
		return false
	}
	// It may have been removed, and its name be another's, before the lock.
	mine, err := l.held.Stat()
	if err != nil {
		return false
	}
	there, err := os.Stat(entry)
	return err == nil && os.SameFile(mine, there)
}

// giveBack lets the entry go. A nil laid has nothing.
func (l *laid) giveBack() {
	if l != nil {
		filetree.Release(l.held)
	}
}

// whole says that nothing of the entry was touched since it was made: no file,
// and no folder, so that nothing was added either.
func (m manifest) whole(entry string) bool {
	for _, area := range [...]string{folderArea, homeArea} {
		nodes, ok := m.Areas[area]
		stamps := m.Stamps[area]
		if !ok || len(stamps) != len(nodes)+1 {
			return false
		}
		top := filepath.Join(entry, area)
		for i, was := range stamps {
			at := top
			if i > 0 {
				at = filepath.Join(top, filepath.FromSlash(nodes[i-1].Path))
			}
			if info, err := os.Lstat(at); err != nil || was.Changed == 0 || stampOf(info) != was {
				return false
			}
		}
	}
	return true
}

// untouched says of a file of an area whether its stamp is what it was.
func (m manifest) untouched(area string) func(filetree.Node, fs.FileInfo) bool {
	nodes, stamps := m.Areas[area], m.Stamps[area]
	if len(stamps) != len(nodes)+1 {
		return nil
	}
	was := make(map[string]stamp, len(nodes))
	for i, n := range nodes {
		was[n.Path] = stamps[i+1]
	}
	return func(n filetree.Node, info fs.FileInfo) bool {
		s, ok := was[n.Path]
		return ok && s.Changed != 0 && stampOf(info) == s
	}
}

// finish gives what was kept its rights and times, so that it can lie below a
// folder as it is, and returns the stamps of dir and of all. Rights of the owner
// stay, by which all of it can be read and removed.
func finish(dir string, all []filetree.Node) ([]stamp, error) {
	at := func(n filetree.Node) string { return filepath.Join(dir, filepath.FromSlash(n.Path)) }
	for _, n := range slices.Backward(all) {
		if n.Mode&fs.ModeSymlink != 0 {
			continue
		}
		mode := n.Mode.Perm() | 0o400
		if n.Mode.IsDir() {
			mode |= 0o700
		}
		if err := errors.Join(os.Chmod(at(n), mode), os.Chtimes(at(n), n.Time, n.Time)); err != nil {
			return nil, err
		}
	}
	stamps := make([]stamp, 0, len(all)+1)
	for i := range len(all) + 1 {
		path := dir
		if i > 0 {
			path = at(all[i-1])
		}
		info, err := os.Lstat(path)
		if err != nil {
			return nil, err
		}
		stamps = append(stamps, stampOf(info))
	}
	return stamps, nil
}

// overlaid says that the home of the commands is not a copy.
func (s *shell) overlaid() bool { return s.lent != nil && (s.lent.over || s.laid != nil) }

// view is the sandbox of the next command: with what lies below its folder and
// its home, and with what it can only read.
func (s *shell) view() (*proc.Sandbox, error) {
	kept := s.fixed.box(s.top)
	if !s.overlaid() && kept == nil {
		return s.box, nil
	}
	box := *s.box
	box.Overlays, box.Fixed = slices.Clone(box.Overlays), kept
	if !s.overlaid() {
		return &box, nil
	}
	for _, o := range s.overlays() {
		// The kernel wants it empty.
		if err := errors.Join(filetree.RemoveAll(o.Work), os.Mkdir(o.Work, 0o700)); err != nil {
			return nil, err
		}
		box.Overlays = append(box.Overlays, o)
	}
	return &box, nil
}

func (s *shell) overlays() (all []proc.Overlay) {
	if s.laid != nil && s.laid.folder != "" {
		all = append(all, proc.Overlay{Dir: s.laid.dir, Lower: []string{s.laid.folder}, Work: workOf(s.laid.dir)})
	}
	var lower []string
	if s.lent.aside {
		lower = append(lower, keptHome(s.home))
	}
	if s.laid != nil && s.laid.home != "" {
		lower = append(lower, s.laid.home)
	}
	if s.lent.over {
		if dir := s.lent.loan.Below(warm.Home); dir != "" {
			lower = append(lower, dir)
		}
	}
	if len(lower) > 0 {
		all = append(all, proc.Overlay{Dir: s.home, Lower: lower, Work: workOf(s.home)})
	}
	return all
}
