package slack

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/gobwas/ws"

	"forge/internal/door"
)

// FuzzUnderstand: whatever Slack tells, what is heard of it names somebody by an id,
// and is either words below a message or a button that says what it means.
func FuzzUnderstand(f *testing.F) {
	press, _ := json.Marshal(door.Press{Project: "demo", Checkpoint: "run.1", Revision: 1, Status: "approved"})
	word, _ := json.Marshal(string(press))
	f.Add("interactive", `{"type":"block_actions","user":{"id":"U1","name":"ann"},"channel":{"id":"C1"},"container":{"message_ts":"1.2"},"actions":[{"action_id":"answer-a","value":`+string(word)+`}]}`)
	f.Add("interactive", `{"type":"view_submission","user":{"id":"U1"},"view":{"callback_id":"forge-words","private_metadata":"{\"m\":\"1.2\",\"b\":{}}","state":{"values":{"forge-words":{"forge-words":{"value":null}}}}}}`)
	f.Add("events_api", `{"type":"event_callback","event":{"type":"message","channel":"C1","user":"U1","text":"a &lt;b&gt;","ts":"2.3","thread_ts":"1.2"}}`)
	f.Add("events_api", `{"type":"event_callback","event":{"type":"message","channel":"C1","bot_id":"B1","text":"x","ts":"2.3","thread_ts":"1.2"}}`)
	f.Add("hello", `null`)
	f.Fuzz(func(t *testing.T, kind, body string) {
		m := understand("C1", envelope{ID: "e", Type: kind, Payload: json.RawMessage(body)})
		if m == nil {
			return
		}
		s := m.said
		if s.By == "" || s.Press == nil && (s.Ref == "" || s.Words == "") || m.form != s.Asked || m.form && s.Press == nil {
			t.Errorf("%s %s: heard %+v", kind, body, m)
		}
	})
}

// wire is a connection whose other side sent some bytes and hears everything.
type wire struct {
	io.Reader
	io.Writer
}

func (wire) Close() error { return nil }

// FuzzFrames: whatever comes by a connection, it is read to its end, within bounds.
func FuzzFrames(f *testing.F) {
	frame := func(frames ...ws.Frame) []byte {
		var b bytes.Buffer
		for _, one := range frames {
			_ = ws.WriteFrame(&b, one)
		}
		return b.Bytes()
	}
	f.Add(frame(ws.NewTextFrame([]byte("{}")), ws.NewPingFrame([]byte("p")), ws.NewCloseFrame(nil)))
	f.Add(frame(ws.NewFrame(ws.OpText, false, []byte("a")), ws.NewPingFrame(nil), ws.NewFrame(ws.OpContinuation, true, []byte("b"))))
	f.Add([]byte{0x81, 0x7f, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, sent []byte) {
		var back bytes.Buffer
		in := bytes.NewReader(sent)
		k := &socket{conn: wire{in, &back}, in: bufio.NewReader(in), dead: time.NewTimer(time.Hour)}
		defer k.dead.Stop()
		for {
			body, err := k.next(time.Hour)
			if err != nil {
				return
			}
			if len(body) > len(sent) {
				t.Fatalf("%d bytes of %d", len(body), len(sent))
			}
		}
	})
}

// What comes in parts is one message, with pings between them answered.
func TestFrames(t *testing.T) {
	t.Parallel()
	var sent, back bytes.Buffer
	for _, one := range []ws.Frame{ws.NewFrame(ws.OpText, false, []byte("to")), ws.NewPingFrame([]byte("hi")), ws.NewFrame(ws.OpContinuation, true, []byte("ld")), ws.NewCloseFrame(ws.NewCloseFrameBody(1000, ""))} {
		_ = ws.WriteFrame(&sent, one)
	}
	k := &socket{conn: wire{&sent, &back}, in: bufio.NewReader(&sent), dead: time.NewTimer(time.Hour)}
	defer k.dead.Stop()
	if body, err := k.next(time.Hour); err != nil || string(body) != "told" {
		t.Errorf("%q, %v", body, err)
	}
	pong, err := ws.ReadFrame(&back)
	if err != nil || pong.Header.OpCode != ws.OpPong || string(ws.UnmaskFrame(pong).Payload) != "hi" || !pong.Header.Masked {
		t.Errorf("%+v, %v", pong.Header, err)
	}
	if _, err := k.next(time.Hour); err == nil || !strings.Contains(err.Error(), "EOF") {
		t.Errorf("at the end: %v", err)
	}
	huge := &socket{conn: wire{&sent, &back}, in: bufio.NewReader(bytes.NewReader([]byte{0x81, 0x7f, 0, 0, 0, 0, 0x10, 0, 0, 0})), dead: k.dead}
	if _, err := huge.next(time.Hour); err == nil || !strings.Contains(err.Error(), "too large") {
		t.Errorf("a huge frame: %v", err)
	}
}
