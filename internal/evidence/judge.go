package evidence

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"forge/internal/proof"
	"forge/internal/work"
)

// Judge implements effect.Evidence.
func (s *Store) Judge(ctx context.Context, req work.EvidenceRequest) (work.EvidenceReport, error) {
	rep, err := s.judge(ctx, req)
	if err != nil {
		return rep, fmt.Errorf("hold %s against the evidence: %w", req.Commit, err)
	}
	return rep, nil
}

func (s *Store) judge(ctx context.Context, req work.EvidenceRequest) (work.EvidenceReport, error) {
	var rep work.EvidenceReport
	trusted, err := s.trusted(ctx, req)
	if err != nil {
		return rep, err
	}
	m, err := s.survey(ctx, trusted, req)
	if err != nil {
		return rep, err
	}
	of, err := s.compare(ctx, m, trusted, req)
	if err != nil {
		return rep, err
	}
	own, err := s.compare(ctx, m, req.Base, req)
	if err != nil {
		return rep, err
	}

	rep.Trusted, rep.Touched = differing(of), differing(own)
	rep.Settings = settings(of, own)
	rep.New = leftOut(of, own)
	rep.Changed = otherNow(of, own)
	if rep.Floors, err = s.floors(ctx, req.Commit, floorOf{trusted, of}, floorOf{req.Base, own}); err != nil {
		return rep, err
	}
	for _, one := range own {
		switch {
		case one.allowed && one.changed():
			rep.Allowed = append(rep.Allowed, one.path)
		case one.mixed.How == "grew":
			rep.Notes = append(rep.Notes, one.path+" is new evidence")
		}
		if one.mixed.Note != "" {
			rep.Notes = append(rep.Notes, one.path+": "+one.mixed.Note)
		}
		if one.mixed.Seen.Class != proof.Evidence && one.now != nil {
			rep.Product = append(rep.Product, one.path)
		}
	}
	rep.Doubts = doubts(m, of, own)
	if err := s.judgeParts(ctx, m, req, &rep); err != nil {
		return rep, err
	}
	for _, part := range req.Parts {
		weaker, err := s.weakerThan(ctx, m, part, req)
		if err != nil {
			return rep, err
		}
		rep.Doubts = addNew(rep.Doubts, weaker)
	}
	return rep, nil
}

// weakerThan is what the evidence that a part of the phase's work changed lost
// since that was proven. What others changed is theirs.
func (s *Store) weakerThan(ctx context.Context, m *proof.Map, part work.ProvenPart, req work.EvidenceRequest) ([]work.Doubt, error) {
	changes, err := s.repo.Changes(ctx, part.Base, part.Commit)
	if err != nil {
		return nil, err
	}
	mine := map[string]bool{}
	for _, c := range changes {
		mine[c.Path] = true
	}
	since, err := s.compare(ctx, m, part.Commit, req)
	if err != nil {
		return nil, err
	}
	var out []work.Doubt
	for _, w := range weaker(m, since) {
		if mine[w.Path] {
			out = append(out, work.Doubt{Kind: work.DoubtWeakened, Path: w.Path, Line: w.Line, What: w.What, Floor: work.OnProtected})
		}
	}
	return out, nil
}

// addNew adds the doubts that are not said already.
func addNew(said, more []work.Doubt) []work.Doubt {
	for _, d := range more {
		if !slices.ContainsFunc(said, func(x work.Doubt) bool {
			return x.Kind == d.Kind && x.Path == d.Path && x.Line == d.Line && x.What == d.What
		}) {
			said = append(said, d)
		}
	}
	return said
}

// differing is the evidence that is not the floor's, and that nothing excuses.
// A new test adds to what is proven; a new setting changes how.
func differing(all []seen) []string {
	var out []string
	for _, one := range all {
		if !one.allowed && (one.changed() || one.mixed.How == "grew" && decides(one.mixed.Seen.Rule)) {
			out = append(out, one.path)
		}
	}
	return out
}

// otherNow is the evidence that is there and was another before.
func otherNow(all ...[]seen) []string {
	var out []string
	for _, one := range slices.Concat(all...) {
		if one.was != nil && one.now != nil && (one.back || one.content || one.allowed) {
			out = append(out, one.path)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// leftOut are the new files that count as evidence, and that say nothing of how
// proofs are made.
func leftOut(all ...[]seen) []string {
	var out []string
	for _, one := range slices.Concat(all...) {
		if one.added && one.back && !one.allowed && !decides(one.mixed.Seen.Rule) {
			out = append(out, one.path)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// settings are the changed paths that decide how tests are run and are none.
func settings(all ...[]seen) []string {
	var out []string
	for _, one := range slices.Concat(all...) {
		switch one.mixed.Seen.Rule {
		case proof.RuleTestFile, proof.RuleCollected, proof.RuleInlineTest, proof.RuleImported, proof.RuleByTests, proof.RuleOpened:
			if !proof.IsSettings(one.path) { // they may stand among the tests
				continue
			}
		}
		if one.changed() || one.mixed.How == proof.Grew && decides(one.mixed.Seen.Rule) {
			out = append(out, one.path)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// floorOf is a floor with what differs from it.
type floorOf struct {
	commit string
	seen   []seen
}

// floors are those whose trees are not the commit's own, and no two of which
// are one tree, with the modes of files and with those that nobody reads.
func (s *Store) floors(ctx context.Context, commit string, trusted, base floorOf) ([]work.VerifyOn, error) {
	var due []work.VerifyOn
	var trees []string
	for _, floor := range []work.VerifyOn{work.OnTrusted, work.OnTrustedNew, work.OnTrustedChanged, work.OnProtected, work.OnProtectedChanged} {
		of := trusted
		if floor == work.OnProtected || floor == work.OnProtectedChanged {
			of = base
		}
		if !slices.ContainsFunc(of.seen, func(one seen) bool { return !one.stays(floor) && (one.back || one.content) }) {
			continue
		}
		mixed, err := s.mix(ctx, floor, of.commit, of.seen, commit)
		if err != nil {
			return nil, err
		}
		tree, err := s.repo.TreeOf(ctx, mixed)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(trees, tree) {
			due, trees = append(due, floor), append(trees, tree)
		}
	}
	return due, nil
}

// doubts are what makes the proof worth less than it looks.
func doubts(m *proof.Map, of, own []seen) []work.Doubt {
	var out []work.Doubt
	add := func(d work.Doubt) {
		at := func(x work.Doubt) bool {
			return x.Kind == d.Kind && x.Path == d.Path && x.Line == d.Line && x.What == d.What
		}
		if !slices.ContainsFunc(out, at) {
			out = append(out, d)
		}
	}
	for _, w := range weaker(m, of) {
		add(work.Doubt{Kind: work.DoubtWeakened, Path: w.Path, Line: w.Line, What: w.What, Floor: work.OnTrusted})
	}
	for _, w := range weaker(m, own) {
		add(work.Doubt{Kind: work.DoubtWeakened, Path: w.Path, Line: w.Line, What: w.What, Floor: work.OnProtected})
	}
	for _, one := range own {
		if one.mixed.Seen.Class == proof.Evidence || one.now == nil {
			continue
		}
		for _, w := range proof.Suppressions(one.path, one.was, one.now) {
			add(work.Doubt{Kind: work.DoubtWeakened, Path: w.Path, Line: w.Line, What: w.What, Floor: work.OnProtected})
		}
		for _, w := range proof.TestAware(one.path, one.was, one.now) {
			add(work.Doubt{Kind: work.DoubtTestAware, Path: w.Path, Line: w.Line, What: w.What})
		}
	}
	return out
}

// weaker is what the evidence that differs from a floor lost. What may_change
// names may differ, so that other expectations alone are no loss there.
func weaker(m *proof.Map, all []seen) []proof.Weakness {
	was, now := map[string][]byte{}, map[string][]byte{}
	allowed := map[string]bool{}
	var unread []proof.Weakness
	for _, one := range all {
		if one.mixed.How == proof.Same {
			continue
		}
		if one.unread && one.changed() {
			unread = append(unread, proof.Weakness{Kind: "unread", Path: one.path, What: "nobody can compare it: it is too large, or no file"})
			continue
		}
		was[one.path], now[one.path], allowed[one.path] = one.was, one.now, one.allowed
	}
	found := append(unread, m.Weaker(was, now)...)
	found = append(found, goneWhole(all)...)
	return slices.DeleteFunc(found, func(w proof.Weakness) bool {
		return allowed[w.Path] && strings.HasPrefix(w.Kind, "expectation")
	})
}

// goneWhole names evidence that was removed and in which nothing was recognised
// that could stand elsewhere now: a fixture, a list of cases, a helper.
func goneWhole(all []seen) []proof.Weakness {
	var out []proof.Weakness
	for _, one := range all {
		if one.was == nil || one.now != nil || one.allowed || !one.changed() || one.unread {
			continue
		}
		moved := slices.ContainsFunc(all, func(other seen) bool {
			return other.was == nil && other.now != nil && string(other.now) == string(one.was)
		})
		if !moved && len(proof.Weaker(one.path, one.was, nil)) == 0 {
			out = append(out, proof.Weakness{Kind: proof.KindTestGone, Path: one.path, What: "it is gone"})
		}
	}
	return out
}
