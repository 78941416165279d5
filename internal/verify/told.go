package verify

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"forge/internal/filetree"
	"forge/internal/runner"
	"forge/internal/work"
)

// A verify command that plainly is a runner's own call says in its one run which
// tests passed as well. What it said is kept in memory, by everything that it was
// said of, until the control of the same tree asks. It is taken once; without it
// the runner is run again, as for wrappers and scripts.

// mostTold bounds the answers that wait: of proofs that no control follows.
const mostTold = 32

// told are answers of runners that no control has asked for yet.
type told struct {
	mu    sync.Mutex
	all   map[string]runner.Report
	order []string
}

func (t *told) keep(key string, rep runner.Report) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, known := t.all[key]; !known {
		t.order = append(t.order, key)
	}
	if t.all == nil {
		t.all = map[string]runner.Report{}
	}
	t.all[key] = rep
	for len(t.all) > mostTold {
		delete(t.all, t.order[0])
		t.order = t.order[1:]
	}
}

func (t *told) take(key string) (runner.Report, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	rep, ok := t.all[key]
	delete(t.all, key)
	for i, k := range t.order {
		if k == key {
			t.order = append(t.order[:i:i], t.order[i+1:]...)
			break
		}
	}
	return rep, ok
}

// toldBy names an answer: the tree, how it was asked, and all that decides how
// the commands of a verify and the runs of a control are carried out.
func (b *Bench) toldBy(tree, asked string, said any) (string, error) {
	text, err := json.Marshal(struct {
		Tree, Asked, Tools string
		Said               any
	}{tree, asked, toolPrint(b.environ, asked), said})
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), nil
}

// surroundings are the settings that a verify and the control after it share.
type surroundings struct {
	Commands []string
	Worktree work.Worktree
	Sandbox  work.SandboxSettings
	Env      []string
	Caches   work.Caches
	Checkout string
}

// listens is what a shell needs to note what runners say while they are verify
// commands.
type listens struct {
	said     map[string]runner.Report // by the command of the ask
	answered func(asked string) bool
}

// hears says whether the next command may say what passes: only in a folder and
// a home in which nothing of the product ran before.
func (s *shell) hears(g *guard, first, oneHome bool) (bool, error) {
	if s.listens == nil || first {
		return s.listens != nil, nil
	}
	if oneHome {
		return false, nil
	}
	return g.untouched()
}

// runCommand runs a verify command. One that is a runner's own call is asked
// what passes in the same run, where hears says so.
func (s *shell) runCommand(ctx context.Context, command string, hears bool) (work.CommandReport, string, error) {
	if !hears {
		return s.runOne(ctx, command)
	}
	own, ok := runner.OwnCall(command, folderTree{root: s.dir}.text)
	kind, known := runner.Lookup(own.Runner)
	if !ok || !known || !s.listens.answered(own.Asked) || own.Plugin && isolated(s.env, own.Program) {
		return s.runOne(ctx, command)
	}
	out, err := makeOut(s.dir, own.Files)
	if err != nil {
		return work.CommandReport{}, "", err
	}
	one, inside := s.withOut(out)
	var files map[string][]byte
	rep, problem, err := one.runAs(ctx, command, asked(own.Command, inside), func() (string, error) {
		var err error
		if files, err = readOut(out); err != nil || own.Said == nil {
			return "", err
		}
		return own.Said(files), nil
	})
	if err == nil && rep.OK {
		parse := kind.Parse
		if own.Parse != nil {
			parse = own.Parse
		}
		s.listens.said[own.Asked] = parse(files)
	}
	return rep, problem, err
}

// isolated says that a program is a script whose interpreter takes no modules from
// elsewhere.
func isolated(environ []string, program string) bool {
	for _, dir := range filepath.SplitList(variable(environ, "PATH")) {
		f, err := os.Open(filepath.Join(dir, program))
		if err != nil {
			continue
		}
		head := make([]byte, 200)
		n, _ := io.ReadFull(f, head) // what is shorter is read whole
		_ = f.Close()
		first, _, _ := strings.Cut(string(head[:n]), "\n")
		if !strings.HasPrefix(first, "#!") {
			return false
		}
		return slices.ContainsFunc(strings.Fields(first), func(w string) bool { return strings.HasPrefix(w, "-") && strings.ContainsAny(w, "IE") })
	}
	return false
}

// makeOut makes the folder for what one run of a runner writes, out of the tree
// at dir. Its name is drawn anew each time: product shall not know where a report
// stands before it is asked.
func makeOut(dir string, files map[string]string) (string, error) {
	top := outOf(dir)
	if err := filetree.RemoveAll(top); err != nil {
		return "", err
	}
	out := filepath.Join(top, word())
	if err := os.MkdirAll(out, 0o700); err != nil {
		return "", err
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(out, name), []byte(text), 0o600); err != nil {
			return "", err
		}
	}
	return out, nil
}

// keepTold keeps what runners said of a tree that was green.
func (b *Bench) keepTold(l *listens, tree string, around surroundings) error {
	if l == nil {
		return nil
	}
	for asked, rep := range l.said {
		key, err := b.toldBy(tree, asked, around)
		if err != nil {
			return err
		}
		b.told.keep(key, rep)
	}
	return nil
}

// treeSum is the hash of all files of a tree: names, modes, contents.
func treeSum(t folderTree) (string, error) {
	sum := sha256.New()
	for _, p := range t.paths {
		info, err := os.Lstat(filepath.Join(t.root, filepath.FromSlash(p)))
		if err != nil {
			return "", err
		}
		data, err := t.Read(p)
		if err != nil {
			return "", err
		}
		one := sha256.Sum256(data)
		fmt.Fprintf(sum, "%q %v %x\n", p, info.Mode(), one)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// listensTo says what is to be noted while the commands run, and of which tree:
// nil where nobody asks, or no command is the own call of a runner that answered.
func (b *Bench) listensTo(req work.VerifyRequest) (*listens, string, error) {
	own := func(c string) bool {
		own, ok := runner.OwnCall(c, folderTree{root: req.Dir}.text)
		return ok && b.answered(own.Asked)
	}
	if !req.Asked || !slices.ContainsFunc(req.Commands, own) {
		return nil, "", nil
	}
	t, err := listFolder(req.Dir)
	if err != nil {
		return nil, "", err
	}
	tree, err := treeSum(t)
	return &listens{said: map[string]runner.Report{}, answered: b.answered}, tree, err
}

// A runner that is asked in a way that its version does not know is red for that
// alone. So none is asked in a verify before these very programs answered about
// a trusted state.

func (b *Bench) answerMark(asked string) string {
	sum := sha256.Sum256([]byte(asked + "\n" + toolPrint(b.environ, asked)))
	return filepath.Join(filepath.Dir(b.cache.dir), "control", "answered", hex.EncodeToString(sum[:]))
}

func (b *Bench) answered(asked string) bool {
	_, err := os.Stat(b.answerMark(asked))
	return err == nil
}

// noteAnswer notes that a runner named tests that pass.
func (b *Bench) noteAnswer(asked string) error {
	if b.answered(asked) {
		return nil
	}
	return writeWhole(b.answerMark(asked), nil)
}

// toldOf returns what the runner said of the tree while it was a verify command,
// when nothing more has to be asked: all that has to pass did, and tests are made
// wrong in a run that follows, beside which others are planted.
func (c *control) toldOf(t folderTree, ask runner.Ask, k known) (runner.Report, bool, error) {
	if k.Prepare || len(k.Rounds) == 0 {
		return runner.Report{}, false, nil
	}
	rep, ok, err := c.saidOf(t, ask)
	return rep, ok && len(missing(k, rep)) == 0, err
}

// saidOf returns what the runner said of the tree while it was a verify command.
func (c *control) saidOf(t folderTree, ask runner.Ask) (runner.Report, bool, error) {
	if ask.Dir != "." {
		return runner.Report{}, false, nil
	}
	tree, err := treeSum(t)
	if err != nil {
		return runner.Report{}, false, err
	}
	key, err := c.toldBy(tree, ask.Command, surroundings{c.req.Commands, c.req.Worktree, c.req.Sandbox, c.req.Env, c.req.Caches, c.req.Checkout})
	if err != nil {
		return runner.Report{}, false, err
	}
	rep, ok := c.told.take(key)
	return rep, ok, nil
}
