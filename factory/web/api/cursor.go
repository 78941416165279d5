package api

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	texts "forge/internal/text"
	"forge/internal/work"
)

// maxCursor bounds a Last-Event-ID.
const maxCursor = 64 << 10

// mostRuns is how many runs a cursor names before those that rest are left out
// of it.
const mostRuns = 200

// cursor is how far a stream has been heard: up to a line of each board, up to
// an event of each run that it names, and of every other run up to a time.
type cursor struct {
	Since  time.Time        `json:"t"`
	Boards map[string]int64 `json:"b,omitempty"` // by project
	Runs   map[string]int64 `json:"r,omitempty"` // by project and run
}

func runKey(project, run string) string { return project + "/" + run }

// String is the cursor as an event's id.
func (c cursor) String() string {
	text, err := json.Marshal(c)
	if err != nil {
		return "" // a time beyond the year 9999
	}
	return base64.RawURLEncoding.EncodeToString(text)
}

// readCursor reads an event's id.
func readCursor(id string) (cursor, error) {
	var c cursor
	if len(id) > maxCursor {
		return c, fmt.Errorf("read an event's id: it has %d bytes", len(id))
	}
	text, err := base64.RawURLEncoding.DecodeString(id)
	if err != nil {
		return c, fmt.Errorf("read an event's id: %w", err)
	}
	d := json.NewDecoder(strings.NewReader(string(text)))
	d.DisallowUnknownFields()
	if err := d.Decode(&c); err != nil {
		return c, fmt.Errorf("read an event's id: %w", err)
	}
	for _, all := range []map[string]int64{c.Boards, c.Runs} {
		for name, seq := range all {
			if seq < 0 {
				return c, fmt.Errorf("read an event's id: %d events of %q", seq, texts.OneLine(name, mostSaid))
			}
		}
	}
	c.fill()
	return c, nil
}

func (c *cursor) fill() {
	if c.Boards == nil {
		c.Boards = map[string]int64{}
	}
	if c.Runs == nil {
		c.Runs = map[string]int64{}
	}
}

// news are those of a run's events, in order, that the cursor has not heard,
// and moves it to the last of them. Of a run that the cursor does not name, all
// until its time was heard.
func (c *cursor) news(key string, events []work.Event) []work.Event {
	heard, named := c.Runs[key]
	var out []work.Event
	for _, e := range events {
		if e.Seq <= heard || !named && !e.Time.After(c.Since) {
			continue
		}
		named = true
		heard, c.Runs[key] = e.Seq, e.Seq
		out = append(out, e)
	}
	return out
}

// prune leaves out runs that rest since before. All of them must be heard: what
// comes later of one that was left out is later than that.
func (c *cursor) prune(before time.Time, updated map[string]time.Time) {
	if len(c.Runs) <= mostRuns || !before.After(c.Since) {
		return
	}
	for key := range c.Runs {
		if at, ok := updated[key]; !ok || at.Before(before) {
			delete(c.Runs, key)
		}
	}
	c.Since = before
}
