// Package workflow works by a WORKFLOW.md: it keeps the file as it was last good,
// makes the workspaces of its issues and runs its hooks there, says when a failed
// issue is tried again, and shows how the work stands as Symphony does.
package workflow

import (
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"charm.land/log/v2"

	"forge/internal/atomicfile"
	"forge/internal/config"
	"forge/internal/project"
	"forge/internal/refusal"
	"forge/internal/symphony"
	"forge/internal/text"
)

// Kept is a file as it was last good. Whoever reads settings of it gets those of one
// moment. It may be used by several goroutines.
type Kept struct {
	file     string // absolute
	settings string // where its settings lie as a layer of the configuration
	root     string // of the checkout
	environ  []string
	log      *log.Logger

	mu   sync.Mutex
	sum  [sha256.Size]byte
	good *symphony.Workflow
	bad  error // what is wrong with the file as it is now, nil = nothing
}

// settingsFile is the file with the settings, in the state folder.
const settingsFile = "workflow.toml"

// Find is the file that is worked by: the one that is named, WORKFLOW.md in a folder
// that is named, else in the working directory.
func Find(dir, named string) string {
	if named == "" {
		named = symphony.DefaultFile
	}
	if !filepath.IsAbs(named) {
		named = filepath.Join(dir, named)
	}
	if info, err := os.Stat(named); err == nil && info.IsDir() {
		named = filepath.Join(named, symphony.DefaultFile)
	}
	return filepath.Clean(named)
}

// Open reads a file for the first time: what is wrong with it is an error. env is
// that of the project, which its folder is in; the one that is returned is the one to
// open the project with.
func Open(ctx context.Context, env project.Env, file string) (*Kept, project.Env, error) {
	k := &Kept{file: file, log: env.Log}
	if _, err := os.Stat(file); err != nil {
		return nil, env, k.refused(symphony.Missing(filepath.Base(file), cause(err)))
	}
	env.Dir = filepath.Dir(file)
	p, err := project.Find(ctx, env)
	if err != nil {
		return nil, env, err
	}
	k.root, k.settings = p.Base.RepoRoot, filepath.Join(p.State, settingsFile)
	k.environ = slices.DeleteFunc(slices.Clone(env.Environ), func(kv string) bool { return strings.HasPrefix(kv, config.WorkflowVariable+"=") })
	if err := os.MkdirAll(p.State, 0o700); err != nil {
		return nil, env, refusal.New("set FORGE_STATE_DIR to a folder that can be written", "make the state folder: %v", err)
	}
	if _, err := k.Look(); err != nil {
		return nil, env, k.refused(err)
	}
	for _, n := range k.Now().Notes {
		env.Log.Warn(text.Harmless(n.In(k.Name())))
	}
	env.Environ = append(k.environ, config.WorkflowVariable+"="+k.settings)
	return k, env, nil
}

// refused is what is wrong with a file as the user's to mend.
func (k *Kept) refused(err error) error {
	var all *symphony.Error
	if !errors.As(err, &all) {
		return err
	}
	return &refusal.Error{What: text.Harmless(all.Error())}
}

func cause(err error) error {
	var at *os.PathError
	if errors.As(err, &at) {
		return at.Err
	}
	return err
}

// Name is the file's, for people.
func (k *Kept) Name() string { return filepath.Base(k.file) }

// Now is the file as it was last good.
func (k *Kept) Now() *symphony.Workflow {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.good
}

// Settings are those of Now.
func (k *Kept) Settings() symphony.Settings { return k.Now().Settings }

// Wrong is what is wrong with the file as it is now; "" = nothing.
func (k *Kept) Wrong() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.bad == nil {
		return ""
	}
	return text.Harmless(k.bad.Error())
}

// Look reads the file again. changed says that it is another than at the last look.
// What is wrong with it is the error; what was good before is then kept.
func (k *Kept) Look() (changed bool, err error) {
	body, err := read(k.file)
	sum := sha256.Sum256(body)
	k.mu.Lock()
	was := k.bad
	// What another file of the configuration is at fault for may be mended by now.
	same := k.good != nil && err == nil && sum == k.sum && (was == nil || symphony.ClassOf(was) != "")
	k.mu.Unlock()
	if same {
		return false, was
	}
	var now *symphony.Workflow
	if err != nil {
		err = symphony.Missing(k.Name(), cause(err))
	} else if now, err = symphony.Parse(k.Name(), string(body), k.surroundings()); err == nil {
		err = k.accept(now)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if err != nil {
		changed = k.bad == nil || k.bad.Error() != err.Error()
		k.bad, k.sum = err, sum
		return changed, err
	}
	k.good, k.bad, k.sum = now, nil, sum
	return true, nil
}

// read reads no more of a file than may be.
func read(file string) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, symphony.MaxBytes+1))
}

func (k *Kept) surroundings() symphony.Surroundings {
	env := project.Env{Environ: k.environ}
	return symphony.Surroundings{Getenv: env.Getenv, Home: env.Getenv("HOME"), Dir: filepath.Dir(k.file), Temp: os.TempDir()}
}

// accept holds the settings against what the configuration takes, and has them count
// from then on.
func (k *Kept) accept(w *symphony.Workflow) error {
	body := []byte(w.TOML())
	tried := k.settings + ".new"
	if err := atomicfile.Write(tried, body, 0o600); err != nil {
		return err
	}
	defer func() { _ = os.Remove(tried) }()
	environ := append(slices.Clone(k.environ), config.WorkflowVariable+"="+tried)
	_, _, err := config.Load(config.Sources{ProjectDir: k.root, UserFile: config.UserFile(environ), Environ: environ})
	var all *config.Problems
	if errors.As(err, &all) {
		bad := &symphony.Error{File: k.Name()}
		for _, p := range all.List {
			if p.File != config.WorkflowFile {
				return err // of another file: it says so itself
			}
			bad.Problems = append(bad.Problems, symphony.Problem{Class: symphony.InvalidSetting, Line: p.Line, What: p.What, Fix: p.Fix})
		}
		return bad
	}
	if err != nil {
		return err
	}
	return atomicfile.Write(k.settings, body, 0o600)
}

// lookEvery is how often the file is looked at.
const lookEvery = time.Second

// Watch looks at the file until ctx ends, and says what changed. reload is called
// when other settings hold.
func (k *Kept) Watch(ctx context.Context, reload func()) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		switch changed, err := k.Look(); {
		case !changed:
		case err != nil:
			k.log.Warn("the workflow is not read: what was good before goes on to hold", "outcome", "failed", "err", text.Harmless(err.Error()))
		default:
			k.log.Info("the workflow is read again", "file", k.Name(), "outcome", "completed")
			for _, n := range k.Now().Notes {
				k.log.Warn(text.Harmless(n.In(k.Name())))
			}
			reload()
		}
	}
}
