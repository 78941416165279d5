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

// slowACP joins what the agent says with encoding/json: the obvious twin,
// which knows no messages and no parts. A promise that it does not find was
// never said.
func slowACP(text []byte) string {
	var said strings.Builder
	for _, line := range nonEmptyLines(text) {
		var m struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
			Params struct {
				Session string `json:"sessionId"`
				Update  struct {
					Kind    string `json:"sessionUpdate"`
					Content json.RawMessage
				} `json:"update"`
			} `json:"params"`
		}
		var content struct{ Type, Text string }
		if json.Unmarshal(line, &m) != nil || len(m.ID) > 0 && strings.ContainsAny(string(m.ID[:1]), `"-0123456789`) {
			continue
		}
		if m.Method == "session/update" && m.Params.Session == "S" && m.Params.Update.Kind == "agent_message_chunk" &&
			json.Unmarshal(m.Params.Update.Content, &content) == nil && content.Type == "text" {
			said.WriteString(content.Text)
		}
	}
	return said.String()
}

// caseMatters says that a key may differ from a known one in case only, which
// encoding/json takes for it.
func caseMatters(text []byte) bool {
	lower := bytes.ToLower(text)
	for _, key := range []string{`"id"`, `"method"`, `"params"`, `"sessionId"`, `"update"`, `"sessionUpdate"`, `"content"`, `"type"`, `"text"`} {
		if bytes.Count(lower, bytes.ToLower([]byte(key))) != bytes.Count(text, []byte(key)) {
			return true
		}
	}
	return false
}

func FuzzACP(f *testing.F) {
	lines := []string{acpChunk("<promise>DO", ""), acpChunk("NE</promise>", ""), acpThought, acpCalled, acpEnded, acpWhole, acpChunk("<promise>X</promise>", "a"),
		`{"id":1,"result":{}}`, `{"id":"x","method":"session/request_permission"}`, acpUpdate(`"sessionUpdate":"usage_update","cost":{"amount":1,"currency":"USD"}`)}
	f.Add([]byte(strings.Join(lines, "\n")), uint8(7))
	for _, l := range lines {
		f.Add([]byte(l+"\n"+acpWhole+"\n"), uint8(255))
	}
	f.Fuzz(func(t *testing.T, text []byte, cut uint8) {
		c := acpFor(work.IterationRequest{})
		for part := range slices.Chunk(text, int(cut)+1) {
			_, _ = c.Write(part)
		}
		r := c.report(acpEnd{}, exited(0))
		if r.Outcome == work.OutcomeOK {
			t.Fatalf("success without an answer in %q", text)
		}
		if !utf8.Valid(text) || slices.ContainsFunc(nonEmptyLines(text), twice) || caseMatters(text) || bytes.Contains(text, []byte(`\u`)) {
			return
		}
		said := slowACP(text)
		for _, p := range append(slices.Clone(r.Claims), r.Signals.Promises...) {
			if !strings.Contains(said, "<promise>") || !strings.Contains(said, p) {
				t.Fatalf("promise %q in %q, where the agent said %q", p, text, said)
			}
		}
		for _, splits := range []string{"messageId", "tool_call", "thought", "_meta"} {
			if bytes.Contains(text, []byte(splits)) {
				return
			}
		}
		if want := work.ParseSignals(said).Promises; slices.Compare(r.Signals.Promises, want) != 0 {
			t.Fatalf("promises %q in %q, where the agent said %q", r.Signals.Promises, text, said)
		}
	})
}

// What comes from a server is only what JSON says, however it is cut.
func FuzzACPAsk(f *testing.F) {
	f.Add([]byte(`{"toolCall":{"kind":"edit","locations":[{"path":"/etc/passwd"}]},"options":[{"optionId":"a","kind":"allow_once"}]}`))
	f.Add([]byte(`{"toolCall":{"kind":"execute","rawInput":{"command":["sh","-c","x"]}},"options":[]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var ask acpAsk
		if json.Unmarshal(text, &ask) != nil {
			return
		}
		if allowed, option := (acpPolicy{all: true, readOnly: true, dir: "/phase"}).decide(ask); allowed && option == "" ||
			allowed && !slices.Contains([]string{"read", "search", "think"}, ask.Call.Kind) {
			t.Fatalf("a readonly phase allows %s by %q", text, option)
		}
		if allowed, _ := (acpPolicy{dir: "/phase"}).decide(ask); allowed && ask.Call.Kind == "execute" {
			t.Fatalf("without a sandbox it may run %s", text)
		}
	})
}

// One iteration of an agent that writes files of 20 KB and talks in parts.
func BenchmarkACP(b *testing.B) {
	source := strings.Repeat("\tif err := run(ctx); err != nil {\n\t\treturn fmt.Errorf(\"run: %w\", err)\n\t}\n", 270)
	content, _ := json.Marshal(source)
	diff := strings.Replace(acpEnded, `"content":[`, `"content":[{"type":"diff","path":"/x","oldText":null,"newText":`+string(content)+`},`, 1)
	var stream []byte
	events := 0
	for range 50 {
		lines := []string{acpThought, acpCalled, diff}
		for range 20 {
			lines = append(lines, acpChunk("a few words ", "m1"))
		}
		events += len(lines)
		stream = append(stream, strings.Join(lines, "\n")+"\n"...)
	}
	b.SetBytes(int64(len(stream)))
	b.ReportAllocs()
	for b.Loop() {
		c := acpFor(work.IterationRequest{})
		for part := range slices.Chunk(stream, 32<<10) {
			_, _ = c.Write(part)
		}
		c.report(acpDone, exited(0))
	}
	b.ReportMetric(float64(testing.AllocsPerRun(3, func() {
		c := acpFor(work.IterationRequest{})
		_, _ = c.Write(stream)
	}))/float64(events), "allocs/event")
}
