package gates

import "slices"

// WithCheckpointTypes is p in a project that registers checkpoint types for
// its agents. In preset semi_supervised they stop in the place of the three
// types that Forge itself knows, which then take the mode of AnyCheckpoint, so
// that At answers as StopsAt does when it is given the types; the result has
// no preset's name. Every other policy, and no types, stay as they are.
func (p Policy) WithCheckpointTypes(types []string) Policy {
	if p.Preset != PresetSemiSupervised || len(types) == 0 {
		return p
	}
	p = p.clone()
	p.Preset = ""
	for _, pt := range []Point{PointPhaseTransition, PointDeliverable, PointFinalOutput} {
		delete(p.Gates, pt)
	}
	for _, kind := range slices.Sorted(slices.Values(types)) {
		p.Gates[CheckpointPoint(kind)] = Human
	}
	return p
}
