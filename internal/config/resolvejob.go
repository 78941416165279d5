package config

import "forge/internal/work"

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
	set.Phases = map[string]work.PhaseSettings{}
	return set, phase, nil
}
