package agenttrial

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"forge/internal/agenteval"
	"forge/internal/atomicfile"
	"forge/internal/config"
	"forge/internal/project"
	"forge/internal/refusal"
	"forge/internal/text"
)

// folder is where trials of agents are stored, under the state folder.
const folder = "eval-agents"

func save(p *project.Checkout, t *agenteval.Trial) error {
	dir := filepath.Join(p.State, folder)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return refusal.New("set FORGE_STATE_DIR to a folder that can be written", "store the trial: %v", err)
	}
	data, err := json.MarshalIndent(t, "", "  ")
	if err != nil {
		return fmt.Errorf("store the trial: %w", err)
	}
	return atomicfile.Write(filepath.Join(dir, t.ID+".json"), append(data, '\n'), 0o600)
}

// Stored are the trials of agents that are stored, oldest first.
func Stored(env project.Env) ([]*agenteval.Trial, error) {
	root := project.CheckoutAround(env.Dir)
	if root == "" {
		return nil, refusal.New("go into a git repository", "there is no checkout around %s", env.Dir)
	}
	state, err := config.StateDir(env.Environ, root)
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(state, folder)
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, refusal.New("make it readable", "read the trials: %v", err)
	}
	var all []*agenteval.Trial
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".json") {
			continue
		}
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, refusal.New("make it readable", "read the trials: %v", err)
		}
		t, err := agenteval.Read(data)
		if err != nil {
			env.Log.Warn("leave a trial out", "file", filepath.Join(dir, e.Name()), "err", err)
			continue
		}
		all = append(all, t)
	}
	slices.SortStableFunc(all, func(a, b *agenteval.Trial) int { return a.Started.Compare(b.Started) })
	return all, nil
}

// Pick finds a stored trial by its id or the beginning of it; "" = the newest.
func Pick(env project.Env, id string) (*agenteval.Trial, error) {
	all, err := Stored(env)
	if err != nil {
		return nil, err
	}
	var found []*agenteval.Trial
	for _, t := range all {
		if strings.HasPrefix(t.ID, id) {
			found = append(found, t)
		}
	}
	switch {
	case len(all) == 0:
		return nil, refusal.New("forge eval agents makes one", "there are no trials of agents")
	case len(found) == 0:
		return nil, refusal.New("forge eval agents --list names them", "there is no trial of agents %q", text.FirstLine(id, 60))
	case id != "" && len(found) > 1:
		return nil, refusal.New("write more of its id", "%q is the beginning of %d trials of agents", text.FirstLine(id, 60), len(found))
	}
	return found[len(found)-1], nil
}
