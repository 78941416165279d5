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

// slowClaude finds the promises of the main conversation with encoding/json.
func slowClaude(text []byte) (promises []string) {
	for _, line := range nonEmptyLines(text) {
		var e struct {
			Type    string          `json:"type"`
			Error   json.RawMessage `json:"error"`
			Parent  json.RawMessage `json:"parent_tool_use_id"`
			Message struct {
				ID      string          `json:"id"`
				Model   string          `json:"model"`
				Content json.RawMessage `json:"content"`
			} `json:"message"`
		}
		if json.Unmarshal(line, &e) != nil || e.Type != "assistant" || string(e.Parent) != "null" || e.Message.ID == "" ||
			e.Message.Model == "<synthetic>" || bytes.HasPrefix(e.Error, []byte(`"`)) {
			continue
		}
		var blocks []json.RawMessage
		_ = json.Unmarshal(e.Message.Content, &blocks)
		for _, b := range blocks {
			var block struct {
				Type string `json:"type"`
				Text string `json:"text"`
			}
			if json.Unmarshal(b, &block) == nil && block.Type == "text" {
				promises = append(promises, work.ParseSignals(block.Text).Promises...)
			}
		}
	}
	return promises
}

func FuzzClaude(f *testing.F) {
	lines := []string{lineInit, lineThink, lineCall, lineTold, lineEcho, lineSub, lineNoMsg, lineWords, lineOK}
	f.Add([]byte(strings.Join(lines, "\n")), uint8(7))
	for _, l := range lines {
		f.Add([]byte(l+"\n"+lineOK), uint8(255))
	}
	f.Fuzz(func(t *testing.T, text []byte, cut uint8) {
		c := claudeFor(work.IterationRequest{})
		for part := range slices.Chunk(text, int(cut)+1) {
			_, _ = c.Write(part)
		}
		r := c.finish(exited(0))
		if r.Outcome == work.OutcomeOK && !bytes.Contains(text, []byte("result")) && !bytes.Contains(text, []byte(`\u`)) {
			t.Fatalf("success without a result in %q", text)
		}
		if !utf8.Valid(text) || slices.ContainsFunc(nonEmptyLines(text), twice) || slices.ContainsFunc(nonEmptyLines(text), foldedKey) {
			return
		}
		want := slowClaude(text)
		for _, p := range append(slices.Clone(r.Claims), r.Signals.Promises...) {
			if !slices.Contains(want, p) {
				t.Fatalf("promise %q in %q, where the agent said %q", p, text, want)
			}
		}
	})
}

// foldedKey says that a line may have a key that differs from a known one in
// case only, which encoding/json takes for it.
func foldedKey(line []byte) bool {
	lower := bytes.ToLower(line)
	for _, key := range []string{`"type"`, `"error"`, `"parent_tool_use_id"`, `"message"`, `"id"`, `"model"`, `"content"`, `"text"`} {
		if bytes.Count(lower, []byte(key)) != bytes.Count(line, []byte(key)) {
			return true
		}
	}
	return bytes.Contains(line, []byte(`\u`))
}

// One iteration of an agent that reads and writes files of 20 KB.
func BenchmarkClaude(b *testing.B) {
	source := strings.Repeat("\tif err := run(ctx); err != nil {\n\t\treturn fmt.Errorf(\"run: %w\", err)\n\t}\n", 270)
	content, _ := json.Marshal(source)
	call := strings.Replace(lineCall, `"command":"`, `"content":`+string(content)+`,"command":"`, 1)
	told := strings.Replace(lineTold, `"stdout":"`, `"originalFile":`+string(content)+`,"stdout":"`, 1)
	var stream []byte
	for range 50 {
		stream = append(stream, strings.Join([]string{lineThink, call, told, lineWords}, "\n")+"\n"...)
	}
	b.SetBytes(int64(len(stream)))
	b.ReportAllocs()
	for b.Loop() {
		c := claudeFor(work.IterationRequest{})
		for part := range slices.Chunk(stream, 32<<10) {
			_, _ = c.Write(part)
		}
		c.finish(exited(0))
	}
	b.ReportMetric(float64(testing.AllocsPerRun(3, func() {
		c := claudeFor(work.IterationRequest{})
		_, _ = c.Write(stream)
	}))/200, "allocs/event")
}
