package work

import (
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

// slowSignals is the obvious twin of the scanner: one regular expression per
// kind over the whole text. It shares only the reading of JSON bodies.
func slowSignals(text string) Signals {
	type body struct {
		end  int
		kind signalKind
		text string
	}
	var bodies []body
	tags := []string{"promise", "progress", "blocker", "pivot", "spawn[-_]subphase", "checkpoint", "job-complete", "question", "assumption", "waiting", "reply", "decomposition", "lesson", "session-summary"}
	for kind, name := range tags {
		from := -1
		for _, at := range regexp.MustCompile("</?"+name+">").FindAllStringIndex(text, -1) {
			switch {
			case text[at[0]+1] != '/':
				from = at[1]
			case from >= 0:
				bodies = append(bodies, body{at[1], signalKind(kind), text[from:at[0]]})
				from = -1
			}
		}
	}
	slices.SortStableFunc(bodies, func(a, b body) int { return a.end - b.end })

	var s SignalScanner // as a keeper of results only
	s.found.RequestDecomposition = regexp.MustCompile("<request-decomposition ?/>").MatchString(text)
	number := regexp.MustCompile(`^([0-9]+(?:\.[0-9]+)?)%?(?:[\s\v\x{85}\p{Z}]|$)`)
	for _, b := range bodies {
		if len(b.text) > MaxSignalBytes {
			s.problem(b.kind, "a body of more than 64 KiB was dropped")
			continue
		}
		text := strings.TrimSpace(strings.ToValidUTF8(b.text, "\uFFFD"))
		if b.kind != signalProgress {
			s.take(b.kind, text)
			continue
		}
		if m := number.FindStringSubmatch(text); m != nil {
			if n, err := strconv.ParseFloat(m[1], 64); err == nil && n <= 100 {
				keep(&s, b.kind, &s.found.Progress, n)
				continue
			}
		}
		s.problem(b.kind, fmt.Sprintf("%s is not a number from 0 to 100", quoted(text)))
	}
	return s.Signals()
}

// inPieces scans text cut after cuts[0]+1 bytes, then after cuts[1]+1 more, and
// so on round and round.
func inPieces(text string, cuts []byte) Signals {
	var s SignalScanner
	for i := 0; len(text) > 0; i++ {
		n := len(text)
		if len(cuts) > 0 {
			n = min(n, int(cuts[i%len(cuts)])+1)
		}
		feed(&s, []byte(text[:n]))
		text = text[n:]
	}
	return s.Signals()
}

// feed writes p and holds the scanner to what it promises a writer.
func feed(s *SignalScanner, p []byte) {
	if n, err := s.Write(p); n != len(p) || err != nil {
		panic(fmt.Sprintf("Write of %d bytes = %d, %v", len(p), n, err))
	}
}

func FuzzSignals(f *testing.F) {
	seeds := []string{
		"", "<", "</", "<promise", "<promise>A</promise>", "<promise><promise>A</promise></promise>",
		"<<promise>A<</promise>>", "<blocker>a<promise>b</blocker>c</promise>", "<progress>42%</progress><progress>x</progress>",
		"<progress>50\u2003of</progress>", `<decomposition>{"tasks":[{"id":"a","name":"n","budget":1,"files":[]}]}</decomposition>`, "<request-decomposition/><request-decomposition />", "<lesson>run make gen</lesson>", "<pivot>\xff\xc3</pivot>",
		`<spawn-subphase>{"name":"n","promise":"P","budget":1}</spawn_subphase>`, `<spawn-subphase>{"name":"n","budget":"<promise>A</promise>"}</spawn-subphase>`,
		`<checkpoint>{"type":"deliverable"}</checkpoint>`, `<job-complete>{"summary":"<done>"} </job-complete>`,
	}
	for i, text := range seeds {
		f.Add(text, []byte{byte(i)})
		f.Add(text, []byte{0})
	}
	f.Fuzz(func(t *testing.T, text string, cuts []byte) {
		want := slowSignals(text)
		if got := ParseSignals(text); !reflect.DeepEqual(got, want) {
			t.Fatalf("whole %q\n got %+v\nwant %+v", text, got, want)
		}
		if got := inPieces(text, cuts); !reflect.DeepEqual(got, want) {
			t.Fatalf("in pieces %v of %q\n got %+v\nwant %+v", cuts, text, got, want)
		}
		checkSignals(t, want)
	})
}

// checkSignals holds what every result has to keep, whatever the input.
func checkSignals(t *testing.T, s Signals) {
	t.Helper()
	for _, list := range [][]string{s.Promises, s.Blockers, s.Pivots} {
		for _, text := range list {
			if text == "" || text != strings.TrimSpace(text) || !utf8.ValidString(text) {
				t.Errorf("kept text %q", text)
			}
		}
	}
	for _, p := range s.Problems {
		if strings.ContainsAny(p, "<>\n") || !utf8.ValidString(p) {
			t.Errorf("problem %q can be taken for a tag or is not one line", p)
		}
	}
	for _, sub := range s.SubPhases {
		if sub.Budget < 1 || checkName(sub.Name) != nil || sub.Promise == "" {
			t.Errorf("sub-phase %+v", sub)
		}
	}
	for _, l := range s.Lessons {
		if err := l.Check(); err != nil {
			t.Errorf("kept lesson %+v: %v", l, err)
		}
	}
	data, err := json.Marshal(s)
	if err != nil {
		t.Fatalf("marshal: %v", err)
	}
	var back Signals
	if err := json.Unmarshal(data, &back); err != nil || !reflect.DeepEqual(back, s) {
		t.Errorf("read back from the journal (%v)\n got %+v\nwant %+v", err, back, s)
	}
}

// Every way of cutting a text in two, and byte by byte.
func TestSignalsDoNotDependOnCuts(t *testing.T) {
	const text = "a <<promise> B </promise><progress>7%</progress></pivot><blocker>x<pivot>y</blocker>z</pivot>" +
		`<spawn_subphase>{"name":"n","promise":"P","budget":1}</spawn-subphase><request-decomposition /><checkpoint>{}</checkpoint><job-complete>{}</job-complete`
	want := slowSignals(text)
	for i := range text {
		var s SignalScanner
		feed(&s, []byte(text[:i]))
		feed(&s, nil)
		feed(&s, []byte(text[i:]))
		if got := s.Signals(); !reflect.DeepEqual(got, want) {
			t.Errorf("cut at %d\n got %+v\nwant %+v", i, got, want)
		}
	}
	if got := inPieces(text, []byte{0}); !reflect.DeepEqual(got, want) {
		t.Errorf("byte by byte\n got %+v\nwant %+v", got, want)
	}
}
