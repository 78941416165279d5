package draft

import (
	"errors"
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
