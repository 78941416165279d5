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

// slowGemini finds the promises of the agent with encoding/json.
func slowGemini(text []byte) (promises []string) {
	var said strings.Builder
	end := func() {
		promises = append(promises, work.ParseSignals(said.String()).Promises...)
		said.Reset()
	}
	for _, line := range nonEmptyLines(text) {
		var e struct {
			Type    string          `json:"type"`
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
			Delta   json.RawMessage `json:"delta"`
		}
		if json.Unmarshal(line, &e) != nil {
			continue
		}
		switch {
		case e.Type == "message" && e.Role == "assistant":
			var content string
			_ = json.Unmarshal(e.Content, &content)
			part := string(e.Delta) == "true"
			if !part {
				end()
			}
			said.WriteString(content)
			if !part {
				end()
			}
		case e.Type == "message" || e.Type == "tool_use" || e.Type == "tool_result" || e.Type == "result":
			end()
		}
	}
	end()
	return promises
}

// keysOf says that a line may have a key that differs from a known one in case
// only, which encoding/json takes for it, or one that is written with escapes.
func keysOf(line []byte, keys ...string) bool {
	lower := bytes.ToLower(line)
	for _, key := range keys {
		quoted := []byte(`"` + key + `"`)
		if bytes.Count(lower, bytes.ToLower(quoted)) != bytes.Count(line, quoted) {
			return true
		}
	}
	return bytes.Contains(line, []byte(`\u`))
}

func FuzzGemini(f *testing.F) {
	lines := []string{gInit, gUser, gSaid, gWhole, gMore, gCall, gTold, gWarn, gFailed, gOK, gError("[API Error: terminated]")}
	f.Add([]byte(strings.Join(lines, "\n")), uint8(7), uint8(0))
	for _, l := range lines {
		f.Add([]byte(gHalf+"\n"+l+"\n"+gOther+"\n"+gOK), uint8(255), uint8(173))
	}
	f.Fuzz(func(t *testing.T, text []byte, cut, code uint8) {
		g := geminiFor(work.IterationRequest{})
		for part := range slices.Chunk(text, int(cut)+1) {
			_, _ = g.Write(part)
		}
		r := g.finish(exited(int(code)))
		if r.Outcome == work.OutcomeOK && (code != 0 || !bytes.Contains(text, []byte("success")) && !bytes.Contains(text, []byte(`\`))) {
			t.Fatalf("success with exit code %d and without a result in %q", code, text)
		}
		odd := func(line []byte) bool { return twice(line) || keysOf(line, "type", "role", "content", "delta") }
		if !utf8.Valid(text) || slices.ContainsFunc(nonEmptyLines(text), odd) {
			return
		}
		want := slowGemini(text)
		if !slices.Equal(capped([]string(nil), r.Signals.Promises), capped([]string(nil), want)) {
			t.Fatalf("promises %q in %q, where the agent said %q", r.Signals.Promises, text, want)
		}
		for _, p := range r.Claims {
			if !slices.Contains(want, p) {
				t.Fatalf("claim %q in %q, where the agent said %q", p, text, want)
			}
		}
	})
}

// One iteration of an agent that reads and writes files of 20 KB, and says
// what it does in small parts.
func BenchmarkGemini(b *testing.B) {
	source := strings.Repeat("\tif err := run(ctx); err != nil {\n\t\treturn fmt.Errorf(\"run: %w\", err)\n\t}\n", 270)
	content, _ := json.Marshal(source)
	call := strings.Replace(gCall, `{"command":"`, `{"content":`+string(content)+`,"command":"`, 1)
	told := strings.Replace(gTold, `"output":"`, `"shown":`+string(content)+`,"output":"`, 1)
	benchmarkStream(b, strings.Join([]string{gMore, gMore, gMore, gMore, gSaid, call, told}, "\n")+"\n", func() stream { return geminiFor(work.IterationRequest{}) })
}

// BenchmarkGeminiParts is one that only talks, in parts as small as they come.
func BenchmarkGeminiParts(b *testing.B) {
	benchmarkStream(b, strings.Repeat(gMore+"\n", 100), func() stream { return geminiFor(work.IterationRequest{}) })
}

// benchmarkStream reads an iteration of 50 such turns.
func benchmarkStream(b *testing.B, turn string, read func() stream) {
	text := []byte(strings.Repeat(turn, 50))
	events := float64(50 * strings.Count(turn, "\n"))
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		s := read()
		for part := range slices.Chunk(text, 32<<10) {
			_, _ = s.Write(part)
		}
		s.finish(exited(0))
	}
	b.ReportMetric(float64(testing.AllocsPerRun(3, func() {
		s := read()
		_, _ = s.Write(text)
	}))/events, "allocs/event")
}
