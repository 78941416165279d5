package gates

import (
	"maps"
	"slices"
	"testing"

	"forge/internal/work"

	"pgregory.net/rapid"
)

// anyMoment draws a boundary as runs have them.
func anyMoment(t *rapid.T) Moment {
	boundaries := [][]Point{
		{PointPhaseStart}, {PointIteration}, {PointStale}, {PointSubPhase}, {PointFindings},
		{PointPhaseTransition}, {PointPhaseTransition, PointDeliverable}, {"ckpt.design"}, {PointFinal, PointFinalOutput},
		{PointPlanInitial}, {PointFinal, PointPlanLater}, {PointFinal, PointTactical},
	}
	return Moment{
		Points:   rapid.SampledFrom(boundaries).Draw(t, "points"),
		SubPhase: rapid.Bool().Draw(t, "sub"), Marked: rapid.Bool().Draw(t, "marked"),
		Start: PhaseFacts{
			Permission: rapid.SampledFrom([]work.PermissionMode{work.PermissionStandard, work.PermissionReadonly}).Draw(t, "permission"),
			Sensitive:  rapid.Bool().Draw(t, "sensitive"), Threshold: 5,
			DependencyFiles: rapid.SliceOfN(rapid.IntRange(-1, 7), 0, 2).Draw(t, "files"),
		},
	}
}

// anyPreset draws a preset with some axes of another.
func anyPreset(t *rapid.T) Policy {
	names := Catalogue{}.Names()
	p, _ := Preset(rapid.SampledFrom(names).Draw(t, "preset"))
	q, _ := Preset(rapid.SampledFrom(names).Draw(t, "other"))
	gates := map[string]any{}
	for _, pt := range Points() {
		if rapid.Bool().Draw(t, string(pt)) {
			gates[string(pt)] = string(q.At(pt))
		}
	}
	p, problems := p.With(map[string]any{"gates": gates})
	if len(problems) > 0 {
		t.Fatalf("a drawn policy cannot be used: %v", problems)
	}
	return p
}

// fewestAxes is the oracle of Least: every set of gates is opened, and what may
// start unasked tried both ways.
func fewestAxes(p Policy, m Moment) (int, bool) {
	closed := []Point{}
	for _, pt := range append(Points(), m.Points...) {
		if slices.Contains(Targets(), pt) || pt == PointPromote {
			continue // nothing of a run looks at them
		}
		if p.At(pt) == Human && !slices.Contains(closed, pt) {
			closed = append(closed, pt)
		}
	}
	best, found := 0, false
	for set := range 1 << len(closed) {
		for _, start := range []StartUnasked{p.StartUnasked, StartLowRisk} {
			q, n := p, 0
			q.Gates = maps.Clone(p.Gates)
			if start != q.StartUnasked {
				q.StartUnasked, n = start, 1
			}
			for i, pt := range closed {
				if set&(1<<i) == 0 {
					continue
				}
				n++
				q.Gates[pt] = Auto
				switch pt { // a response moves with its gate
				case PointStale:
					q.OnStale = PivotThenFail
				case PointFindings:
					q.FailVerdict = FailPhase
				}
			}
			if (!found || n < best) && !q.Stops(m) {
				best, found = n, true
			}
		}
	}
	return best, found
}

func TestLeastIsTheSmallestChange(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, m := anyPreset(t), anyMoment(t)
		changes, ok := p.Least(m)
		want, possible := fewestAxes(p, m)
		if ok != possible || ok && len(changes) != want {
			t.Fatalf("%v: %v, %v; the oracle has %d, %v", m.Points, changes, ok, want, possible)
		}
		if !ok {
			return
		}
		if q, usable := p.changed(changes); !usable || q.Stops(m) {
			t.Errorf("with %v it is asked all the same", changes)
		}
		if (len(changes) == 0) == p.Stops(m) {
			t.Errorf("stops %v, and the change is %v", p.Stops(m), changes)
		}
	})
}

// anyClaim draws what a model may say of an action.
func anyClaim(t *rapid.T) Proposal {
	risk := func(name string) Risk {
		return rapid.SampledFrom([]Risk{"", RiskLow, RiskMedium, RiskHigh, "odd"}).Draw(t, name)
	}
	pr := Proposal{
		Kind:            rapid.SampledFrom([]string{"standard", "improvised", "suggestion", "", "odd", KindClarification}).Draw(t, "kind"),
		Irreversibility: risk("irreversibility"), Regret: risk("regret"),
		Template: RiskProfile{Irreversibility: risk("template irreversibility"), Regret: risk("template regret")},
		Thread:   RiskProfile{Irreversibility: risk("thread irreversibility"), Regret: risk("thread regret")},
	}
	if rapid.Bool().Draw(t, "confident") {
		c := rapid.SampledFrom([]float64{0, 0.2, 0.6, 0.9, 1, 1.7, -1}).Draw(t, "confidence")
		pr.Confidence = &c
	}
	if rapid.Bool().Draw(t, "amplifier said") {
		a := rapid.Bool().Draw(t, "amplifier")
		pr.RiskAmplifier = &a
	}
	return pr
}

// fewestToAdvance is the oracle of LeastConfirm: every value of every axis.
func fewestToAdvance(p Policy, target Point, pr Proposal) (axes, steps int, ok bool) {
	floors := []float64{p.ConfidenceFloor, 0}
	if pr.Confidence != nil {
		floors = append(floors, *pr.Confidence)
	}
	consents := [][]string{p.Consent}
	for set := range 1 << len(p.Consent) {
		some := []string{}
		for i, w := range p.Consent {
			if set&(1<<i) != 0 {
				some = append(some, w)
			}
		}
		consents = append(consents, some)
	}
	kinds := [][]string{p.ActionKinds, ActionKinds()}
	for _, mode := range []Mode{p.At(target), Auto} {
		for _, floor := range floors {
			for _, consent := range consents {
				for _, kind := range kinds {
					for _, irreversible := range Risks() {
						for _, regret := range Risks() {
							for _, pause := range []bool{p.PauseOnRiskAmplifier, false} {
								q := p.clone()
								q.Gates[target], q.ConfidenceFloor, q.Consent, q.ActionKinds = mode, floor, consent, kind
								q.IrreversibilityMax, q.RegretMax, q.PauseOnRiskAmplifier = irreversible, regret, pause
								if len(q.Validate()) > 0 || q.Confirm(target, pr).Verdict != Advance {
									continue
								}
								n, s := 0, 0
								for _, differs := range []bool{
									mode != p.At(target), floor != p.ConfidenceFloor, !slices.Equal(consent, p.Consent), !slices.Equal(kind, p.ActionKinds),
									irreversible != p.IrreversibilityMax, regret != p.RegretMax, pause != p.PauseOnRiskAmplifier,
								} {
									if differs {
										n++
									}
								}
								s = max(most(irreversible)-most(p.IrreversibilityMax), 0) + max(most(regret)-most(p.RegretMax), 0)
								if p.PauseOnRiskAmplifier && !pause {
									s += 2
								}
								if !ok || n < axes || n == axes && s < steps {
									axes, steps, ok = n, s, true
								}
							}
						}
					}
				}
			}
		}
	}
	return axes, steps, ok
}

func TestLeastConfirmIsTheSmallestChange(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, pr := anyPreset(t), anyClaim(t)
		p.ConfidenceFloor = rapid.SampledFrom([]float64{0, 0.3, 0.6, 1}).Draw(t, "floor")
		p.IrreversibilityMax = rapid.SampledFrom(Risks()).Draw(t, "irreversibility_max")
		p.RegretMax = rapid.SampledFrom(Risks()).Draw(t, "regret_max")
		if rapid.Bool().Draw(t, "no kinds") {
			p.ActionKinds = []string{}
		}
		target := rapid.SampledFrom(Targets()).Draw(t, "target")
		changes, ok := p.LeastConfirm(target, pr)
		axes, steps, possible := fewestToAdvance(p, target, pr)
		if ok != possible {
			t.Fatalf("%+v: %v, %v; the oracle says %v", pr, changes, ok, possible)
		}
		if !ok {
			return
		}
		q, usable := p.changed(changes)
		if !usable || q.Confirm(target, pr).Verdict != Advance {
			t.Fatalf("with %v it does not advance", changes)
		}
		taken := max(most(q.IrreversibilityMax)-most(p.IrreversibilityMax), 0) + max(most(q.RegretMax)-most(p.RegretMax), 0)
		if p.PauseOnRiskAmplifier && !q.PauseOnRiskAmplifier {
			taken += 2
		}
		if len(changes) != axes || taken != steps {
			t.Errorf("%v (%d axes, %d steps); %d axes and %d steps are enough", changes, len(changes), taken, axes, steps)
		}
	})
}

func TestChangeReadsAsAPolicyFile(t *testing.T) {
	for want, c := range map[string]Change{
		`gates.final = "auto"`:              {Axis{Name: "final", Gate: true}, "auto", 0},
		`gates."ckpt.deliverable" = "auto"`: {Axis{Name: "ckpt.deliverable", Gate: true}, "auto", 0},
		`start_unasked = "low_risk"`:        {Axis{Name: "start_unasked"}, "low_risk", 0},
		`confidence_floor = 0.5`:            {Axis{Name: "confidence_floor"}, 0.5, 0},
		`consent = ["action_picked"]`:       {Axis{Name: "consent"}, []string{"action_picked"}, 0},
		`consent = []`:                      {Axis{Name: "consent"}, []string{}, 0},
	} {
		if got := c.String(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
