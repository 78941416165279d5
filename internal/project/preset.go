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

// CheckLevel refuses the name of a policy that the project at root has not; "" is
// none.
func CheckLevel(env Env, root, name string) error {
	if name == "" {
		return nil
	}
	cfg, err := RecordedConfig(env, root)
	if err == nil {
		_, err = Preset(cfg, name)
	}
	if hint := gates.OldNameHint(name); hint != "" && err == nil {
		env.Log.Warn(hint)
	}
	return err
}
