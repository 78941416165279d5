// Package config turns forge.toml, the user's configuration, the environment
// and flags into checked settings, and phases.json into a checked plan, naming
// every problem by file and line.
package config
