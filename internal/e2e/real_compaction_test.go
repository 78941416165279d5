//go:build real

package e2e

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"forge/internal/fakemodel"
)

// compacted is what a phase of many iterations cost.
type compacted struct {
	limit    string // of a session, "" = none
	requests int
	sent     int // tokens, of all requests
	largest  int // tokens, of one request
	sessions int
}

// A phase of many iterations costs the model's whole conversation again with each
// request. With a limit, Forge begins a new session with a summary in its place. In CI
// it is a phase of ten iterations; FORGE_COMPACTION=30 writes docs/compaction.md.
func TestRealCompaction(t *testing.T) {
	t.Parallel()
	n, write := 10, false
	if asked, err := strconv.Atoi(os.Getenv("FORGE_COMPACTION")); err == nil && asked > 0 {
		n, write = asked, true
	}
	// The limits leave room for a session of three iterations and of eight.
	all := []*compacted{{}, {limit: "60000"}, {limit: "40000"}}
	t.Run("with", func(t *testing.T) {
		for _, one := range all {
			t.Run(cmp.Or(one.limit, "none"), func(t *testing.T) {
				t.Parallel()
				playsCompacted(t, n, one)
			})
		}
	})
	if t.Failed() || t.Skipped() || all[0].requests == 0 {
		return
	}
	without := all[0]
	if without.sessions != 1 {
		t.Errorf("without a limit there were %d sessions", without.sessions)
	}
	for _, one := range all {
		t.Logf("%d iterations, limit %q: %d tokens in %d requests of %d sessions, the largest %d", n, one.limit, one.sent, one.requests, one.sessions, one.largest)
	}
	if least := all[2]; least.sessions < 2 || least.sent >= without.sent || least.largest >= without.largest {
		t.Errorf("with a limit it is %+v, without %+v", *least, *without)
	}
	if write {
		writeCompaction(t, n, all)
	}
}

// playsCompacted plays the phase: each iteration writes a file and says what is left.
func playsCompacted(t *testing.T, n int, of *compacted) {
	config := proveB + skipPermissions
	if of.limit != "" {
		config += "context_limit = \"" + of.limit + "\"\n"
	}
	c := newWith(t, the("claude"), "off", onePhase(n+2, ""), config)
	step, before := 0, 0
	c.server.Answered(c.player.name, func(r fakemodel.Request) fakemodel.Turn {
		tokens := len(r.Body) / 4
		if tokens < before {
			of.sessions++
		}
		before = tokens
		of.requests, of.sent, of.largest = of.requests+1, of.sent+tokens, max(of.largest, tokens)
		turn := fakemodel.Turn{Input: tokens, Output: 2000}
		switch {
		case of.requests%2 == 1:
			step++
			var body strings.Builder
			for line := range 150 {
				fmt.Fprintf(&body, "line %d of what step %d came to, with a value of %d\n", line, step, line*step)
			}
			turn.Text, turn.Tools = fmt.Sprintf("I do step %d.", step), []fakemodel.Tool{writes(fmt.Sprintf("step%d.txt", step), body.String())}
		case step == n:
			turn.Text = claim.Text
		default:
			turn.Text = fmt.Sprintf("Step %d of %d is done.\n<progress>%d</progress>", step, n, 100*step/n)
		}
		return turn
	})
	of.sessions = 1
	evs := c.runs(0, "run", "--autonomous")
	if got := ended(evs, "01"); got != "done" {
		t.Errorf("the phase ended %q", got)
	}
	if done := finished(t, evs); len(done) != n {
		t.Errorf("%d iterations", len(done))
	}
	for step := range n {
		if !strings.HasPrefix(c.must("git", "show", fmt.Sprintf("main:step%d.txt", step+1)), "line 0") {
			t.Errorf("step %d is lost", step+1)
		}
	}
}

// writeCompaction writes what was measured into the documentation.
func writeCompaction(t *testing.T, n int, all []*compacted) {
	var b strings.Builder
	fmt.Fprintf(&b, `# What a new session saves

Written by %[1]sFORGE_COMPACTION=%[2]d scripts/real.sh -run '^TestRealCompaction$' ./internal/e2e%[1]s. One phase of %[2]d iterations,
each of which writes a file of 8 KB, by Claude Code before a model server that counts a token for four bytes of a
request. Each request holds the whole conversation of its session again; with [context_limit](config.md) a new session
begins with the task and a summary ([checkpoints](checkpoints.md)). What a provider takes for tokens it has in its
cache is not counted here.

| context_limit | sessions | requests | tokens sent | of those without | largest request |
|---|---|---|---|---|---|
`, "`", n)
	for _, one := range all {
		fmt.Fprintf(&b, "| %s | %d | %d | %d | %.2f | %d |\n", cmp.Or(one.limit, "none"), one.sessions, one.requests, one.sent, float64(one.sent)/float64(all[0].sent), one.largest)
	}
	if err := os.WriteFile(filepath.Join("..", "..", "docs", "compaction.md"), []byte(b.String()), 0o644); err != nil {
		t.Error(err)
	}
}
