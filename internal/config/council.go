package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"forge/internal/text"
	"forge/internal/work"
)

// Council is [council], in the words of the Rust Forge and a few of Forge's own.
type Council struct {
	Enabled           *bool                    `toml:"enabled" default:"false" doc:"Each phase that a command proves is done by several workers, who judge each other's changes; a chairman makes one result out of them. See tries.md."`
	Workers           map[string]CouncilWorker `toml:"workers" doc:"Who works, by the name of an agent; at least two." sample:"claude"`
	Reviewers         []string                 `toml:"reviewers" doc:"Who judges instead of the workers: AGENT, or AGENT:MODEL. None judges its own." sample:"[\"gemini\"]" rule:"filled some"`
	Chairman          *string                  `toml:"chairman" doc:"The agent that makes one result out of all, AGENT or AGENT:MODEL; without it the first worker by name." sample:"\"claude\"" rule:"filled"`
	ChairmanModel     *string                  `toml:"chairman_model" doc:"Its model, instead of the agent's." sample:"\"model-name\"" rule:"filled"`
	ChairmanRetries   *int                     `toml:"chairman_retry_budget" default:"3" doc:"The chairman's iterations." rule:"min=1 max=100"`
	AnonymizeReviews  *bool                    `toml:"anonymize_reviews" default:"true" doc:"Nobody who judges is told whose a change is. It cannot be switched off."`
	ChairmanReasoning *string                  `toml:"chairman_reasoning_effort" used:"no" doc:"Of the Rust Forge; see agents.NAME.args." sample:"\"high\""`
}

// CouncilWorker is one [council.workers.NAME].
type CouncilWorker struct {
	Cmd             *string  `toml:"cmd" doc:"The agent, where the table's name is none." sample:"\"claude\"" rule:"filled"`
	Model           *string  `toml:"model" doc:"Its model, instead of the agent's." sample:"\"model-name\"" rule:"filled"`
	Role            *string  `toml:"role" used:"no" doc:"Of the Rust Forge." sample:"\"worker\""`
	Flags           []string `toml:"flags" used:"no" doc:"Of the Rust Forge; see agents.NAME.args." sample:"[\"--flag\"]"`
	ReasoningEffort *string  `toml:"reasoning_effort" used:"no" doc:"Of the Rust Forge; see agents.NAME.args." sample:"\"high\""`
	Sandbox         *string  `toml:"sandbox" used:"no" doc:"Of the Rust Forge; see [sandbox]." sample:"\"workspace-write\""`
	ApprovalPolicy  *string  `toml:"approval_policy" used:"no" doc:"Of the Rust Forge." sample:"\"on-failure\""`
}

// CouncilSwitch switches the council of single phases.
type CouncilSwitch struct {
	Enabled *bool `toml:"enabled" doc:"Whether these phases have a council, instead of council.enabled." sample:"true"`
}

// fewestWorkers is how many make a council.
const fewestWorkers = 2

// checkCouncil refuses what a council is not, and says where there is none.
func (c *Config) checkCouncil(col *collector) {
	f := c.File.Council
	if f.AnonymizeReviews != nil && !*f.AnonymizeReviews {
		file, at := c.where("council", "anonymize_reviews")
		col.add(file, at, "council.anonymize_reviews is false, and workers are never told whose a change is", "remove it")
	}
	if n := len(f.Workers); said(f.Enabled) && n < fewestWorkers {
		file, at := c.where("council", "enabled")
		col.warn(file, at, fmt.Sprintf("a council has at least %d workers, and [council.workers] names %d: phases without tries of their own are done once", fewestWorkers, n), "name another one as [council.workers.NAME]")
	}
}

// council resolves who judges the tries of a phase. Its workers make the tries where
// the phase names none itself.
func (r *resolver) council(ph work.Phase, over Override, ps *work.PhaseSettings, where func(string) (string, place)) {
	f := r.cfg.File.Council
	own := ph.Council != nil || over.Council.Enabled != nil
	if on := firstSaid(ph.Council, over.Council.Enabled, f.Enabled); !on {
		return
	}
	bad := func(key, what, fix string) {
		file, at := r.cfg.where("council", key)
		switch overFile, overAt := r.cfg.overrideOf(ph.Name, "council"); {
		case ph.Council != nil && key == "enabled":
			file, at = where("council")
		case overAt.line > 0 && key == "enabled":
			file, at = overFile, overAt
		}
		r.once(Problem{File: file, Line: at.line, Col: at.col, What: "phase " + text.Clip(ph.Number, mostQuoted) + ": " + what, Fix: fix})
	}
	if ps.Tries < fewestWorkers {
		if len(f.Workers) < fewestWorkers {
			if own && !said(f.Enabled) {
				bad("enabled", fmt.Sprintf("its council has %d workers", len(f.Workers)), "name at least two as [council.workers.NAME], or leave its council out")
			}
			return // it was warned of when the file was read
		}
		if !r.councilTries(ph, ps, own, bad) {
			return
		}
	}
	if ps.TriesUntil == work.TriesFirst {
		bad("enabled", `a council judges all tries, and tries_until is "first"`, "leave tries_until out, or the council")
		return
	}
	c := &work.Council{Budget: said(f.ChairmanRetries)}
	for _, one := range f.Reviewers {
		if t, ok := r.member(one, "", func(what, fix string) { bad("reviewers", what, fix) }); ok {
			c.Reviewers = append(c.Reviewers, t)
		}
	}
	var members []work.TryAgent
	for n := range ps.Tries {
		t := work.TryAgent{Agent: ps.Agent, Model: ps.Model}
		if len(ps.TryAgents) > 0 {
			t = ps.TryAgents[n%len(ps.TryAgents)]
		}
		if !slices.Contains(members, t) {
			members = append(members, t)
		}
	}
	if len(members) < fewestWorkers && len(c.Reviewers) == 0 {
		bad("enabled", "its tries are all made by one worker, and none judges its own", "name try_agents that differ, or council.reviewers")
		return
	}
	chairman := said(f.Chairman)
	if chairman == "" {
		c.Chairman = members[0]
		if m := said(f.ChairmanModel); m != "" {
			c.Chairman.Model = m
		}
	} else if t, ok := r.member(chairman, said(f.ChairmanModel), func(what, fix string) { bad("chairman", what, fix) }); ok {
		c.Chairman = t
	}
	ps.Council = c
}

// councilTries lets the workers of [council] make the tries of a phase, where it can
// have tries; own says that it asked for a council itself.
func (r *resolver) councilTries(ph work.Phase, ps *work.PhaseSettings, own bool, bad func(key, what, fix string)) bool {
	switch {
	case len(ps.Verify) == 0:
		bad("enabled", "it has a council, and no command proves any of its work", "name verify commands, or switch its council off: only what is proven can be taken")
		return false
	case ps.Permission == work.PermissionReadonly, strings.Contains(ph.Number, "."):
		if own {
			bad("enabled", "a readonly phase, and one whose number has a point, has no council", "switch its council off")
		}
		return false
	}
	var tries []work.TryAgent
	for _, name := range slices.Sorted(maps.Keys(r.cfg.File.Council.Workers)) {
		w := r.cfg.File.Council.Workers[name]
		agent := name
		if _, what, _ := r.agent(name); what != "" && w.Cmd != nil {
			agent = *w.Cmd
		}
		t, ok := r.member(agent, said(w.Model), func(what, fix string) { bad("workers", what, fix) })
		if !ok {
			return false
		}
		tries = append(tries, t)
	}
	if len(tries) > work.MaxTries {
		bad("workers", fmt.Sprintf("%d workers are too many", len(tries)), fmt.Sprintf("name %d at most", work.MaxTries))
		return false
	}
	ps.Tries, ps.TriesUntil, ps.TryAgents = len(tries), "", tries
	return true
}

// member is an agent of a council, AGENT or AGENT:MODEL, with its model.
func (r *resolver) member(name, model string, bad func(what, fix string)) (work.TryAgent, bool) {
	var one work.PhaseSettings
	fine := true
	r.tryAgents([]string{name}, &one, func(what, fix string) { fine = false; bad(what, fix) })
	if !fine {
		return work.TryAgent{}, false
	}
	t := one.TryAgents[0]
	if model != "" {
		t.Model = model
	}
	return t, true
}

// firstSaid is the first of them that somebody said; false where nobody did.
func firstSaid(all ...*bool) bool {
	for _, one := range all {
		if one != nil {
			return *one
		}
	}
	return false
}
