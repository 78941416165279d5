package skills

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"forge/internal/config"
	"forge/internal/project"
	"forge/internal/refusal"
	"forge/internal/text"
)

// Bounds of what is taken over with a skill.
const (
	mostFiles = 200
	mostBytes = 10 << 20
)

// Add takes a skill over from a file NAME.md, or from a folder with a SKILL.md and
// what that names. Nothing that is there is overwritten, links are refused, and a
// skill that would be refused later is not taken.
func Add(p *project.Checkout, from string) (said string, err error) {
	if !filepath.IsAbs(from) {
		from = filepath.Join(p.Dir, from)
	}
	from = filepath.Clean(from)
	info, err := os.Lstat(from)
	if err != nil {
		return "", refusal.New("name a file NAME.md, or a folder with a SKILL.md", "%s cannot be read", text.OneLine(from, 200))
	}
	base := filepath.Base(from)
	name := strings.TrimSuffix(base, ".md")
	if !info.IsDir() && (name == base || !info.Mode().IsRegular()) || info.IsDir() && !isFile(filepath.Join(from, "SKILL.md")) {
		return "", refusal.New("name a file NAME.md, or a folder with a SKILL.md", "%s is no skill", text.OneLine(from, 200))
	}
	for _, there := range []string{name, name + ".md"} {
		if _, err := os.Lstat(filepath.Join(p.Base.RepoRoot, filepath.FromSlash(config.SkillsDir), there)); err == nil {
			return "", refusal.New("remove it, or give the new one another name", "%s/%s is there already", config.SkillsDir, there)
		}
	}
	files, err := gather(from, info.IsDir())
	if err != nil {
		return "", err
	}
	main, file := files["."], config.SkillsDir+"/"+name+".md"
	if info.IsDir() {
		main, file = files["SKILL.md"], config.SkillsDir+"/"+name+"/SKILL.md"
	}
	if err := usable(config.Skill{Name: name, File: file, Text: string(main)}); err != nil {
		return "", err
	}
	if err := put(p.Base.RepoRoot, config.SkillsDir+"/"+base, files); err != nil {
		return "", err
	}
	return fmt.Sprintf("Added %s. Read it, name it in a phase (\"skills\": [%q]) or in [skills] global, and commit it.\n", file, name), nil
}

// put writes files of a new folder of a checkout, all or none, and nowhere that links
// lead to.
func put(checkout, at string, files map[string][]byte) (err error) {
	root, err := os.OpenRoot(checkout)
	if err != nil {
		return err
	}
	defer root.Close()
	defer func() {
		if err != nil && !errors.Is(err, fs.ErrExist) {
			err = errors.Join(err, root.RemoveAll(filepath.FromSlash(at)))
		}
	}()
	for rel, content := range files {
		full := filepath.Join(filepath.FromSlash(at), rel)
		if err := root.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			return err
		}
		f, err := root.OpenFile(full, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if err != nil {
			return err
		}
		_, err = f.Write(content)
		if err := errors.Join(err, f.Close()); err != nil {
			return err
		}
	}
	return nil
}

func isFile(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Mode().IsRegular()
}

// gather reads the files of a skill, by their paths in it; one alone is ".".
func gather(from string, folder bool) (map[string][]byte, error) {
	files, size := map[string][]byte{}, int64(0)
	err := filepath.WalkDir(from, func(at string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, at)
		if err == nil && e.IsDir() && e.Name() == ".git" {
			return filepath.SkipDir // its history, not what agents read
		}
		if err != nil || e.IsDir() {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		if size += info.Size(); !info.Mode().IsRegular() || len(files) == mostFiles || size > mostBytes {
			return refusal.New(fmt.Sprintf("a skill has plain files alone, at most %d with %d MiB", mostFiles, mostBytes>>20), "%s cannot be taken", text.OneLine(at, 200))
		}
		files[rel], err = os.ReadFile(at)
		return err
	})
	return files, err
}

// usable refuses a skill that Check would name.
func usable(s config.Skill) error {
	if len(s.Text) > config.MaxSkillBytes {
		return refusal.New("make it smaller", "%s has %d bytes, Forge reads at most %d", s.File, len(s.Text), config.MaxSkillBytes)
	}
	if !utf8.ValidString(s.Text) {
		return refusal.New("save it as UTF-8", "%s is no text", s.File)
	}
	if !config.IsSkillName(s.Name) {
		return refusal.New("use letters, digits, dots, - and _", "%q is no name of a skill", text.OneLine(s.Name, 60))
	}
	if _, wrong := read(s); len(wrong) > 0 {
		return &config.Problems{List: wrong}
	}
	return nil
}
