package config

import (
	"slices"

	"forge/internal/work"
)

const strict = "strict"

// mapDeprecated turns words of older versions into today's, with one warning
// for each place that says one. "strict" loses nothing: its pattern becomes
// sensitive and asks before every iteration.
func (c *Config) mapDeprecated(col *collector) {
	for _, l := range c.layers {
		warn := func(what, fix string, path ...string) { col.warn(l.file, l.index.find(path), what, fix) }
		if said(l.said.Defaults.PermissionMode) == strict {
			warn(`permission_mode "strict" is deprecated: every phase is now sensitive and asks before each iteration`,
				`write permission_mode = "standard" and autonomy.sensitive_patterns`, "defaults", "permission_mode")
		}
		for _, o := range c.overrides {
			if o.file == l.file && said(o.said.PermissionMode) == strict {
				warn(`permission_mode "strict" is deprecated: phases matching `+quoteString(o.glob)+` are now sensitive and ask before each iteration`,
					`write permission_mode = "standard" and add the glob to autonomy.sensitive_patterns.patterns`,
					"phases", "overrides", o.glob, "permission_mode")
			}
		}
		switch mode := said(l.said.Reviews.Mode); mode {
		case "manual":
			warn(`reviews.mode "manual" is deprecated and means "auto"`, "where a person decides is the policy's matter: autonomy.level", "reviews", "mode")
		case "arbiter":
			warn(`reviews.mode "arbiter" is deprecated and means "auto"; model and threshold are kept`, `write mode = "auto"`, "reviews", "mode")
		}
		if l.said.Reviews.EscalateOn != nil {
			warn("reviews.escalate_on is deprecated and dropped", "remove it", "reviews", "escalate_on")
		}
		if l.said.Reviews.AutoProceedOn != nil {
			warn("reviews.auto_proceed_on is deprecated and dropped", "remove it", "reviews", "auto_proceed_on")
		}
	}
	c.applyDeprecated()
}

func (c *Config) applyDeprecated() {
	standard, auto := string(work.PermissionStandard), "auto"
	if said(c.File.Defaults.PermissionMode) == strict {
		c.File.Defaults.PermissionMode = &standard
		c.asks = append(c.asks, "*")
	}
	for i, o := range c.overrides {
		if said(o.said.PermissionMode) == strict {
			c.overrides[i].said.PermissionMode = &standard
			c.asks = append(c.asks, o.glob)
		}
	}
	for glob, o := range c.File.Phases.Overrides {
		if said(o.PermissionMode) == strict {
			o.PermissionMode = &standard
			c.File.Phases.Overrides[glob] = o
		}
	}
	patterns := slices.Clone(c.File.Autonomy.SensitivePatterns.Patterns)
	for _, glob := range c.asks {
		if !slices.Contains(patterns, glob) {
			patterns = append(patterns, glob)
		}
	}
	c.File.Autonomy.SensitivePatterns.Patterns = patterns
	if m := said(c.File.Reviews.Mode); m == "manual" || m == "arbiter" {
		c.File.Reviews.Mode = &auto
	}
	c.File.Reviews.EscalateOn, c.File.Reviews.AutoProceedOn = nil, nil
	delete(c.origins, "reviews.escalate_on")
	delete(c.origins, "reviews.auto_proceed_on")
}

// said is the value behind a pointer, or the zero value where nothing was said.
func said[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}
