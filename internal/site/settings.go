package site

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	pages "forge/factory/web"
	"forge/internal/atomicfile"
	"forge/internal/config"
	"forge/internal/doctor"
	"forge/internal/project"
	"forge/internal/redact"
	"forge/internal/text"
	"forge/internal/work"
)

// Settings are the configuration of the project whose checkout is at Root. It may
// be used by many at once.
type Settings struct {
	Env  project.Env
	Root string

	writing sync.Mutex
}

var _ pages.Settings = (*Settings)(nil)

// Read is what holds now, and the text of the project's own file.
func (s *Settings) Read(context.Context) (pages.SettingsNow, error) {
	out := pages.SettingsNow{File: config.ProjectFile}
	body, err := s.file()
	if err != nil {
		return out, err
	}
	out.Text, out.Sum = body, sumOf(body)
	cfg, _, err := config.Load(s.sources(nil))
	if err != nil {
		out.Problems = problemsOf(err)
		return out, nil
	}
	keys := config.Keys()
	hide := redact.New(cfg.Secrets())
	for _, l := range cfg.Show() {
		if l.Value == "{}" || l.Value == "[]" {
			continue // nothing is said of it
		}
		out.Values = append(out.Values, pages.Setting{Key: l.Key, Value: hide.String(l.Value), Origin: l.Origin, Doc: docOf(keys, l.Key)})
	}
	out.Fields = s.fieldsOf(body, cfg)
	return out, nil
}

// docOf is what a key means. Where a user chooses a part of its name, as that of an
// agent, the key stands for all of them.
func docOf(keys []config.Key, name string) string {
	parts := strings.Split(name, ".")
	for _, k := range keys {
		if len(k.Path) != len(parts) {
			continue
		}
		same := true
		for i, p := range k.Path {
			same = same && (p == parts[i] || strings.HasPrefix(p, "<"))
		}
		if same {
			return k.Doc
		}
	}
	return ""
}

// Write puts text in the place of the project's own file, unless something is
// wrong with it, or somebody else changed the file since it was read.
func (s *Settings) Write(_ context.Context, body, seen, by string) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	now, err := s.file()
	if err != nil {
		return err
	}
	if sumOf(now) != seen {
		return fmt.Errorf("%w: %s was changed meanwhile", work.ErrStale, config.ProjectFile)
	}
	if int64(len(body)) > config.MaxTOMLBytes {
		return &pages.BadSettings{Problems: []string{fmt.Sprintf("%s: has %d bytes, Forge reads at most %d (make it smaller)", config.ProjectFile, len(body), config.MaxTOMLBytes)}}
	}
	if _, _, err := config.Load(s.sources(&body)); err != nil {
		return &pages.BadSettings{Problems: problemsOf(err)}
	}
	path := filepath.Join(s.Root, filepath.FromSlash(config.ProjectFile))
	if err := s.plain(path); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("make the folder of the configuration: %w", err)
	}
	if err := atomicfile.Write(path, []byte(body), 0o644); err != nil {
		return fmt.Errorf("write the configuration: %w", err)
	}
	s.Env.Log.Info("the configuration was changed", "file", path, "by", text.HarmlessLine(by))
	return nil
}

// Health is what forge doctor says of the project and this machine, a line each.
func (s *Settings) Health(ctx context.Context) (string, error) {
	env := s.Env
	env.Dir = s.Root
	var b strings.Builder
	d := doctor.Doctor{Env: env, Out: &b}
	d.Look(ctx, false)
	return text.Harmless(b.String()), ctx.Err()
}

func (s *Settings) sources(body *string) config.Sources {
	return config.Sources{ProjectDir: s.Root, UserFile: config.UserFile(s.Env.Environ), Environ: s.Env.Environ, ProjectText: body}
}

// file is the project's own file, "" where there is none. No link leads out of
// the checkout.
func (s *Settings) file() (string, error) {
	root, err := os.OpenRoot(s.Root)
	if err != nil {
		return "", fmt.Errorf("open the checkout: %w", err)
	}
	defer root.Close()
	body, err := root.ReadFile(filepath.FromSlash(config.ProjectFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("read the configuration: %w", err)
	}
	return string(body), nil
}

// plain refuses to write through a link: whoever may change the checkout would
// say where.
func (s *Settings) plain(path string) error {
	for _, p := range []string{filepath.Dir(path), path} {
		info, err := os.Lstat(p)
		if err == nil && info.Mode()&fs.ModeSymlink != 0 {
			return &pages.BadSettings{Problems: []string{p + " is a link: change the file that it leads to by hand"}}
		}
	}
	return nil
}

func sumOf(body string) string {
	sum := sha256.Sum256([]byte(body))
	return hex.EncodeToString(sum[:])
}

// problemsOf are the lines of a refused configuration.
func problemsOf(err error) []string {
	var list *config.Problems
	if !errors.As(err, &list) {
		return []string{err.Error()}
	}
	var out []string
	for _, p := range list.List {
		out = append(out, text.Harmless(p.String()))
	}
	return out
}
