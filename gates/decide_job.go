package gates

import (
	"encoding/json"
	"slices"
	"strings"

	"forge/internal/text"
	"forge/internal/work"
)

// FreezeAnswer is the answer of DecideFreeze.
type FreezeAnswer struct {
	Freeze        bool           `json:"freeze"`
	FreezeContext *FreezeContext `json:"freeze_context"` // null: it goes on
	JobStatus     JobStatus      `json:"job_status"`
	PR            string         `json:"pr"` // auto_merge or requires_approval
}

// DecideFreeze asks whether a job freezes at the end of a phase:
// {"level","phase_type","phase_number","job_complete"} → FreezeAnswer. Without
// a level the job's built-in one counts, partial.
func DecideFreeze(in []byte) (any, error) {
	o, err := parseObject(in, "", "level", "phase_type", "phase_number", "job_complete")
	if err != nil {
		return nil, err
	}
	p, _ := Preset(PresetPartial)
	if !o.silent("level") {
		if p, err = o.preset("level"); err != nil {
			return nil, err
		}
	}
	var b Boundary
	kind, err := o.text("phase_type")
	if err != nil {
		return nil, err
	}
	if b.Kind = work.PhaseKind(kind); b.Kind != work.KindStrategic && b.Kind != work.KindTactical {
		return nil, decideError(CodeBadValue, "phase_type is %q: want strategic or tactical", text.Clip(kind, mostQuoted))
	}
	if b.Number, err = o.whole("phase_number"); err != nil {
		return nil, err
	}
	if b.JobComplete, err = o.boolean("job_complete"); err != nil {
		return nil, err
	}
	d := p.AtBoundary(b)
	if d.Frozen == NotFrozen {
		return FreezeAnswer{JobStatus: d.Status, PR: "auto_merge"}, nil
	}
	return FreezeAnswer{Freeze: true, FreezeContext: &d.Frozen, JobStatus: d.Status, PR: "requires_approval"}, nil
}

// ResumeAnswer is the answer of DecideResume.
type ResumeAnswer struct {
	NextPhase *work.PhaseKind `json:"next_phase"` // null at the end
	NextKind  NextKind        `json:"next_kind"`
	Todos     *TodoSet        `json:"todos"` // null: none
	JobStatus JobStatus       `json:"job_status"`
	Merge     bool            `json:"merge"`
}

// DecideResume asks what follows the answer to a frozen job:
// {"freeze_context","decision"} → ResumeAnswer; decision is approve, feedback
// or reject.
func DecideResume(in []byte) (any, error) {
	o, err := parseObject(in, "", "freeze_context", "decision")
	if err != nil {
		return nil, err
	}
	frozen, err := o.text("freeze_context")
	if err != nil {
		return nil, err
	}
	if !slices.Contains(FreezeContexts(), FreezeContext(frozen)) {
		return nil, decideError(CodeBadValue, "freeze_context is %q: want %s", text.Clip(frozen, mostQuoted), strings.Join(words(FreezeContexts()), ", "))
	}
	decision, err := o.text("decision")
	if err != nil {
		return nil, err
	}
	answer, ok := map[string]work.CheckpointStatus{
		"approve": work.CheckpointApproved, "feedback": work.CheckpointChangesRequested, "reject": work.CheckpointRejected,
	}[decision]
	if !ok {
		return nil, decideError(CodeBadValue, "decision is %q: want approve, feedback or reject", text.Clip(decision, mostQuoted))
	}
	r, ok := ResumeAfter(FreezeContext(frozen), answer)
	if !ok {
		return nil, decideError(CodeBadValue, "nothing follows %s at %s: the job stays held", decision, frozen)
	}
	out := ResumeAnswer{NextKind: r.Next, JobStatus: r.Status, Merge: r.Merge}
	if r.Phase != "" {
		out.NextPhase = &r.Phase
	}
	if r.Todos != "" {
		out.Todos = &r.Todos
	}
	return out, nil
}

// LevelAnswer is the answer of DecideLevel.
type LevelAnswer struct {
	Effective string `json:"effective"` // a preset
}

// DecideLevel asks which level of a job counts:
// {"framework","expert","override","override_on_resume"} → LevelAnswer. Each is
// a preset, an expert also one of Experts; what is missing or null says
// nothing, and the later of those that say something wins. All that is said
// has to be known.
func DecideLevel(in []byte) (any, error) {
	fields := []string{"framework", "expert", "override", "override_on_resume"}
	o, err := parseObject(in, "", fields...)
	if err != nil {
		return nil, err
	}
	effective := PresetPartial
	for _, field := range fields {
		if o.silent(field) {
			continue
		}
		word, err := o.text(field)
		if err != nil {
			return nil, err
		}
		if field == "expert" && slices.Contains(Experts(), word) {
			word = ExpertLevel(word)
		}
		if _, err := namedPreset(field, word); err != nil {
			return nil, err
		}
		effective = word
	}
	return LevelAnswer{effective}, nil
}

// CheckpointAnswer is the answer of DecideCheckpoint.
type CheckpointAnswer struct {
	Checkpoint bool `json:"checkpoint"`
}

// DecideCheckpoint asks whether a checkpoint type stops for a person:
// {"level","type","checkpoint_types"?} → CheckpointAnswer. It asks the policy
// alone: any text is a type, registered or not, and is compared exactly.
func DecideCheckpoint(in []byte) (any, error) {
	o, err := parseObject(in, "", "level", "type", "checkpoint_types")
	if err != nil {
		return nil, err
	}
	p, err := o.preset("level")
	if err != nil {
		return nil, err
	}
	kind, err := o.text("type")
	if err != nil {
		return nil, err
	}
	if !o.has("checkpoint_types") {
		return CheckpointAnswer{p.StopsAt(kind, nil)}, nil
	}
	list, err := o.list("checkpoint_types")
	if err != nil {
		return nil, err
	}
	types := make([]string, len(list))
	for i, raw := range list {
		var s *string
		if json.Unmarshal(raw, &s) != nil || s == nil {
			return nil, decideError(CodeBadValue, "checkpoint_types[%d] is %s: want a string", i, text.Clip(string(raw), mostQuoted))
		}
		types[i] = *s
	}
	if p.Preset != PresetSemiSupervised { // elsewhere the level alone says it
		types = nil
	}
	return CheckpointAnswer{p.StopsAt(kind, types)}, nil
}
