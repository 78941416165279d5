package orchestrator

import (
	"math"
	"testing"

	"forge/internal/work"
)

func caps(c work.Cost) func(*Spec) { return setting(func(s *work.Settings) { s.Cost = c }) }

func usd(v float64) *float64 { return &v }

func tokens(v int64) *int64 { return &v }

// Each cap ends the run as limit when it is hit, and the run goes on when it
// is raised.
func TestCaps(t *testing.T) {
	tests := []struct {
		name   string
		cap    work.Cost
		raised work.Cost
		before func(st *story) // what is consumed until the cap is hit
	}{
		{"iteration_usd", work.Cost{IterationUSD: usd(1), RunUSD: usd(2.5)}, work.Cost{IterationUSD: usd(1), RunUSD: usd(9)},
			func(st *story) { st.work("01", uses(1, 1)); st.work("01", uses(1, 1)) }},
		{"phase_usd", work.Cost{PhaseUSD: usd(2)}, work.Cost{PhaseUSD: usd(9)},
			func(st *story) { st.work("01", uses(1, 1)); st.work("01", uses(1, 1)) }},
		{"run_usd", work.Cost{RunUSD: usd(2)}, work.Cost{RunUSD: usd(9)},
			func(st *story) { st.work("01", uses(1.5, 1)); st.work("01", uses(0.5, 1)) }},
		{"day_usd", work.Cost{DayUSD: usd(2)}, work.Cost{DayUSD: usd(9)},
			func(st *story) { st.folder("01"); st.day.USD = 2; st.work("01", uses(0, 1)) }},
		{"iteration_tokens", work.Cost{IterationTokens: tokens(100), RunTokens: tokens(250)}, work.Cost{RunTokens: tokens(900)},
			func(st *story) { st.work("01", uses(1, 100)); st.work("01", uses(1, 100)) }},
		{"phase_tokens", work.Cost{PhaseTokens: tokens(100)}, work.Cost{PhaseTokens: tokens(900)},
			func(st *story) { st.work("01", uses(1, 100)) }},
		{"run_tokens", work.Cost{RunTokens: tokens(100)}, work.Cost{RunTokens: tokens(900)},
			func(st *story) { st.work("01", uses(1, 100)) }},
		{"day_tokens", work.Cost{DayTokens: tokens(100)}, work.Cost{DayTokens: tokens(900)},
			func(st *story) { st.folder("01"); st.day.Tokens = 100; st.work("01", uses(1, 1)) }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			st := tell(t, budget(9), caps(tt.cap))
			tt.before(st)
			st.stopped(work.RunLimit, "cost.")
			st.runEnded(work.RunLimit)
			st.dies(Resumed{})
			st.stopped(work.RunLimit, "cost.")
			st.runEnded(work.RunLimit)
			st.dies(Resumed{RunResumedData: RunResumedData{Cost: &tt.raised}})
			st.isPending("01 iterate")
		})
	}
}

func TestTheIterationAtTheLimit(t *testing.T) {
	st := tell(t, caps(work.Cost{RunUSD: usd(10)}))
	st.work("01", uses(4, 1))
	if most, _ := st.s.ceiling(st.phase("01"), st.day); most == nil || *most != 6 {
		t.Errorf("the next iteration may cost %v, want the 6 that are left", most)
	}
	st.work("01", uses(6, 1), ends(work.OutcomeCostLimit))
	st.stopped(work.RunLimit, "cost limit")
	st.runEnded(work.RunLimit)
	st.dies(Resumed{RunResumedData: RunResumedData{Cost: &work.Cost{}}})
	st.isPending("01 iterate")
	if p := st.phase("01"); p.Last != "c2" || p.Spent != 2 {
		t.Errorf("the phase goes on from %s with %d spent, want c2 and 2", p.Last, p.Spent)
	}
}

func TestReservations(t *testing.T) {
	per := work.Cost{IterationUSD: usd(1), RunUSD: usd(1.5)}
	t.Run("the second phase waits until the first has reported", func(t *testing.T) {
		st := tell(t, phases("01", "02"), caps(per))
		st.folder("01")
		st.folder("02")
		st.isPending("01 iterate")
		st.work("01", uses(0.2, 1))
		st.isPending("01 iterate") // its next one came first
		st.work("01", uses(0.2, 1), says("P01"))
		st.isPending("01 verify", "02 iterate")
	})
	t.Run("likewise for tokens", func(t *testing.T) {
		st := tell(t, phases("01", "02"), caps(work.Cost{IterationTokens: tokens(100), RunTokens: tokens(150)}))
		st.folder("01")
		st.folder("02")
		st.isPending("01 iterate")
		st.begun("01", StepIterate)
		st.feed(Tick{})
		st.isPending("01 iterate")
	})
	t.Run("the report replaces the reservation", func(t *testing.T) {
		st := tell(t, caps(per))
		st.work("01", uses(0.25, 1))
		if l := st.s.Ledger; l.USD != 0.25 || len(l.Reserved) != 0 {
			t.Errorf("the ledger is %+v, want 0.25 spent and nothing reserved", l)
		}
	})
	t.Run("silence leaves it standing", func(t *testing.T) {
		st := tell(t, caps(per))
		st.work("01")
		if l := st.s.Ledger; l.USD != 1 || l.UnknownUSD != 0 {
			t.Errorf("the ledger is %+v, want the reservation spent", l)
		}
		st.stopped(work.RunLimit, "run_usd")
	})
	t.Run("a dead process forfeits it", func(t *testing.T) {
		st := tell(t, caps(work.Cost{IterationUSD: usd(1), RunUSD: usd(5)}))
		st.folder("01")
		st.begun("01", StepIterate)
		st.dies(Resumed{})
		if l := st.s.Ledger; l.USD != 1 || len(l.Reserved) != 0 {
			t.Errorf("the ledger is %+v, want the reservation spent", l)
		}
	})
	t.Run("a broken iteration keeps it", func(t *testing.T) {
		st := tell(t, caps(per))
		st.folder("01")
		st.feed(Broke{Command: st.begun("01", StepIterate), Problem: "no such program"})
		if l := st.s.Ledger; l.USD != 1 || len(l.Reserved) != 0 {
			t.Errorf("the ledger is %+v, want the reservation spent", l)
		}
	})
	t.Run("sub-phases draw on the same remainder", func(t *testing.T) {
		st := tell(t, budget(9), caps(work.Cost{PhaseUSD: usd(2)}))
		st.work("01", uses(1, 1), asksFor(part("S", 3)))
		st.work("01.1", uses(1, 1))
		st.stopped(work.RunLimit, "phase_usd")
	})
}

func TestUnknownUsage(t *testing.T) {
	negative, infinite := uses(-1, -1), uses(math.Inf(1), 1)
	for name, told := range map[string]func(*IterationDone){"missing": func(*IterationDone) {}, "negative": negative, "infinite": infinite, "no number": uses(math.NaN(), 1)} {
		t.Run(name+" under a cap", func(t *testing.T) {
			st := tell(t, caps(work.Cost{RunUSD: usd(100)}))
			st.work("01", told)
			st.stopped(work.RunLimit, "unknown")
			st.runEnded(work.RunLimit)
			if d := last[work.RunFinishedData](st, work.RunFinished); d.CostUSD != nil {
				t.Errorf("the run cost %v, want unknown", *d.CostUSD)
			}
			st.dies(Resumed{})
			st.stopped(work.RunLimit, "unknown")
			st.runEnded(work.RunLimit)
			st.dies(Resumed{RunResumedData: RunResumedData{AcceptUnknown: true}})
			st.isPending("01 iterate")
		})
		t.Run(name+" without a cap", func(t *testing.T) {
			st := tell(t)
			st.work("01", told)
			st.isPending("01 iterate")
		})
	}
	t.Run("tokens under a cap", func(t *testing.T) {
		st := tell(t, caps(work.Cost{RunTokens: tokens(100)}))
		st.work("01", func(d *IterationDone) { d.Report.Usage.CostUSD = usd(0) })
		st.stopped(work.RunLimit, "tokens of 1 iteration are unknown")
		st.runEnded(work.RunLimit)
		st.dies(Resumed{RunResumedData: RunResumedData{AcceptUnknown: true}})
		st.isPending("01 iterate")
	})
	t.Run("absurd, and twice", func(t *testing.T) {
		st := tell(t, budget(9))
		for range 3 {
			st.work("01", uses(math.MaxFloat64, math.MaxInt64))
		}
		if l := st.s.Ledger; math.IsInf(l.USD, 0) || l.Tokens < 0 {
			t.Errorf("the ledger is %+v", l)
		}
		st.feed(Stop{Outcome: work.RunInterrupted})
		st.runEnded(work.RunInterrupted)
	})
}
