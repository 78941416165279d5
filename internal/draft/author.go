package draft

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"forge/internal/atomicfile"
	"forge/internal/config"
	"forge/internal/planner"
	"forge/internal/project"
	"forge/internal/refusal"
	"forge/internal/runs"
	"forge/internal/work"
)

// author drafts a plan with an agent, in a throw-away folder at the user's
// commit. Whatever else the agent does there is dropped.
type author struct {
	p       *project.Checkout
	e       *project.Machine
	set     work.Settings
	dir     string
	file    string // that it writes
	what    string // it is, for people
	session string
	total   work.Usage
	drafts  int
}

func (a *author) Draft(ctx context.Context, prompt string) ([]byte, error) {
	if a.drafts == 0 {
		if err := a.e.Repo.OpenFolder(ctx, a.dir, a.p.Base.Commit); err != nil {
			return nil, err
		}
	}
	a.drafts++
	phase := a.set.Phases["0"]
	agent := a.set.Agents[phase.Agent]
	model := phase.Model
	if model == "" {
		model = agent.Model
	}
	limits := a.set.Limits
	limits.IterationSecs = phase.IterationSecs
	rep, err := a.e.Agents.Iterate(ctx, work.IterationRequest{
		Run: a.what, Phase: "0", PhaseName: a.what, Iteration: a.drafts, Attempt: 1, Level: "generate",
		Agent: agent, Model: model, Permission: work.PermissionStandard, Limits: limits,
		Dir: a.dir, Prompt: prompt, Session: a.session, Before: a.total, Mark: runs.NewMark(),
		LogPath: fmt.Sprintf("%s.%d.log", a.dir, a.drafts), Sandbox: a.set.Sandbox,
		ReadPaths: a.e.Repo.ObjectPaths(), HidePaths: []string{a.p.State},
		CostUSD: a.set.Cost.IterationUSD, Tokens: a.set.Cost.IterationTokens,
	}, func(act work.Activity) { a.p.Log.Debug(act.Text, "is", act.Kind) })
	if err != nil {
		return nil, fmt.Errorf("draft the %s: %w", a.what, err)
	}
	if !rep.Outcome.KeepsClaim() {
		return nil, refusal.New("the output is in "+fmt.Sprintf("%s.%d.log", a.dir, a.drafts), "the agent drafted no %s: %s, %s", a.what, rep.Outcome, rep.Detail)
	}
	if agent.Continues {
		a.session, a.total = rep.Session, rep.Total
	}
	if u := rep.Usage; u.CostUSD != nil {
		a.p.Log.Info("drafted", "usd", fmt.Sprintf("%.4f", *u.CostUSD))
	}
	return readDraft(a.dir, a.file)
}

// readDraft reads the file of a draft as plain data: no links are followed out of
// the folder.
func readDraft(dir, file string) ([]byte, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("read the draft: %w", err)
	}
	defer func() { _ = root.Close() }()
	info, err := root.Lstat(file)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !info.Mode().IsRegular() {
		if file == planner.FileName {
			return nil, planner.ErrNoDraft
		}
		return nil, refusal.New("ask again, or another agent", "the agent wrote no %s", file)
	}
	if err != nil {
		return nil, fmt.Errorf("read the draft: %w", err)
	}
	f, err := root.Open(file)
	if err != nil {
		return nil, fmt.Errorf("read the draft: %w", err)
	}
	defer func() { _ = f.Close() }()
	return io.ReadAll(io.LimitReader(f, config.MaxPlanBytes+1))
}

func (a *author) close() {
	for _, path := range []string{a.dir, a.dir + ".index"} {
		if err := os.RemoveAll(path); err != nil {
			a.p.Log.Warn("remove the folder of the draft", "err", err)
		}
	}
}

// Keep keeps a draft that nobody could be asked about, and says where: nothing is
// lost that an agent was paid for. It waits for a person: see Waits.
func Keep(p *project.Checkout, text []byte) string { return keep(keptFile(p), text) }

// KeepRefused is Keep of a draft that cannot be used, or that a person did not want.
func KeepRefused(p *project.Checkout, text []byte) string {
	return keep(filepath.Join(p.State, "drafts", "refused.json"), text)
}

func keep(path string, text []byte) string {
	err := os.MkdirAll(filepath.Dir(path), 0o700)
	if err == nil {
		err = atomicfile.Write(path, text, 0o600)
	}
	if err != nil {
		return fmt.Sprintf("no file (%v)", err)
	}
	return path
}
