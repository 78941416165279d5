package config

import "slices"

// External says that what is to be done was written by somebody who has no say on
// this machine, such as the author of an issue of a tracker. It is an input of
// Load: a configuration for such work is hardened from its beginning on, and no
// file, variable or flag takes that back.
type External struct {
	// Evidence are globs of further files that proofs rest on: those that instruct
	// agents. A person is shown every change of them.
	Evidence []string
	// AsConfigured leaves the sandbox as it is configured. Only the user's own
	// configuration may say so. Otherwise it is required.
	AsConfigured bool
}

// External is what was said of the work that this configuration is for; nil where
// it is the owner's.
func (c *Config) External() *External {
	if c == nil {
		return nil
	}
	return c.external
}

// harden is the last word on what the work of somebody else may do.
func (c *Config) harden(by *External) {
	if c.external = by; by == nil {
		return
	}
	c.File.Verify.Protected = slices.Concat(c.File.Verify.Protected, by.Evidence)
	if by.AsConfigured {
		return
	}
	mode := "required"
	c.File.Sandbox.Mode = &mode
	c.origins["sandbox.mode"] = "what was written elsewhere"
}
