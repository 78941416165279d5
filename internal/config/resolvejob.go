package config

import (
	"fmt"

	"forge/internal/work"
)

// JobFacts are what a job says about its phases, before the configuration.
type JobFacts struct {
	Agent, Model string // of its expert; "" = the configuration's
	Budget       int    // iterations of a phase; 0 = the configuration's
	Source       string // what says Agent, as shown to the user
}

// jobPhase is the name under which the configuration's globs see the phases of
// jobs, and its number in what ResolveJob returns.
const jobPhase = "job"

// ResolveJob computes what a job works with. Its phases are not planned, so
// that all run with the same settings, which overrides and sensitive patterns
// know by the name job. The error is *Problems.
func ResolveJob(cfg *Config, of JobFacts, facts Facts) (work.Settings, work.PhaseSettings, error) {
	plan := &Plan{File: of.Source, Plan: work.Plan{Phases: []work.Phase{{
		Number: jobPhase, Name: jobPhase, Agent: of.Agent, Model: of.Model, Budget: of.Budget,
	}}}}
	set, err := Resolve(cfg, plan, facts)
	if err != nil {
		return work.Settings{}, work.PhaseSettings{}, err
	}
	phase := set.Phases[jobPhase]
	if err := cfg.jobIsDoneOnce(phase); err != nil {
		return work.Settings{}, work.PhaseSettings{}, err
	}
	set.Phases = map[string]work.PhaseSettings{}
	return set, phase, nil
}

// jobIsDoneOnce refuses tries and a council for the phases of jobs: each phase goes
// on from the one before, in documents that people read meanwhile.
func (c *Config) jobIsDoneOnce(phase work.PhaseSettings) error {
	if phase.Tries < 2 {
		return nil
	}
	col := &collector{}
	if phase.Council != nil {
		file, at := c.where("council", "enabled")
		if overFile, overAt := c.overrideOf(jobPhase, "council"); overAt.line > 0 {
			file, at = overFile, overAt
		}
		col.add(file, at, "the phases of a job have no council", `write council = { enabled = false } below [phases.overrides."job"]`)
		return col.err()
	}
	file, at := c.overrideOf(jobPhase, "tries")
	col.add(file, at, fmt.Sprintf("the phases of a job are not tried several times, and tries is %d for them", phase.Tries), `write tries = 1 below [phases.overrides."job"], or a glob that "job" does not match`)
	return col.err()
}
