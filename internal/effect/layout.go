package effect

import (
	"fmt"
	"path/filepath"
	"strings"
)

// Layout says where the folders of a project's runs are.
type Layout struct {
	State    string // the state folder, hidden from agents
	Checkout string // root of the user's checkout
	// Workspace is where the agent of the phase WorkspacePhase works, in place of a
	// folder of Forge's own; "" = nowhere else.
	Workspace string
	// Repository is the one of several that Checkout is of; "" = the home.
	Repository string
	// Others are further folders that are hidden from agents: the state of the other
	// repositories of a run.
	Others []string
}

// WorkspacePhase is the one phase of an issue that has a workspace.
const WorkspacePhase = "1"

// RunDir holds everything of a run that is not in the journal.
func (l Layout) RunDir(run string) string { return filepath.Join(l.State, "runs", run) }

// PhaseDir is where the agent of a phase works.
func (l Layout) PhaseDir(run, phase string) string {
	if l.Workspace != "" && phase == WorkspacePhase {
		return l.Workspace
	}
	return filepath.Join(l.RunDir(run), "phases", phase)
}

// VerifyDir is where a phase is proven.
func (l Layout) VerifyDir(run, phase string) string {
	if l.Repository != "" {
		// The bases of several repositories are proven under one name.
		phase = l.Repository + "." + phase
	}
	return filepath.Join(l.RunDir(run), "verify", phase)
}

// Log is the raw output of one effect.
func (l Layout) Log(run, name string) string {
	return filepath.Join(l.RunDir(run), "logs", name+".log")
}

// IterationLog is the raw output of one attempt at an iteration.
func (l Layout) IterationLog(run, phase string, iteration, attempt int) string {
	return l.Log(run, fmt.Sprintf("%s-%d-%d", phase, iteration, attempt))
}

// IterationTimes says when the parts of an iteration's log came.
func (l Layout) IterationTimes(run, phase string, iteration, attempt int) string {
	return strings.TrimSuffix(l.IterationLog(run, phase, iteration, attempt), ".log") + ".times"
}
