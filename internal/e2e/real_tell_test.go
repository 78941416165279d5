//go:build real

package e2e

import (
	"encoding/json"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"forge/internal/fakemodel"
	"forge/internal/journal"
	"forge/internal/work"
	"forge/orchestrator"
)

// theWord is what a person says while an agent works.
const theWord = "The colour is ultramarine, and nothing else."

// untilGo is a command that goes on until there is a file "go", or for two minutes. It
// substitutes nothing, which Gemini CLI refuses.
const untilGo = `touch waits; timeout 120 sh -c "until [ -f go ]; do sleep 0.2; done"`

// theNote is in the file that goes with it.
const theNote = "Ultramarine is a blue, made of lapis lazuli."

// Forge is killed around a word to a working agent, which a file goes with: when it
// was just said, and when the agent has it, or as far as its protocol gets it. Whoever
// resumes gives it once, and it counts as read.
func TestRealTellKilled(t *testing.T) {
	for _, when := range []string{"said", "delivered"} {
		t.Run(when, func(t *testing.T) {
			eachPlayer(t, func(t *testing.T, p player) {
				c := newWith(t, p, "off", onePhase(3, ""), proveB+skipPermissions)
				c.write("repo/note.txt", theNote+"\n")
				var resumed atomic.Bool
				c.server.Answered(p.name, c.goesOn(&resumed))
				var told work.Told
				evs, code := c.follow(func(e event, kill func()) {
					if e.Kind != "iteration.started" || told.ID != "" {
						return
					}
					c.untilWaits()
					said := make(chan work.Told, 1)
					go func() { said <- c.saysTo(e.Run, theWord, "--file", "note.txt") }()
					if when == "said" {
						c.untilInbox(e.Run)
						kill()
					}
					told = <-said // which looks for a while whether its agent has it
					kill()
				}, "run", "--autonomous")
				if code != -1 {
					t.Fatalf("forge was not killed: exit code %d", code)
				}
				t.Logf("%s: %s, midway %v", when, told.State, told.Midway)
				resumed.Store(true)
				c.runs(0, "resume")
				c.toldOnce(evs[0].Run)
			})
		})
	}
}

// goesOn answers an agent by what it asks: until Forge is resumed it waits, and then it
// writes a file and is done. What outlives a Forge that was killed may ask once more,
// and takes nothing that is meant for the next attempt.
func (c *withAgent) goesOn(resumed *atomic.Bool) func(fakemodel.Request) fakemodel.Turn {
	waits, writes := says("I wait.", c.player.shell(untilGo)), says("I go on.", c.player.write("b.txt", "b\n"))
	return func(r fakemodel.Request) fakemodel.Turn {
		talk, err := conversation(r)
		if err != nil {
			return says("I cannot read that: " + err.Error())
		}
		results, wrote := 0, strings.Contains(string(r.Body), "b.txt\"") || strings.Contains(string(r.Body), "b.txt\\")
		for _, s := range talk {
			if s.result {
				results++
			}
		}
		switch {
		case !resumed.Load() && results == 0:
			return waits
		case !resumed.Load():
			return says("I still wait.")
		case wrote:
			return claim
		}
		return writes
	}
}

// untilWaits waits until the agent of the only phase runs untilGo.
func (c *withAgent) untilWaits() {
	for end := time.Now().Add(patience); time.Now().Before(end) && !exists(c.at("state/runs/*/phases/01/waits")); {
		time.Sleep(50 * time.Millisecond)
	}
}

// saysTo says something to the agent that works.
func (c *withAgent) saysTo(run, words string, more ...string) (told work.Told) {
	c.t.Helper()
	out, stderr, code := c.forge(append([]string{"tell", run, "--message", words, "--output", "json"}, more...)...)
	if code != 0 || json.Unmarshal([]byte(out), &told) != nil || told.ID == "" {
		c.t.Errorf("forge tell: exit code %d: %s%s", code, out, stderr)
	}
	return told
}

// untilInbox waits until a run's word is on the disk.
func (c *withAgent) untilInbox(run string) {
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(time.Millisecond) {
		store, err := journal.Open(c.t.Context(), c.at("state"))
		if err != nil {
			continue
		}
		rows, err := store.Inbox(c.t.Context(), run)
		events, _ := store.Events(c.t.Context(), run, 0)
		_ = store.Close()
		if err == nil && len(rows) > 0 || slices.ContainsFunc(events, func(e work.Event) bool { return e.Kind == work.PhaseTold }) {
			return
		}
	}
}

// toldOnce holds a run that is over against what a person said in it: its record has
// the word once, it was read, and the conversation that led to the result holds it
// once.
func (c *withAgent) toldOnce(run string) {
	c.t.Helper()
	store, err := journal.Open(c.t.Context(), c.at("state"))
	if err != nil {
		c.t.Fatal(err)
	}
	defer store.Close()
	all, err := store.Events(c.t.Context(), run, 0)
	if err != nil {
		c.t.Fatal(err)
	}
	var ids []string
	given := 0 // since the last death
	for _, e := range all {
		var told orchestrator.ToldData
		var began work.IterationStartedData
		var ended work.IterationFinishedData
		switch {
		case e.Kind == work.PhaseTold && work.Decode(e, &told) == nil && told.Text == theWord && told.Refused == "":
			ids = append(ids, told.ID)
		case e.Kind == work.RunResumed:
			given = 0
		case e.Kind == work.IterationStarted && work.Decode(e, &began) == nil && len(ids) > 0 && slices.Contains(began.Told, ids[0]):
			given++
		case e.Kind == work.IterationFinished && work.Decode(e, &ended) == nil && len(ids) > 0 && slices.Contains(ended.Heard, ids[0]):
			given++
		}
	}
	if len(ids) != 1 || given != 1 {
		c.t.Errorf("the record has it %d times, and it was given %d times after the death", len(ids), given)
	}
	requests := c.server.Requests(c.player.name)
	for i := len(requests) - 1; i >= 0; i-- {
		if requests[i].Side {
			continue
		}
		talk, err := conversation(requests[i])
		if err != nil {
			c.t.Fatal(err)
		}
		for _, what := range []string{theWord, theNote} {
			heard := 0
			for _, s := range talk {
				if s.by == "user" {
					heard += strings.Count(s.words, what)
				}
			}
			if heard != 1 {
				c.t.Errorf("the last conversation holds %q %d times", what, heard)
			}
		}
		return
	}
	c.t.Error("the model was never asked")
}
