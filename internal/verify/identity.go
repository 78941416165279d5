package verify

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"

	"forge/internal/hidden"
	"forge/internal/proc"
	"forge/internal/warm"
	"forge/internal/work"
)

// proofRules is the version of how commands are run and judged here. A change of
// either that can make red of green, or green of red, counts it on.
const proofRules = 4

// mostIdentity bounds the files that are looked at for one identity. What has
// more cannot be told apart in the time that it would spare.
const mostIdentity = 60_000

// errTooMany says that there are more files than anybody looks at.
var errTooMany = errors.New("too many files to tell them apart")

// Identity names everything but the tree that the answer of a verify depends on,
// as far as it can be known: its commands, settings and environment, what the
// user's checkout brings, hidden checks, and the machine: kernel, packages of the
// system, each program that PATH leads to, libraries of interpreters, and Forge
// itself. Files are told apart by place, inode, size and time of change. An
// error means that a part cannot be told.
func (b *Bench) Identity(ctx context.Context, q work.ProofQuestion) (string, error) {
	req := q.Verify
	level, err := proc.Choose(req.Sandbox.How(), req.Sandbox.OnlyHosts, b.caps)
	if err != nil {
		return "", err
	}
	if level == proc.LevelContainer {
		return "", errors.New("what is in an image is not looked at: another one may have its name by now")
	}
	if len(req.Sandbox.Write) > 0 {
		return "", errors.New("commands share paths that they write to")
	}
	env := append(b.environment(insideHome, req.Env), cacheVariables(insideHome, req.Caches)...)
	slices.Sort(env)
	said, err := json.Marshal(struct {
		Rules       int
		Level       proc.Level
		Env         []string
		Commands    []string
		TimeoutSecs int
		Worktree    work.Worktree
		Sandbox     work.SandboxSettings
		OneHome     bool
		MayWrite    []string
		Caches      work.Caches
		Protected   []string
		Proof       work.ProofSettings
		ReadOnly    string
	}{proofRules, level, env, req.Commands, req.TimeoutSecs, req.Worktree, req.Sandbox, req.OneHome, req.MayWrite, req.Caches, q.Protected, q.Proof, b.readOnly(ctx, level, req)})
	if err == nil {
		said, err = withoutNothing(said)
	}
	if err != nil {
		return "", err
	}
	p := &prints{to: sha256.New(), left: mostIdentity, seen: map[string]bool{}}
	fmt.Fprintf(p.to, "%s\n", said)
	for _, part := range []func() error{
		func() error { return p.hiddenChecks(q.Proof.Hidden) },
		func() error { return b.printBrought(ctx, p, req) },
		func() error { return p.trees(req.Sandbox.Read) },
		p.machine,
		func() error { return b.printTools(p, string(level)) },
	} {
		if err := errors.Join(part(), ctx.Err()); err != nil {
			return "", err
		}
	}
	return hex.EncodeToString(p.to.Sum(nil)), nil
}

// readOnly tells proofs apart by the evidence of the trusted state that their
// commands can only read. What earlier phases brought is left out: their work is
// landed by a proof that does not know which phase brought what.
func (b *Bench) readOnly(ctx context.Context, level proc.Level, req work.VerifyRequest) string {
	req.Earlier = nil
	sum := sha256.New()
	f := b.fixedOf(ctx, level, req)
	for _, path := range f.files {
		fmt.Fprintf(sum, "%q\n", path)
	}
	for _, path := range f.watched {
		fmt.Fprintf(sum, "watched %q\n", path)
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// withoutNothing is JSON without what says nothing: a list that is empty is none in
// settings that a journal kept.
func withoutNothing(said []byte) ([]byte, error) {
	var v any
	in := json.NewDecoder(bytes.NewReader(said))
	in.UseNumber()
	if err := in.Decode(&v); err != nil {
		return nil, err
	}
	var drop func(v any) bool
	drop = func(v any) bool {
		switch v := v.(type) {
		case nil:
			return true
		case []any:
			return len(v) == 0
		case map[string]any:
			for key, part := range v {
				if drop(part) {
					delete(v, key)
				}
			}
		}
		return false
	}
	drop(v)
	return json.Marshal(v)
}

// prints gathers what tells files apart.
type prints struct {
	to   hash.Hash
	left int // files that may still be looked at
	seen map[string]bool
	line []byte      // the one written last, to be used again
	stat unix.Stat_t // of the file asked about last, to be used again
}

// file notes one file or folder, and where a link leads. What is not there is
// noted as that.
func (p *prints) file(path string) error { return p.fileAt(unix.AT_FDCWD, path, path) }

// fileAt notes the file that name is in the open folder at. As is what it is
// called in what is noted.
func (p *prints) fileAt(at int, name, as string) error {
	if p.left--; p.left < 0 {
		return errTooMany
	}
	line := strconv.AppendQuote(p.line[:0], as)
	switch err := statAt(at, name, &p.stat); {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, errNotDir):
		line = append(line, " gone"...)
	case err != nil:
		return &fs.PathError{Op: "stat", Path: as, Err: err}
	default:
		// By hand: these are thousands of lines, and formats cost as much as half
		// of asking the system.
		s := &p.stat
		for _, n := range [...]uint64{uint64(s.Mode), uint64(s.Size), uint64(s.Mtim.Nano()), uint64(s.Ctim.Nano()), s.Ino} {
			line = strconv.AppendUint(append(line, ' '), n, 10)
		}
	}
	p.line = append(line, '\n')
	_, err := p.to.Write(p.line)
	return err
}

// statAt asks the system about the file that name leads to, again where a signal
// came between.
func statAt(at int, name string, to *unix.Stat_t) error {
	for {
		if err := unix.Fstatat(at, name, to, 0); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// folder notes a folder and what stands right in it. One that is not there is
// noted as that.
func (p *prints) folder(dir string) error {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil || p.seen[real] {
		fmt.Fprintf(p.to, "%q is %q\n", dir, real)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, errNotDir) {
			err = nil
		}
		return err
	}
	p.seen[real] = true
	fmt.Fprintf(p.to, "%q is %q\n", dir, real)
	f, err := os.OpenFile(real, os.O_RDONLY|unix.O_DIRECTORY, 0)
	if errors.Is(err, errNotDir) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	names, err := f.Readdirnames(-1)
	if err != nil {
		return err
	}
	slices.Sort(names)
	// Asked from the open folder, the system need not find it again for each name.
	at := int(f.Fd())
	for _, name := range names {
		if err := p.fileAt(at, name, name); err != nil {
			return err
		}
	}
	return nil
}

// all notes what patterns match, by their names and each with what tells it apart.
func (p *prints) all(patterns ...string) error {
	for _, pattern := range patterns {
		found, err := filepath.Glob(pattern)
		if err != nil {
			return err
		}
		for _, path := range found {
			if err := p.file(path); err != nil {
				return err
			}
		}
	}
	return nil
}

// trees notes files, and folders with all that is below them.
func (p *prints) trees(paths []string) error {
	for _, top := range paths {
		real, err := filepath.EvalSymlinks(top)
		if errors.Is(err, fs.ErrNotExist) {
			fmt.Fprintf(p.to, "%q gone\n", top)
			continue
		}
		if err != nil {
			return err
		}
		err = filepath.WalkDir(real, func(path string, _ fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			return p.file(path)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// hiddenChecks notes the checks of the owner by their content.
func (p *prints) hiddenChecks(folders []string) error {
	for _, dir := range folders {
		folder, problems := hidden.Load(dir)
		if len(problems) > 0 {
			return errors.New("the hidden checks cannot be read")
		}
		fmt.Fprintf(p.to, "hidden %s\n", folder.Sum())
	}
	return nil
}

// printBrought notes what the user's checkout gives to a folder.
func (b *Bench) printBrought(ctx context.Context, p *prints, req work.VerifyRequest) error {
	w := req.Worktree
	if len(w.Copy)+len(w.Link) == 0 {
		return nil
	}
	src, err := b.openSource(ctx, req.Checkout)
	if err != nil {
		return err
	}
	defer src.root.Close()
	return errors.Join(p.brought(ctx, src, "copy", w.Copy), p.brought(ctx, src, "link", w.Link))
}

func (p *prints) brought(ctx context.Context, src *source, name string, texts []string) error {
	found, err := src.find(ctx, name, texts, nil)
	if err != nil {
		return err
	}
	var paths []string
	for _, rel := range found {
		paths = append(paths, filepath.Join(src.dir, filepath.FromSlash(rel)))
	}
	fmt.Fprintf(p.to, "%s %q\n", name, found)
	return p.trees(paths)
}

// machine notes the kernel, the packages of the system, and Forge itself.
func (p *prints) machine() error {
	var name unix.Utsname
	if err := unix.Uname(&name); err != nil {
		return err
	}
	fmt.Fprintf(p.to, "%s/%s %s %s %s\n", runtime.GOOS, runtime.GOARCH, name.Sysname, name.Release, name.Version)
	if info, ok := debug.ReadBuildInfo(); ok {
		fmt.Fprintf(p.to, "forge %s %s\n", info.GoVersion, info.Main.Version)
	}
	own, err := os.Executable()
	if err != nil {
		return err
	}
	return errors.Join(p.file(own), p.all(
		"/etc/os-release", "/etc/ld.so.cache", "/etc/localtime", "/var/lib/dpkg/status", "/lib/apk/db/installed", "/var/lib/rpm/*",
		"/var/lib/pacman/local", "/nix/var/nix/profiles/*", "/usr/local/Cellar/*", "/opt/homebrew/Cellar/*", "/var/lib/gems/*/specifications/*",
	))
}

// printTools notes every program that a command can find by its name, and the
// libraries that interpreters load from beside theirs.
func (b *Bench) printTools(p *prints, level string) error {
	tools := warm.ToolsOf(b.environ)
	fmt.Fprintf(p.to, "tools %s\n", tools.Key(b.environ, level))
	prefixes := map[string]bool{}
	for n, dir := range filepath.SplitList(variable(b.environ, "PATH")) {
		if !filepath.IsAbs(dir) {
			continue // passed over, as when a program is looked for
		}
		if err := p.folder(dir); err != nil {
			return err
		}
		prefixes[filepath.Dir(filepath.Clean(dir))] = true
		for _, real := range tools[n] {
			prefixes[filepath.Dir(filepath.Dir(real))] = true
		}
	}
	sorted := make([]string, 0, len(prefixes))
	for prefix := range prefixes {
		sorted = append(sorted, prefix)
	}
	slices.Sort(sorted)
	for _, prefix := range sorted {
		if err := p.libraries(prefix); err != nil {
			return err
		}
	}
	for _, t := range b.tools() {
		if err := p.all(filepath.Join(t.dir, "*"), filepath.Join(t.dir, "*", "*"), filepath.Join(t.dir, "*", "*", "bin", "*")); err != nil {
			return err
		}
	}
	return nil
}

// libraries notes what toolchains below a prefix load from beside their programs.
func (p *prints) libraries(prefix string) error {
	err := p.all(filepath.Join(prefix, "VERSION"), filepath.Join(prefix, "release"), filepath.Join(prefix, "pkg", "tool", "*", "*"))
	if err != nil {
		return err
	}
	// Below /usr and below / it is often one folder, with hundreds of entries.
	lib := filepath.Join(prefix, "lib")
	real, err := filepath.EvalSymlinks(lib)
	fmt.Fprintf(p.to, "%q is %q\n", lib, real)
	if err != nil || p.seen["lib "+real] {
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, errNotDir) {
			err = nil
		}
		return err
	}
	p.seen["lib "+real] = true
	pythons, err := filepath.Glob(filepath.Join(real, "python*"))
	if err != nil {
		return err
	}
	for _, python := range pythons {
		if err := p.all(filepath.Join(python, "site-packages", "*"), filepath.Join(python, "dist-packages", "*")); err != nil {
			return err
		}
	}
	return p.all(
		filepath.Join(real, "modules"),
		filepath.Join(real, "node_modules", "*", "package.json"), filepath.Join(real, "node_modules", "*", "*", "package.json"),
		filepath.Join(real, "ruby", "gems", "*", "specifications", "*"),
	)
}
