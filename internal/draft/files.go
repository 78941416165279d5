package draft

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"forge/internal/atomicfile"
	"forge/internal/config"
	"forge/internal/project"
	"forge/internal/refusal"
	"forge/internal/work"
)

// HasPlan says that the project has a plan file.
func HasPlan(p *project.Checkout) bool {
	_, err := os.Lstat(filepath.Join(p.Base.RepoRoot, project.PlanFile))
	return !errors.Is(err, fs.ErrNotExist)
}

// CheckSpec says that a plan was made from another spec than the project
// has now; strict makes that an error.
func CheckSpec(p *project.Checkout, plan work.Plan, strict bool) error {
	if plan.SpecHash == "" {
		return nil
	}
	text, err := os.ReadFile(filepath.Join(p.Base.RepoRoot, filepath.FromSlash(config.SpecFile)))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return refusal.New("make it readable", "read the spec: %v", err)
	}
	if SpecHash(string(text)) == plan.SpecHash {
		return nil
	}
	if strict {
		return refusal.New("forge generate --replace makes a new plan; leave --strict out to run this one", "%s was made from another spec than %s", project.PlanFile, config.SpecFile)
	}
	p.Log.Warn("the plan was made from another spec than the project has now", "way out", "forge generate --replace")
	return nil
}

// Existing is the plan to extend, nil for none. A plan that is there is
// touched on request only, which is found out before anything is spent.
func Existing(p *project.Checkout, extend, replace bool) (*work.Plan, error) {
	if !HasPlan(p) {
		if extend {
			return nil, refusal.New("leave --extend out", "there is no %s to extend", project.PlanFile)
		}
		return nil, nil
	}
	if replace {
		return nil, nil
	}
	if !extend {
		return nil, refusal.New("--extend adds phases to it, --replace puts a new plan in its place", "%s exists", project.PlanFile)
	}
	plan, err := p.Plan()
	if err != nil {
		return nil, err
	}
	return &plan.Plan, nil
}

// WriteSpec keeps the words that the plan was made from as the project's spec.
func WriteSpec(p *project.Checkout, spec string, extend, replace bool) error {
	path := filepath.Join(p.Base.RepoRoot, filepath.FromSlash(config.SpecFile))
	old, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist), err == nil && replace:
	case err != nil:
		return refusal.New("make it readable", "read the spec: %v", err)
	case extend:
		spec = string(old) + "\n\n" + spec
	case string(old) != spec:
		p.Log.Warn("the spec file was left as it is; the plan was made from other words", "file", config.SpecFile)
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return refusal.New("make the folder writable", "write the spec: %v", err)
	}
	return atomicfile.Write(path, []byte(spec), 0o644)
}

// SpecFrom is the spec to plan from: the words, the file of that name, standard
// input for "-", and without words what the project has. fromFile says that it is the project's
// own, which need not be written.
func SpecFrom(p *project.Checkout, words string, stdin io.Reader) (spec string, fromFile bool, err error) {
	own := filepath.Join(p.Base.RepoRoot, filepath.FromSlash(config.SpecFile))
	read := func(r io.Reader) (string, error) {
		text, err := io.ReadAll(io.LimitReader(r, config.MaxSpecBytes+1))
		return string(text), err
	}
	switch words {
	case "-":
		spec, err = read(stdin)
		return spec, false, err
	case "":
		f, err := os.Open(own)
		if errors.Is(err, fs.ErrNotExist) {
			return "", false, refusal.New(`write it, or say what to build: forge generate "…"`, "%s does not exist", config.SpecFile)
		}
		if err != nil {
			return "", false, refusal.New("make it readable", "read the spec: %v", err)
		}
		defer func() { _ = f.Close() }()
		spec, err = read(f)
		return spec, true, err
	}
	path := words
	if !filepath.IsAbs(path) {
		path = filepath.Join(p.Dir, path)
	}
	f, err := os.Open(path)
	if err != nil {
		// No such file: the argument is the text itself.
		return words, false, nil
	}
	defer func() { _ = f.Close() }()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return "", false, refusal.New("name a file, or write the text", "%s is not a file", words)
	}
	spec, err = read(f)
	return spec, path == own, err
}

// WritePlan puts a plan where the project keeps its own.
func WritePlan(p *project.Checkout, text []byte) error {
	if err := os.MkdirAll(filepath.Join(p.Base.RepoRoot, ".forge"), 0o755); err != nil {
		return refusal.New("make the folder writable", "write the plan: %v", err)
	}
	if err := atomicfile.Write(filepath.Join(p.Base.RepoRoot, project.PlanFile), text, 0o644); err != nil {
		return refusal.New("make the folder writable", "write the plan: %v", err)
	}
	return nil
}
