package orchestrator

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"

	"forge/gates"
	"forge/internal/work"
)

// lab is what the worlds of one test share.
type lab struct {
	interactive, autonomous gates.Policy
	pulls                   bool // there is a code host
	hooks                   bool // there are hooks
	owing                   bool // controls leave something, and nobody is asked about doubts
	trains                  bool // phases run side by side and are merged together
	tries                   bool // phases are tried several times side by side
	council                 bool // likewise, and their workers judge each other's tries
	pages                   bool // the owner names pages that are shown for each proof
}

func newLab(t testing.TB) *lab {
	t.Helper()
	l := &lab{}
	for name, into := range map[string]*gates.Policy{gates.PresetInteractive: &l.interactive, gates.PresetFull: &l.autonomous} {
		p, ok := gates.Preset(name)
		if !ok {
			t.Fatalf("there is no preset %s", name)
		}
		*into = p
	}
	return l
}

// dice is what a world is thrown with.
type dice struct {
	*rand.Rand
	// side is thrown for what came to the world later, so that the schedules
	// from before stay what they were where it does not happen.
	side *rand.Rand
	// hook is thrown for hooks alone, rest for what controls have no time for,
	// split for phases that are split into parts, others for several
	// agents, level for levels of phases, looks for those that want people to look,
	// learns for lessons, soft for tests that were made softer,
	// rails for phases that are merged together, several for those that are tried
	// several times, shows for pages.
	hook, rest, split, others, level, looks, learns, soft, rails, several, shows *rand.Rand
}

func newDice(seed uint64, data []byte) dice {
	return dice{rand.New(&bytesThenSeed{data: data, rest: rand.NewPCG(seed, 0x5eed)}), rand.New(rand.NewPCG(seed, 0x51de)), rand.New(rand.NewPCG(seed, 0x400c)), rand.New(rand.NewPCG(seed, 0x4e57)), rand.New(rand.NewPCG(seed, 0x5b117)), rand.New(rand.NewPCG(seed, 0xa6e7)), rand.New(rand.NewPCG(seed, 0x1e7e1)), rand.New(rand.NewPCG(seed, 0x100c5)), rand.New(rand.NewPCG(seed, 0x1ea4)), rand.New(rand.NewPCG(seed, 0x50f7)), rand.New(rand.NewPCG(seed, 0x7ea1)), rand.New(rand.NewPCG(seed, 0x7219)), rand.New(rand.NewPCG(seed, 0x9a6e))}
}

func (d dice) chance(percent int) bool { return d.IntN(100) < percent }

func (d dice) aside(percent int) bool { return d.side.IntN(100) < percent }

// bytesThenSeed lets a fuzzer steer the first throws, one byte each.
type bytesThenSeed struct {
	data []byte
	rest *rand.PCG
}

func (b *bytesThenSeed) Uint64() uint64 {
	n := b.rest.Uint64()
	if len(b.data) > 0 {
		n = uint64(b.data[0])<<56 | n>>8
		b.data = b.data[1:]
	}
	return n
}

// randomPolicy is one of the presets, or a mixture of both.
func (l *lab) randomPolicy(d dice) gates.Policy {
	if l.owing {
		p := l.autonomous
		p.Preset, p.Gates = "", maps.Clone(p.Gates)
		for _, point := range gates.DoubtPoints() {
			p.Gates[point] = gates.Auto
		}
		return p
	}
	switch x := d.IntN(100); {
	case x < 35:
		return l.autonomous
	case x < 60:
		return l.interactive
	}
	p := l.autonomous
	p.Preset, p.Gates = "", maps.Clone(p.Gates)
	for _, point := range []gates.Point{
		gates.PointDeliverable, gates.CheckpointPoint("notes"),
		gates.PointPhaseStart, gates.PointIteration, gates.PointStale, gates.PointSubPhase,
		gates.PointFindings, gates.PointFinal, gates.PointPhaseTransition, gates.PointFinalOutput,
	} {
		if d.chance(30) {
			p.Gates[point] = gates.Human
		}
	}
	for _, point := range []gates.Point{gates.PointQuestion, gates.PointBlocker} {
		if d.aside(50) {
			p.Gates[point] = gates.Human
		}
	}
	if d.split.IntN(100) < 40 {
		p.Gates[gates.PointDecompose] = gates.Human
	}
	if p.At(gates.PointStale) == gates.Human {
		p.OnStale = gates.AskOnStale
	}
	if p.At(gates.PointFindings) == gates.Human {
		p.FailVerdict = gates.AskOnFail
	}
	if d.chance(30) {
		p.StartUnasked = gates.StartLowRisk
	}
	for _, point := range gates.DoubtPoints() {
		if d.chance(15) {
			p.Gates[point] = gates.Auto
		}
	}
	return p
}

func (l *lab) randomSpec(d dice) Spec {
	sp := Spec{
		Policy: l.randomPolicy(d), Branch: "forge/run-sim", Base: work.Base{Commit: "c0", Branch: "main"},
		AnswerYes: d.chance(20), NoMerge: d.chance(10),
	}
	set := &sp.Settings
	*set = work.Settings{
		MaxParallel: 1 + d.IntN(3), FailFast: d.chance(10), AutoApproveThreshold: 5, OutageWaitSecs: 300 + d.IntN(1500),
		Stale:  work.StaleSettings{Threshold: d.IntN(4)},
		Agents: map[string]work.AgentSettings{"a": {Name: "a", Continues: d.chance(50)}},
		Phases: map[string]work.PhaseSettings{},
	}
	switch x := d.IntN(100); {
	case x < 70:
		set.Verify.Commands = []string{"make test"}
		set.Verify.AllowRedBaseline = d.chance(15)
	case x < 80:
		set.Verify.None = true
	case x > 89 && x < 93:
		set.Verify.Warm = []string{"make phase"}
	}
	set.Cost = randomCost(d)
	for i := range 1 + d.IntN(5) {
		ph := work.Phase{Number: fmt.Sprintf("%02d", i+1), Name: fmt.Sprintf("phase %d", i+1), Promise: fmt.Sprintf("P%d", i+1)}
		for j := range i {
			if d.chance(30) {
				ph.DependsOn = append(ph.DependsOn, fmt.Sprintf("%02d", j+1))
			}
		}
		ps := work.PhaseSettings{
			Budget: 1 + d.IntN(4), Agent: "a", Permission: work.PermissionStandard, AskIteration: d.chance(5), Verify: set.Verify.Commands,
		}
		switch x := d.IntN(100); {
		case x < 8:
			ps.Permission = work.PermissionReadonly
		case x < 16:
			ps.Permission = work.PermissionAutonomous
		case x < 22:
			ps.Verify, ps.VerifyOwn = []string{"make phase"}, true
		case x < 26:
			ps.Sensitive = "*"
		case x < 30:
			ps.ContextTokens = 150
		}
		sp.Plan.Phases = append(sp.Plan.Phases, ph)
		set.Phases[ph.Number] = ps
	}
	randomReviews(d, &sp)
	if d.chance(50) {
		set.CheckpointTypes = []string{"notes"}
	}
	if d.chance(30) {
		sp.Bound = &l.interactive
		sp.Policy = gates.Meet(sp.Policy, *sp.Bound)
	}
	randomSplits(d, set)
	randomAgents(d, set)
	l.randomJob(d, &sp)
	l.randomIssue(d, &sp)
	if d.chance(30) {
		set.CheckpointExpirySecs = 60 * (1 + d.IntN(60))
	}
	if d.chance(15) && sp.Job == nil {
		for _, ph := range sp.Plan.Phases {
			if d.chance(60) {
				sp.Only = append(sp.Only, ph.Number)
			}
		}
	}
	if l.pulls {
		l.withPulls(d, &sp)
	}
	randomLevels(d, &sp)
	randomLooks(d, &sp)
	randomLessons(d, &sp)
	return sp
}

// perIteration is the most that an iteration of the simulated agent costs by
// itself; its tokens are a fifth of a thousand.
const (
	perIteration       = 0.25
	perIterationTokens = 200
)

func randomCost(d dice) work.Cost {
	var c work.Cost
	usd := func(most float64) *float64 { v := 0.3 + d.Float64()*most; return &v }
	tokens := func(most int64) *int64 { v := perIterationTokens + d.Int64N(most); return &v }
	if d.chance(25) {
		c.RunUSD = usd(4)
	}
	if d.chance(12) {
		c.PhaseUSD = usd(1)
	}
	if d.chance(8) {
		c.DayUSD = usd(4)
	}
	if (c != work.Cost{}) && d.chance(70) {
		v := perIteration
		c.IterationUSD = &v
	}
	if d.chance(12) {
		c.RunTokens = tokens(3000)
	}
	if d.chance(8) {
		c.PhaseTokens = tokens(800)
	}
	if d.chance(6) {
		c.DayTokens = tokens(3000)
	}
	if (c.RunTokens != nil || c.PhaseTokens != nil || c.DayTokens != nil) && d.chance(70) {
		v := int64(perIterationTokens)
		c.IterationTokens = &v
	}
	return c
}
