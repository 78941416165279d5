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

// slowOpencode finds the promises of the agent with encoding/json.
func slowOpencode(text []byte) (promises []string) {
	for _, line := range nonEmptyLines(text) {
		var e struct {
			Type string          `json:"type"`
			Part json.RawMessage `json:"part"`
		}
		var part struct {
			Type      string          `json:"type"`
			Message   string          `json:"messageID"`
			Text      string          `json:"text"`
			Synthetic json.RawMessage `json:"synthetic"`
		}
		if json.Unmarshal(line, &e) == nil && e.Type == "text" && json.Unmarshal(e.Part, &part) == nil &&
			part.Type == "text" && part.Message != "" && string(part.Synthetic) != "true" {
			promises = append(promises, work.ParseSignals(part.Text).Promises...)
		}
	}
	return promises
}

func FuzzOpencode(f *testing.F) {
	lines := []string{oStart, oStart2, oSaid, oMade, oThink, oTool, oNext, oStop, oError("APIError", "no", `,"statusCode":429`)}
	f.Add([]byte(strings.Join(lines, "\n")), uint8(7))
	for _, l := range lines {
		f.Add([]byte(oStart2+"\n"+l+"\n"+oStop), uint8(255))
	}
	f.Fuzz(func(t *testing.T, text []byte, cut uint8) {
		o := opencodeFor(work.IterationRequest{})
		for part := range slices.Chunk(text, int(cut)+1) {
			_, _ = o.Write(part)
		}
		r := o.finish(exited(0))
		if r.Outcome == work.OutcomeOK && !bytes.Contains(text, []byte("stop")) && !bytes.Contains(text, []byte(`\`)) {
			t.Fatalf("success without an end in %q", text)
		}
		odd := func(line []byte) bool {
			return twice(line) || keysOf(line, "type", "part", "messageID", "text", "synthetic")
		}
		if !utf8.Valid(text) || slices.ContainsFunc(nonEmptyLines(text), odd) {
			return
		}
		want := slowOpencode(text)
		for _, p := range append(slices.Clone(r.Claims), r.Signals.Promises...) {
			if !slices.Contains(want, p) {
				t.Fatalf("promise %q in %q, where the agent said %q", p, text, want)
			}
		}
	})
}

// slowLogValue is the obvious twin for lines without quotes.
func slowLogValue(line, key string) string {
	for word := range strings.SplitSeq(line, " ") {
		if k, v, ok := strings.Cut(word, "="); ok && k == key {
			return v
		}
	}
	return ""
}

func FuzzOpencodeLog(f *testing.F) {
	for _, l := range []string{logStream, logRefused, logTitle, logAllowed, logDenied, logCreated, logExit, `a="b\`, `="`, `level=ERROR message="x`} {
		f.Add([]byte(l), uint8(3))
	}
	f.Fuzz(func(t *testing.T, text []byte, cut uint8) {
		o := opencodeFor(work.IterationRequest{})
		w := &logLines{to: func(line []byte) {
			if len(line) > logLineBytes {
				t.Fatalf("a line of %d bytes", len(line))
			}
			if s := string(line); !strings.ContainsAny(s, "\"\r") {
				for _, key := range []string{"level", "message", "id"} {
					if got, want := logValue(line, key), slowLogValue(s, key); got != want {
						t.Fatalf("%s of %q is %q, want %q", key, s, got, want)
					}
				}
			}
			o.log(line)
		}}
		for part := range slices.Chunk(text, int(cut)+1) {
			_, _ = w.Write(part)
		}
		if r := o.finish(exited(0)); r.Outcome == work.OutcomeOK {
			t.Fatalf("success by the log alone: %q", text)
		}
	})
}

// One iteration of an agent that reads and writes files of 20 KB.
func BenchmarkOpencode(b *testing.B) {
	source := strings.Repeat("\tif err := run(ctx); err != nil {\n\t\treturn fmt.Errorf(\"run: %w\", err)\n\t}\n", 270)
	content, _ := json.Marshal(source)
	tool := strings.Replace(oTool, `{"command":"`, `{"content":`+string(content)+`,"command":"`, 1)
	tool = strings.Replace(tool, `"metadata":{`, `"metadata":{"diff":`+string(content)+`,`, 1)
	benchmarkStream(b, strings.Join([]string{oStart, oSaid, tool, tool, oNext}, "\n")+"\n", func() stream { return opencodeFor(work.IterationRequest{}) })
}

// BenchmarkOpencodeParts is one that does nothing but small steps.
func BenchmarkOpencodeParts(b *testing.B) {
	benchmarkStream(b, strings.Repeat(strings.Join([]string{oStart, oSaid, oTool, oNext}, "\n")+"\n", 25), func() stream { return opencodeFor(work.IterationRequest{}) })
}
