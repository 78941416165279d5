package orchestrator

import (
	"fmt"
	"slices"
	"strings"

	"forge/gates"
	"forge/internal/text"
	"forge/internal/work"
)

// gateEdit is where a person's own edits become what the work goes on from.
const gateEdit = "edit"

func editGate() gate { return gate{names: []string{gateEdit}, fold: foldEdit} }

func foldEdit(s *State, p *Phase, d folded) {
	if d.Decision != decideGo || d.Commit == "" || p.Stage == StageFinished {
		return
	}
	p.Last, p.Tree, p.Reset = d.Commit, "", true
	if len(d.Conflicts) > 0 {
		p.Marked = d.Conflicts // else what is looked for stays so
	}
	if p.Reworking {
		s.Final.Taken = append(slices.Clip(s.Final.Taken), d.Commit)
	}
}

// edited takes a person's edits over: the phase that is worked on again goes on
// from the commit that holds them, which is proven and reviewed as the agent's
// work is. Edits of something else than what was judged are not taken, and that
// is said.
func (d *decision) edited(cp *work.Checkpoint, e work.Edited, by string) {
	p, judged := d.s.judgedAt(cp)
	files := text.ClipJSON(strings.Join(e.Files, ", "), 1000)
	if p == nil || e.Commit == "" || e.Base != judged || !NamesConflicts(e.Conflicts) {
		d.phase(cp.Phase, work.Warned, WarnedData{What: "a person's edits were not taken: they are of something else than what was judged", Detail: files})
		return
	}
	d.decide(p.Number, work.GateDecidedData{
		Gate: gateEdit, Decision: decideGo, By: by, Facts: files, Commit: e.Commit, Conflicts: e.Conflicts, Reason: fmt.Sprintf("%s edited by hand", text.Number(len(e.Files), "file")),
	})
}

// NamesConflicts says that an event can name all files that are in conflict: what
// it does not name, nobody would look for markers in.
func NamesConflicts(files []string) bool {
	const most, each = 30, 200
	return slices.Equal(clipList(files, most, each), files)
}

// judgedAt is the phase that is worked on again when changes are requested at
// cp, and the commit that is judged there; nil where edits have no place.
func (s *State) judgedAt(cp *work.Checkpoint) (*Phase, string) {
	p := s.Phases[cp.Phase]
	if s.Job != nil {
		switch gates.Point(cp.Kind) {
		case gates.PointPlanInitial, gates.PointPlanLater, gates.PointTactical, gates.PointFinal:
			if p != nil {
				return p, p.Last
			}
		}
		return nil, ""
	}
	switch gates.Point(cp.Kind) {
	case gates.PointPhaseTransition:
		if p != nil {
			return p, p.Last
		}
	case gates.PointFindings:
		if p != nil {
			return p, p.Review.Commit
		}
	case gates.PointFinal, gates.PointPromote, gates.PointEvidence:
		return s.Phases[s.LastMerged], s.HeadOf(s.RepositoryOf(s.LastMerged))
	}
	return nil, ""
}

// TakesEdits says that a person may edit what cp judges, and which commit that
// is.
func (s *State) TakesEdits(cp work.Checkpoint) (judged string, ok bool) {
	p, judged := s.judgedAt(&cp)
	return judged, p != nil && judged != ""
}
