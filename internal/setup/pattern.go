package setup

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"forge/internal/config"
	"forge/internal/project"
	"forge/internal/refusal"
	"forge/internal/work"
)

// Pattern is a plan, and perhaps a spec, that a project begins with instead of the
// example.
type Pattern struct {
	Plan work.Plan
	Spec string // "" = none
}

// FindPattern is what a folder holds, or what an earlier run of this project was
// opened with: from is its path, or the run's id.
func FindPattern(ctx context.Context, env project.Env, from string) (*Pattern, error) {
	dir := from
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(env.Dir, dir)
	}
	if info, err := os.Stat(dir); err == nil && info.IsDir() {
		return patternOf(dir)
	}
	p, err := project.OpenJournal(ctx, env)
	if err != nil {
		return nil, refusal.New("name a folder with a plan, or a run of this project (forge status --all)", "there is no folder %s, and this project has no runs", from)
	}
	defer p.Close()
	row, err := p.PickRun(ctx, from)
	if err != nil {
		return nil, err
	}
	for first, err := range p.Journal.Replay(ctx, row.ID, 0) {
		if err != nil {
			return nil, err
		}
		spec, err := p.SpecOf(ctx, first)
		if err != nil {
			return nil, err
		}
		if spec.Job != nil || len(spec.Plan.Phases) == 0 {
			break
		}
		return &Pattern{Plan: spec.Plan, Spec: spec.Settings.Spec}, nil
	}
	return nil, refusal.New("name a run of a plan, or a folder that holds one", "run %s is of no plan", row.ID)
}

// patternOf reads the plan of a folder, which may be a project, its .forge, or hold
// the plan itself.
func patternOf(dir string) (*Pattern, error) {
	for _, at := range []string{filepath.Join(dir, ".forge"), dir} {
		path := filepath.Join(at, filepath.Base(project.PlanFile))
		if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		plan, _, err := config.LoadPlan(path, project.CheckGraph)
		if err != nil {
			return nil, err
		}
		spec, err := os.ReadFile(filepath.Join(at, filepath.Base(config.SpecFile)))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, refusal.New("make it readable", "read the spec of %s: %v", dir, err)
		}
		return &Pattern{Plan: plan.Plan, Spec: string(spec)}, nil
	}
	return nil, refusal.New("name a folder with a phases.json, or with a .forge that has one", "%s holds no plan", dir)
}

// text is the plan as its file. What it was made from and when is not of this project.
func (p *Pattern) text() string {
	plan := p.Plan
	plan.SpecHash, plan.GeneratedAt = "", ""
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	_ = e.Encode(plan) // plain strings and numbers, which always encode
	return b.String()
}
