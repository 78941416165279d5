package agent

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"forge/internal/work"
)

// slowCodex finds the promises of the agent's messages, and whether the last
// turn was completed, with encoding/json.
func slowCodex(text []byte) (promises []string, completed bool) {
	for _, line := range nonEmptyLines(text) {
		var e struct {
			Type string          `json:"type"`
			Item json.RawMessage `json:"item"`
		}
		var item struct {
			Type string `json:"type"`
			Text string `json:"text"`
		}
		if json.Unmarshal(line, &e) != nil {
			continue
		}
		switch e.Type {
		case "turn.started", "turn.failed":
			completed = false
		case "turn.completed":
			completed = true
		case "item.completed":
			if json.Unmarshal(e.Item, &item) == nil && item.Type == "agent_message" {
				promises = append(promises, work.ParseSignals(item.Text).Promises...)
			}
		}
	}
	return promises, completed
}

func FuzzCodex(f *testing.F) {
	lines := []string{codexBegin, codexTurn, codexThought, codexRun, codexRan, codexTodo, codexWarning, codexWords, codexAgain, codexWaits, codexOK}
	f.Add([]byte(strings.Join(lines, "\n")), uint8(7))
	for _, l := range append(lines, codexFailed("Quota exceeded")) {
		f.Add([]byte(l+"\n"+codexOK), uint8(255))
	}
	f.Fuzz(func(t *testing.T, text []byte, cut uint8) {
		c := codexFor(work.IterationRequest{})
		for part := range slices.Chunk(text, int(cut)+1) {
			_, _ = c.Write(part)
		}
		r := c.finish(exited(0))
		if !utf8.Valid(text) || slices.ContainsFunc(nonEmptyLines(text), twice) || slices.ContainsFunc(nonEmptyLines(text), foldedKey) ||
			bytes.Contains(bytes.ToLower(text), []byte(`"item"`)) && !bytes.Contains(text, []byte(`"item"`)) {
			return
		}
		want, completed := slowCodex(text)
		if r.Outcome == work.OutcomeOK && !completed {
			t.Fatalf("success without the end of a turn in %q", text)
		}
		for _, p := range append(slices.Clone(r.Claims), r.Signals.Promises...) {
			if !slices.Contains(want, p) {
				t.Fatalf("promise %q in %q, where the agent said %q", p, text, want)
			}
		}
	})
}

// One iteration of an agent that runs commands which print 20 KB.
func BenchmarkCodex(b *testing.B) {
	source := strings.Repeat("\tif err := run(ctx); err != nil {\n\t\treturn fmt.Errorf(\"run: %w\", err)\n\t}\n", 270)
	content, _ := json.Marshal(source)
	ran := strings.Replace(codexRan, `"<promise>DONE</promise>\n"`, string(content), 1)
	var stream []byte
	for range 50 {
		stream = append(stream, strings.Join([]string{codexThought, codexRun, ran, codexWords}, "\n")+"\n"...)
	}
	b.SetBytes(int64(len(stream)))
	b.ReportAllocs()
	for b.Loop() {
		c := codexFor(work.IterationRequest{})
		for part := range slices.Chunk(stream, 32<<10) {
			_, _ = c.Write(part)
		}
		c.finish(exited(0))
	}
	b.ReportMetric(float64(testing.AllocsPerRun(3, func() {
		c := codexFor(work.IterationRequest{})
		_, _ = c.Write(stream)
	}))/200, "allocs/event")
}
