package changereview

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"forge/gates"
	"forge/internal/config"
	"forge/internal/project"
	"forge/internal/refusal"
	"forge/internal/runs"
	"forge/internal/text"
	"forge/internal/work"
)

// reviewPhase is the name under which a change that belongs to no phase is
// reviewed; scripted agents know it by this name.
const reviewPhase = "review"

// configure loads the configuration as it is in the base, with the user's own
// and the environment's, and returns the reviewers that are to be asked.
func (r *ongoing) configure(ctx context.Context) ([]work.Specialist, error) {
	r.folders++
	root := filepath.Join(r.temp, fmt.Sprintf("base-%d", r.folders))
	there, err := r.layOut(ctx, root)
	if err != nil {
		return nil, err
	}
	cfg, warnings, err := config.Load(config.Sources{ProjectDir: root, UserFile: config.UserFile(r.Environ), Environ: r.Environ})
	if err != nil {
		return nil, r.ofBase(err, root)
	}
	for _, w := range warnings {
		r.Log.Warn(w.String())
	}
	r.Config = cfg
	r.trustAs(root)
	known := r.specialists()
	wanted := r.options.Specialists
	for _, name := range wanted {
		if !slices.Contains(known, name) {
			fix := "there are " + strings.Join(known, ", ")
			if near := gates.Nearest(name, known); near != "" {
				fix = fmt.Sprintf("did you mean %q? %s", near, fix)
			}
			return nil, refusal.New(fix, "unknown reviewer %q", name)
		}
	}
	if len(wanted) == 0 {
		wanted = known
	}
	plan := config.NewPlan(work.Plan{Phases: []work.Phase{{Number: reviewPhase, Name: reviewPhase, Promise: "REVIEWED", Reviews: wanted}}})
	if r.set, err = config.Resolve(cfg, plan, config.Facts{Kinds: project.AgentKinds()}); err != nil {
		return nil, r.ofBase(err, root)
	}
	if err := r.checkBy(there); err != nil {
		return nil, err
	}
	if err := r.layOutAgent(ctx, root); err != nil {
		return nil, err
	}
	var out []work.Specialist
	for _, s := range r.set.Phases[reviewPhase].Reviewers {
		if slices.Contains(wanted, s.Name) {
			out = append(out, s)
		}
	}
	return out, nil
}

// checkBy refuses a review that nobody could carry out. The arbiter has no part
// in a review, and agents that work none.
func (r *ongoing) checkBy(there bool) error {
	r.set.Reviews.Arbiter = ""
	by := r.set.Reviews.By
	if by == "" {
		what := "no reviewer can be asked"
		if !there {
			what += fmt.Sprintf(": %s has no %s, and that of the change under review is not used", r.base.Ref, config.ProjectFile)
		}
		return refusal.New("set [llm] base_url and model, or reviews.agent, in the base or in your own configuration", "%s", what)
	}
	agents := map[string]work.AgentSettings{}
	if name := runs.ReviewAgent(by); name != "" {
		agents[name] = r.set.Agents[name]
	}
	r.set.Agents = agents
	return nil
}

// layOut writes the base's .forge/ into a folder; there says that it has a
// configuration.
func (r *ongoing) layOut(ctx context.Context, root string) (there bool, err error) {
	if err := os.MkdirAll(root, 0o700); err != nil {
		return false, fmt.Errorf("lay out the base's configuration: %w", err)
	}
	files, err := r.repo.Files(ctx, r.base.Commit)
	if err != nil {
		return false, err
	}
	for _, name := range files {
		if !strings.HasPrefix(name, ".forge/") {
			continue
		}
		if !filepath.IsLocal(name) {
			return false, fmt.Errorf("lay out the base's configuration: %q leads out of the project", name)
		}
		text, err := r.repo.Show(ctx, r.base.Commit, name)
		if err != nil {
			return false, err
		}
		path := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return false, fmt.Errorf("lay out the base's configuration: %w", err)
		}
		if err := os.WriteFile(path, text, 0o600); err != nil {
			return false, fmt.Errorf("lay out the base's configuration: %w", err)
		}
		there = there || name == config.ProjectFile
	}
	return there, nil
}

// layOutAgent writes all of the base where a reviewing agent is a program or a
// script of the project: the change must not be what reviews itself.
func (r *ongoing) layOutAgent(ctx context.Context, root string) error {
	a := project.AtPath(r.set.Agents[runs.ReviewAgent(r.set.Reviews.By)])
	inside := func(path string) bool { return strings.HasPrefix(path, root+string(filepath.Separator)) }
	if !inside(a.File) && !(len(a.Command) > 0 && inside(a.Command[0])) {
		return nil
	}
	if err := r.repo.Materialize(ctx, root, r.base.Commit); err != nil {
		return fmt.Errorf("lay out the base: %w", err)
	}
	return nil
}

// trustAs lets what the user grants to the checkout hold for its base, which
// stands elsewhere.
func (r *ongoing) trustAs(root string) {
	real := func(path string) string {
		if p, err := filepath.EvalSymlinks(path); err == nil {
			return p
		}
		return filepath.Clean(path)
	}
	for path, granted := range r.Config.File.Trust.Projects {
		if real(path) == real(r.Checkout.Base.RepoRoot) {
			r.Config.File.Trust.Projects[root] = granted
			return
		}
	}
}

// ofBase says of problems that they are the base's, and names the checkout
// where they name its copy.
func (r *ongoing) ofBase(err error, root string) error {
	var problems *config.Problems
	if !errors.As(err, &problems) {
		return err
	}
	out := &config.Problems{}
	for _, p := range problems.List {
		p.What = strings.ReplaceAll(p.What, root, r.Checkout.Base.RepoRoot)
		p.Fix = strings.ReplaceAll(p.Fix, root, r.Checkout.Base.RepoRoot)
		if strings.HasPrefix(p.File, ".forge/") {
			p.What += fmt.Sprintf(" in the base, %s at %s", r.base.Ref, text.Short(r.base.Commit))
		}
		out.List = append(out.List, p)
	}
	return out
}
