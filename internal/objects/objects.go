// Package objects keeps the commits of runs where every machine that works on them
// reaches them: at a remote of the project, or in a bare repository that a team names.
// What is pushed there counts, and whoever was taken over pushes nothing any more.
package objects

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"forge/internal/git"
	"forge/internal/text"
)

// Prefix is where the commits of runs are: one reference each. They are not below
// refs/forge/runs, where a record says that a run rests at the remote, with its journal.
const Prefix = "refs/forge/objects/"

// RefOf is the reference of a run. Its commit has all others of the run among its
// ancestors, so that one push moves everything or nothing; its files say what the run
// began on, and who may add to which phase.
func RefOf(run string) string { return Prefix + run }

// identity is the reference that names the project whose commits are there.
const identity = "refs/forge/project"

const (
	baseFile  = "base"
	fencePath = "fences/"
	nameFile  = "name"
)

// ErrNone says that nothing of a run is at the place.
var ErrNone = errors.New("nothing of the run is there")

// TakenError says that somebody else has taken a phase over: nothing is added to it.
type TakenError struct{ Run, Phase string }

// Error says what was taken over.
func (e *TakenError) Error() string {
	return fmt.Sprintf("phase %s of run %s was taken over by another worker", e.Phase, e.Run)
}

// Place is where the commits are. It may be used from several goroutines, and by several
// processes and machines at once.
type Place struct {
	// Repo is this machine's; what is brought goes there.
	Repo *git.Store
	// At is a remote of the user's repository by its name, an address, or a folder.
	At string
	// Tell is told, in a sentence, that the place is out of reach, and "" when it is not
	// any more; nil = nobody is. Without patience nobody waits for it, see Patiently.
	Tell func(what string)
}

// kept is what stands at a run's reference.
type kept struct {
	tip    string
	base   string
	fences map[string]string
}

// Identity names the project whose commits are at the place, the same for each machine
// whatever it calls the place. It is made with the first call.
func (p *Place) Identity(ctx context.Context) (string, error) {
	for {
		refs, err := p.Repo.RemoteRefs(ctx, p.At, identity)
		if err != nil {
			return "", plain(err)
		}
		if id := refs[identity]; id != "" {
			return id[:12], nil
		}
		id, err := p.Repo.CommitRecord(ctx, map[string][]byte{nameFile: fmt.Appendf(nil, "%d %d\n", time.Now().UnixNano(), rand.Uint64())}, nil, "project of Forge\n")
		if err == nil {
			err = p.Repo.PushRef(ctx, p.At, identity, id, "")
		}
		if err != nil && !moved(err) {
			return "", plain(err)
		}
	}
}

// Bring has the commits of a run here. Errors: ErrNone.
func (p *Place) Bring(ctx context.Context, run string) (base string, err error) {
	k, err := p.look(ctx, run)
	if err == nil && k.tip == "" {
		err = ErrNone
	}
	if err != nil {
		return "", fmt.Errorf("bring the commits of run %s: %w", run, plain(err))
	}
	return k.base, nil
}

// Begin keeps what a run begins on, or goes on from.
func (p *Place) Begin(ctx context.Context, run, base string, commits ...string) error {
	return p.change(ctx, run, append([]string{base}, commits...), func(k *kept) error {
		if k.base == "" {
			k.base = base
		}
		return nil
	})
}

// Keep has commits at the place when it returns.
func (p *Place) Keep(ctx context.Context, run string, commits ...string) error {
	return p.change(ctx, run, commits, func(*kept) error { return nil })
}

// Fence gives a phase to who has that word, which is one nobody else has: whoever had it
// adds nothing to the phase any more.
func (p *Place) Fence(ctx context.Context, run, phase, word string) error {
	return p.change(ctx, run, nil, func(k *kept) error {
		k.fences[phase] = word
		return nil
	})
}

// KeepFenced is Keep for who has that word. Errors: *TakenError.
func (p *Place) KeepFenced(ctx context.Context, run, phase, word string, commits ...string) error {
	return p.change(ctx, run, commits, func(k *kept) error {
		if k.fences[phase] != word {
			return &TakenError{Run: run, Phase: phase}
		}
		return nil
	})
}

// change adds commits, and what with does, to what is there now. Whoever else does so at
// the same moment is waited for, and looked at anew.
func (p *Place) change(ctx context.Context, run string, commits []string, with func(*kept) error) error {
	for {
		done, err := p.tryChange(ctx, run, commits, with)
		if err != nil {
			return fmt.Errorf("keep the commits of run %s: %w", run, plain(err))
		}
		if done {
			return nil
		}
		select {
		case <-time.After(time.Duration(20+rand.IntN(80)) * time.Millisecond):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func (p *Place) tryChange(ctx context.Context, run string, commits []string, with func(*kept) error) (done bool, err error) {
	k, err := p.look(ctx, run)
	if err != nil {
		return false, err
	}
	before := kept{base: k.base, fences: maps.Clone(k.fences)}
	if err := with(&k); err != nil {
		return false, err
	}
	if k.base == "" {
		return false, ErrNone
	}
	parents, err := p.lacking(ctx, k.tip, commits)
	if err != nil {
		return false, err
	}
	if k.tip != "" && len(parents) == 0 && k.base == before.base && maps.Equal(k.fences, before.fences) {
		return true, nil
	}
	if k.tip != "" {
		parents = append([]string{k.tip}, parents...)
	}
	files := map[string][]byte{baseFile: []byte(k.base)}
	for phase, word := range k.fences {
		files[fencePath+phase] = []byte(word)
	}
	next, err := p.Repo.CommitRecord(ctx, files, parents, "commits of run "+run+"\n\nForge-Run: "+run+"\n")
	if err != nil {
		return false, err
	}
	if err := p.Repo.PushRef(ctx, p.At, RefOf(run), next, k.tip); err != nil {
		if moved(err) {
			return false, nil
		}
		return false, err
	}
	return true, p.Repo.UpdateRef(ctx, RefOf(run), next, "")
}

// lacking are the commits that tip does not hold, once each.
func (p *Place) lacking(ctx context.Context, tip string, commits []string) ([]string, error) {
	var out []string
	for _, one := range commits {
		if one == "" || slices.Contains(out, one) {
			continue
		}
		held := false
		if tip != "" {
			var err error
			if held, err = p.Repo.Holds(ctx, tip, one); err != nil {
				return nil, err
			}
		}
		if !held {
			out = append(out, one)
		}
	}
	return out, nil
}

// look has what is at a run's reference here, and reads it.
func (p *Place) look(ctx context.Context, run string) (kept, error) {
	k := kept{fences: map[string]string{}}
	ref := RefOf(run)
	refs, err := p.Repo.RemoteRefs(ctx, p.At, ref)
	if err != nil {
		return k, err
	}
	if k.tip = refs[ref]; k.tip == "" {
		return k, nil
	}
	// The reference here is set once all is here: an object alone may be what a fetch left
	// that was cut off.
	have, err := p.Repo.ReadRef(ctx, ref)
	if err != nil {
		return k, err
	}
	if have != k.tip {
		if err := p.Repo.FetchNew(ctx, p.At, ref, have); err != nil {
			return k, err
		}
		if err := p.Repo.UpdateRef(ctx, ref, k.tip, ""); err != nil {
			return k, err
		}
	}
	files, _, err := p.Repo.ReadRecord(ctx, k.tip)
	if err != nil {
		return k, err
	}
	for name, data := range files {
		phase, is := strings.CutPrefix(name, fencePath)
		switch {
		case is:
			k.fences[phase] = string(data)
		case name == baseFile:
			k.base = string(data)
		}
	}
	if k.base == "" {
		return k, fmt.Errorf("what is at %s is not of a run", ref)
	}
	return k, nil
}

func moved(err error) bool {
	var moved *git.MovedError
	return errors.As(err, &moved)
}

// Away says that err is of a place that is out of reach for a while, or of which it is
// not known whether a push arrived: asking again helps, or finds out.
func Away(err error) bool {
	var gone *git.UnreachableError
	return errors.As(err, &gone) || errors.Is(err, git.ErrUnsure)
}

// secret is what stands between scheme and host of an address.
var secret = text.Lazy(`://[^/@\s'"]+@`)

// plainError is an error whose text shows no secret of an address.
type plainError struct{ err error }

func (e plainError) Error() string { return Plain(e.err.Error()) }
func (e plainError) Unwrap() error { return e.err }

// Plain is said without what an address may hold of a secret.
func Plain(said string) string { return secret().ReplaceAllString(said, "://") }

func plain(err error) error {
	if err == nil {
		return nil
	}
	return plainError{err}
}
