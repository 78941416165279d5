package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"

	pages "forge/factory/web"
	"forge/internal/atomicfile"
	"forge/internal/config"
	"forge/internal/journal"
	"forge/internal/project"
	"forge/internal/text"
	"forge/internal/token"
	"forge/internal/work"
)

// sharedWait is how long one look at what servers share may take: who waits for a
// page waits for it.
const sharedWait = 10 * time.Second

// shared are users, sessions and tokens in a database, for the servers of all
// machines.
type shared struct{ store *journal.Store }

// openShared opens the database that the user's own configuration names, nil where
// it names none. No project has a say in it: whoever may write there may come in.
// What was in files of this machine is taken along, once.
func openShared(env project.Env, dir string) (*shared, error) {
	b := config.FindBeyond(env.Environ, dir)
	if b.StoreURL == "" {
		return nil, nil
	}
	if _, err := env.Beyond(dir); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	store, err := env.Stores(ctx, b.StoreURL, env.Getenv(b.StoreURL), func(what string) { env.Log.Warn(text.Harmless(what)) })
	if err != nil {
		return nil, err
	}
	s := &shared{store}
	for _, name := range []string{"users.json", "sessions.json", "tokens.json"} {
		if err := s.take(env, atomicfile.Folder{Dir: dir}, name); err != nil {
			return nil, err
		}
	}
	return s, nil
}

var errThere = errors.New("it is there")

// take takes a file of this machine over, unless there is one by that name: then it
// stays, and is said to count no more.
func (s *shared) take(env project.Env, from atomicfile.Folder, name string) error {
	data, _, err := from.Read(name)
	if data == nil || err != nil {
		return err
	}
	path := filepath.Join(from.Dir, name)
	err = s.Change(name, func(was []byte) ([]byte, error) {
		if was != nil && !bytes.Equal(was, data) { // else who took it died before it was put aside
			return nil, errThere
		}
		return data, nil
	})
	if errors.Is(err, errThere) {
		env.Log.Warn("a file of this machine does not count: the servers share another one", "file", path, "in", s.store.Place(), "way out", "add what is missing there, and remove the file")
		return nil
	}
	if err != nil {
		return fmt.Errorf("take over %s: %w", path, err)
	}
	env.Log.Info("the servers of all machines share it now", "file", path, "in", s.store.Place())
	if err := os.Rename(path, path+".moved"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("put %s aside: %w", path, err)
	}
	return nil
}

// Version is as of web.Files.
func (s *shared) Version(name string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), sharedWait)
	defer cancel()
	is, err := s.store.SharedVersion(ctx, name)
	return named(is), err
}

// named is a version as a text.
func named(version int64) string {
	if version == 0 {
		return ""
	}
	return strconv.FormatInt(version, 10)
}

// Read is as of web.Files.
func (s *shared) Read(name string) ([]byte, string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), sharedWait)
	defer cancel()
	data, is, err := s.store.Shared(ctx, name)
	return data, named(is), err
}

// Change is as of web.Files. Whoever is second does it again, on what the first made.
func (s *shared) Change(name string, do func(was []byte) ([]byte, error)) error {
	ctx, cancel := context.WithTimeout(context.Background(), sharedWait)
	defer cancel()
	for {
		was, seen, err := s.store.Shared(ctx, name)
		if err != nil {
			return err
		}
		data, err := do(was)
		if err != nil {
			return err
		}
		if err := s.store.PutShared(ctx, name, data, seen); !errors.Is(err, work.ErrStale) {
			return err
		}
	}
}

// Tokens are those by which programs come in: files of this machine, or in the
// database that the user names.
func Tokens(env project.Env) (token.Store, error) {
	keys, err := Keys(env)
	if err != nil {
		return token.Store{}, err
	}
	return tokensOf(keys, config.ServerDir(env.Environ), env), nil
}

func tokensOf(keys *pages.Keys, dir string, env project.Env) token.Store {
	t := token.Store{Dir: dir, Now: env.Now}
	if files := keys.Shared(); files != nil {
		t.Files = files
	}
	return t
}
