package orchestrator

import (
	"slices"
	"strings"

	texts "forge/internal/text"
	"forge/internal/work"
)

// The evidence for an issue's criteria is weighed for one content, that of the
// run's head: nothing that was said of another one is looked at.

// Said is what one reviewer says of one criterion.
type Said struct {
	Reviewer string
	Gating   bool
	work.CriterionAnswer
}

// Landing is what a phase brought into the result, and what its reviewers say
// of the criteria. A later landing that touches the same files voids that.
type Landing struct {
	Phase string
	// Files are marks of the paths that it touched, see PathMarks; Known is
	// false where nobody can tell which those are.
	Files []string
	Known bool
	Said  []Said
}

// overlaps says that b may have changed what was said of a.
func (a *Landing) overlaps(b *Landing) bool {
	return !a.Known || !b.Known || slices.ContainsFunc(a.Files, func(f string) bool { return slices.Contains(b.Files, f) })
}

// land adds a landing. same says that it changed nothing; rework that it was
// asked for on the whole result, so that all of it has to be looked at anew.
// What a gating reviewer denies is gone from earlier landings for good.
func land(before []Landing, l Landing, same, rework bool) []Landing {
	out := make([]Landing, 0, len(before)+1)
	for _, b := range before {
		if !same && (rework || b.overlaps(&l)) {
			b.Said = nil
		}
		b.Said = slices.DeleteFunc(slices.Clone(b.Said), func(s Said) bool { return s.Met && l.denies(s.ID) })
		out = append(out, b)
	}
	return append(out, l)
}

// denies says that a gating reviewer saw that a criterion is not met.
func (a *Landing) denies(id string) bool {
	return slices.ContainsFunc(a.Said, func(s Said) bool { return s.ID == id && s.Gating && !s.Met })
}

// proof is the verify commands that passed on the content that is judged.
type proof struct {
	phase    string
	commands []string
}

// maxEvidence is how much is recorded of what speaks for one criterion.
const maxEvidence = 3

// weigh says what speaks for each criterion, or against it. A gating reviewer
// who saw that a criterion is not met takes away what reviewers said before,
// and stands until a gating reviewer of a later landing says otherwise, or a
// person does.
func weigh(criteria []work.Criterion, landings []Landing, p proof, commit string) []work.Evidence {
	var out []work.Evidence
	for _, c := range criteria {
		var found []work.Evidence
		for _, name := range named(c.Text) {
			if slices.Contains(p.commands, name) {
				found = append(found, work.Evidence{Criterion: c.ID, By: work.EvidenceVerify, Met: true, What: name, Phase: p.phase, Commit: commit})
				break
			}
		}
		out = append(out, append(found, reviewed(c.ID, landings, commit)...)...)
	}
	return out
}

func reviewed(id string, landings []Landing, commit string) []work.Evidence {
	var found []work.Evidence
	against := false
	for _, l := range landings {
		var here []work.Evidence
		denied, confirmed := l.denies(id), false
		for _, s := range l.Said {
			// Within one landing a no outweighs every yes.
			if s.ID != id || s.Met == denied || !s.Met && !s.Gating {
				continue
			}
			here = append(here, work.Evidence{
				Criterion: id, By: work.EvidenceReviewer, Who: s.Reviewer, Met: s.Met, What: s.Evidence, Phase: l.Phase, Commit: commit,
			})
			confirmed = confirmed || s.Met && s.Gating
		}
		switch {
		case denied:
			found, against = here, true
		case against && !confirmed:
		case against:
			found, against = here, false
		default:
			found = append(found, here...)
		}
	}
	return found[:min(len(found), maxEvidence)]
}

// met says that evidence about one criterion is enough: a person's word, or
// something for it and nothing against it.
func met(of []work.Evidence) bool {
	yes, no := false, false
	for _, e := range of {
		if e.By == work.EvidencePerson && e.Met {
			return true
		}
		yes, no = yes || e.Met, no || !e.Met
	}
	return yes && !no
}

// about is what of all is about one criterion.
func about(id string, all []work.Evidence) []work.Evidence {
	var out []work.Evidence
	for _, e := range all {
		if e.Criterion == id {
			out = append(out, e)
		}
	}
	return out
}

// named are the commands that a criterion names in backticks, as a person sees
// it.
func named(text string) []string {
	text, _ = texts.Reveal(text)
	parts := strings.Split(text, "`")
	var out []string
	for i := 1; i+1 < len(parts); i += 2 {
		if name := strings.TrimSpace(parts[i]); name != "" {
			out = append(out, name)
		}
	}
	return out
}
