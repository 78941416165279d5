package api

import (
	"fmt"
	"testing"
	"time"

	"forge/internal/work"
)

func FuzzCursor(f *testing.F) {
	f.Add("eyJ0IjoiMjAyNi0wMS0wMlQwMzowNDowNVoiLCJiIjp7InAiOjF9LCJyIjp7InAvcjEiOjJ9fQ")
	f.Add("")
	f.Fuzz(func(t *testing.T, id string) {
		c, err := readCursor(id)
		if err != nil {
			return
		}
		again, err := readCursor(c.String())
		if err != nil || fmt.Sprint(again) != fmt.Sprint(c) {
			t.Fatalf("%v came back as %v, %v", c, again, err)
		}
	})
}

// Streams that are cut off anywhere, of runs that begin, rest for hours and go
// on: after the first place every event is heard, in order; one that is heard
// twice is one that was sent after the last id.
func TestCursorLosesNothing(t *testing.T) {
	for seed := range 12 {
		rand := uint64(seed)*2654435761 + 1
		draw := func(_ string, most int) int {
			rand ^= rand << 13
			rand ^= rand >> 7
			rand ^= rand << 17
			return int(rand % uint64(most))
		}
		now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
		all := map[string][]work.Event{}
		updated := map[string]time.Time{}
		due := map[string][]int64{} // what has to be heard
		last := map[string]int64{}  // heard so far
		var c cursor
		begun := false
		for range draw("steps", 900) {
			step := draw("step", 11)
			now = now.Add(time.Duration(draw("pause", 4000)) * time.Second)
			switch {
			case step < 7:
				run := fmt.Sprint("r", draw("run", 400))
				for range 1 + draw("events", 4) {
					now = now.Add(time.Millisecond)
					all[run] = append(all[run], work.Event{Seq: int64(len(all[run]) + 1), Time: now})
					if begun {
						due[run] = append(due[run], int64(len(all[run])))
					}
				}
				updated[run] = now
			case !begun:
				c.fill()
				c.Since, begun = now, true
			default: // the stream catches up, then is cut off
				for run, events := range all {
					if _, named := c.Runs[run]; !named && !updated[run].After(c.Since) {
						continue
					}
					for _, e := range c.news(run, events) {
						if len(due[run]) == 0 || due[run][0] != e.Seq || e.Seq <= last[run] {
							t.Fatalf("seed %d: heard %s %d, due were %v", seed, run, e.Seq, due[run])
						}
						due[run], last[run] = due[run][1:], e.Seq
					}
				}
				for run, left := range due {
					if len(left) > 0 {
						t.Fatalf("seed %d: %v of %s was not heard", seed, left, run)
					}
				}
				c.prune(now.Add(-time.Hour), updated)
				var err error
				if c, err = readCursor(c.String()); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}

// Nobody opens streams without end, and one who has many holds up nobody else.
func TestStreamsAreBounded(t *testing.T) {
	s := &streams{}
	for n := range mostStreamsEach {
		if !s.begin("anna") {
			t.Fatalf("stream %d is refused", n)
		}
	}
	if s.begin("anna") || !s.begin("bert") {
		t.Error("one person's streams are not bounded by themselves")
	}
	if s.end("anna"); !s.begin("anna") {
		t.Error("a stream that ended still counts")
	}
	for n := 0; s.all < mostStreams; n++ {
		s.begin(fmt.Sprint("somebody ", n))
	}
	if s.begin("carl") {
		t.Errorf("there are more than %d streams", mostStreams)
	}
}
