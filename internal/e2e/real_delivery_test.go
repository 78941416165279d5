//go:build real

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"forge/internal/fakemodel"
	"forge/orchestrator"
)

const (
	// deliveryMost is how long a word may take, at the 99th percentile, from its being
	// typed until the agent has it.
	deliveryMost = 2 * time.Second
	// mostToAPhase is how many words one phase takes, so that more of them need
	// another run.
	mostToAPhase = 20
)

// TestRealTellDelivery says words to each agent while it works, from a terminal through
// the journal and the inbox, and holds how long each took until its program had it.
// FORGE_DELIVERIES says how many; the table of docs/checkpoints.md is of 100:
//
//	FORGE_DELIVERIES=100 scripts/real.sh -v -run RealTellDelivery ./internal/e2e
//
// One after the other: agents that start meanwhile are not what is measured.
func TestRealTellDelivery(t *testing.T) {
	count, most := 5, 5*deliveryMost
	if s := os.Getenv("FORGE_DELIVERIES"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil || n < 1 {
			t.Fatalf("FORGE_DELIVERIES is %q", s)
		}
		count, most = n, deliveryMost
	}
	table := "| agent | words | on record: p50 | p99 | its program has it: p50 | p99 |\n|---|---|---|---|---|---|\n"
	for _, p := range players() {
		t.Run(p.name, func(t *testing.T) {
			var all deliveries
			for all.count() < count {
				one := saysMany(t, p, min(count-all.count(), mostToAPhase))
				all.recorded, all.taken = append(all.recorded, one.recorded...), append(all.taken, one.taken...)
			}
			table += fmt.Sprintf("| %s | %d | %s | %s |\n", p.name, all.count(), percentiles(all.recorded), percentiles(all.taken))
			switch {
			case p.later && len(all.taken) > 0:
				t.Errorf("it took %d words while it worked", len(all.taken))
			case !p.later && len(all.taken) != count:
				t.Errorf("it took %d of %d words while it worked", len(all.taken), count)
			}
			for _, took := range [][]time.Duration{all.recorded, all.taken} {
				if len(took) > 0 && at(took, 99) > most {
					t.Errorf("p99 is %v, at most %v", at(took, 99), most)
				}
			}
		})
	}
	t.Logf("from forge tell being typed:\n%s", table)
}

// deliveries are how long words took from being typed.
type deliveries struct {
	recorded []time.Duration // until the run's record held it
	taken    []time.Duration // until the agent's program had it
}

func (d deliveries) count() int { return len(d.recorded) }

// at is a percentile.
func at(took []time.Duration, percent int) time.Duration {
	slices.Sort(took)
	return took[(len(took)*percent+99)/100-1]
}

func percentiles(took []time.Duration) string {
	if len(took) == 0 {
		return "with its next prompt | –"
	}
	return fmt.Sprintf("%d ms | %d ms", at(took, 50).Milliseconds(), at(took, 99).Milliseconds())
}

// saysMany says so many words to an agent that runs a command, in a run of their own.
func saysMany(t *testing.T, p player, count int) (out deliveries) {
	t.Helper()
	done := claim
	done.Repeat = -1
	c := newWith(t, p, "off", onePhase(9, ""), "[verify]\ncommands = [\"test -f a.txt\"]\n"+skipPermissions, says("I wait.", p.shell(untilGo)), done)
	var mu sync.Mutex
	recorded, taken, typed := map[string]time.Time{}, map[string]time.Time{}, map[string]time.Time{}
	var said sync.WaitGroup
	begun := false
	_, code := c.follow(func(e event, _ func()) {
		now := time.Now()
		mu.Lock()
		defer mu.Unlock()
		var told orchestrator.ToldData
		var ended orchestrator.TellFinishedData
		switch e.Kind {
		case "iteration.started":
			if begun {
				return
			}
			begun = true
			said.Go(func() {
				c.untilWaits()
				for n := range count {
					begin := time.Now()
					m := c.saysTo(e.Run, fmt.Sprintf("This is word %d.", n))
					mu.Lock()
					typed[m.ID] = begin
					mu.Unlock()
				}
				folders, _ := filepath.Glob(c.at("state/runs/*/phases/01"))
				for _, f := range folders {
					_ = os.WriteFile(filepath.Join(f, "go"), nil, 0o644)
				}
			})
		case "phase.told":
			if json.Unmarshal(e.Data, &told) == nil && told.Refused == "" {
				recorded[told.ID] = now
			}
		case "tell.finished":
			if json.Unmarshal(e.Data, &ended) == nil && ended.Taken {
				taken[ended.ID] = now
			}
		}
	}, "run", "--autonomous")
	said.Wait()
	if code != 0 {
		t.Fatalf("the run ended with exit code %d", code)
	}
	for id, begin := range typed {
		if when, ok := recorded[id]; ok {
			out.recorded = append(out.recorded, when.Sub(begin))
		}
		if when, ok := taken[id]; ok {
			out.taken = append(out.taken, when.Sub(begin))
		}
	}
	if len(out.recorded) != count {
		t.Fatalf("%d of %d words are on record", len(out.recorded), count)
	}
	requests := c.server.Requests(p.name)
	for n := range count {
		if word := fmt.Sprintf("This is word %d.", n); !slices.ContainsFunc(requests, func(r fakemodel.Request) bool { return strings.Contains(string(r.Body), word) }) {
			t.Errorf("the model was never given %q", word)
		}
	}
	return out
}
