package project

import (
	"fmt"
	"strings"

	"forge/gates"
	"forge/internal/config"
	"forge/internal/refusal"
	"forge/internal/text"
)

// Preset is the policy that a person named, of those that cfg has.
func Preset(cfg *config.Config, name string) (gates.Policy, error) {
	policy, ok := cfg.Presets().Preset(name)
	if ok {
		return policy, nil
	}
	fix := "forge policy list shows them: " + strings.Join(cfg.Presets().Names(), ", ")
	if near := cfg.Presets().Nearest(name); near != "" {
		fix = fmt.Sprintf("did you mean %q?", near)
	}
	return gates.Policy{}, refusal.New(fix, "unknown preset %q", text.FirstLine(name, 60))
}
