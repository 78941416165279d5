package gates

import (
	"testing"

	"pgregory.net/rapid"
)

// At answers about a policy with registered types as StopsAt answers about the
// preset, whatever is registered and asked.
func TestCheckpointTypesAgreeWithStopsAt(t *testing.T) {
	preset, _ := Preset(PresetSemiSupervised)
	kinds := []string{"phase_transition", "deliverable", "final_output", "release-notes", "design", "other"}
	rapid.Check(t, func(t *rapid.T) {
		types := rapid.SliceOfNDistinct(rapid.SampledFrom(kinds[:5]), 1, 4, rapid.ID).Draw(t, "types")
		p := preset.WithCheckpointTypes(types)
		for _, kind := range kinds {
			if got, want := p.At(CheckpointPoint(kind)) == Human, preset.StopsAt(kind, types); got != want {
				t.Errorf("types %v: %s stops %v, want %v", types, kind, got, want)
			}
		}
		if p.Preset != "" || len(p.Validate()) > 0 {
			t.Errorf("types %v make %q with %v", types, p.Preset, p.Validate())
		}
	})
	if again, _ := Preset(PresetSemiSupervised); again.At(PointDeliverable) != Human {
		t.Error("the preset itself was changed")
	}
}

func TestCheckpointTypesLeaveOtherPoliciesAlone(t *testing.T) {
	for _, info := range Presets() {
		p, _ := Preset(info.Name)
		types := []string{"release-notes"}
		if info.Name == PresetSemiSupervised {
			types = nil
		}
		if q := p.WithCheckpointTypes(types); q.Version() != p.Version() || q.Preset != info.Name {
			t.Errorf("%s with types %v became another policy", info.Name, types)
		}
	}
}
