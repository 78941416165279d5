package agent

import (
	"slices"
	"testing"
)

func TestInstructs(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"CLAUDE.md": true, "CLAUDE.local.md": true, ".mcp.json": true, "AGENTS.md": true, "AGENTS.override.md": true, "GEMINI.md": true,
		"opencode.json": true, "opencode.jsonc": true, "CONTEXT.md": true,
		"sub/folder/AGENTS.md": true, ".claude/settings.json": true, "sub/.codex/config.toml": true, ".gemini/.env": true, ".opencode/agent/x.md": true,
		".claude":   true, // a link may stand in the place of the folder
		"README.md": false, "claude.md.txt": false, "claude/settings.json": false, "docs/AGENTS.md/page": false, "": false, "/": false,
	} {
		if got := Instructs(name); got != want {
			t.Errorf("Instructs(%q) = %v", name, got)
		}
	}
}

// TestInstructionGlobs: every name of every kind is among them, and each kind
// that works by a program of its vendor has some.
func TestInstructionGlobs(t *testing.T) {
	t.Parallel()
	globs := InstructionGlobs()
	for _, want := range []string{"CLAUDE.md", "opencode.jsonc", ".claude/**", "**/.claude/**", "**/.codex/**", ".gemini/**", "**/.opencode/**"} {
		if !slices.Contains(globs, want) {
			t.Errorf("%s is missing in %q", want, globs)
		}
	}
	for name, k := range kinds() {
		if own := len(k.facts.LoginFiles) > 0; own != (len(k.facts.Instructions) > 0) {
			t.Errorf("%s: logs in by itself: %v; instructed by %q", name, own, k.facts.Instructions)
		}
	}
}
