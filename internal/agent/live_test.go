package agent

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"forge/internal/proc"
	"forge/internal/redact"
	"forge/internal/text"
	"forge/internal/work"
)

func TestOneLine(t *testing.T) {
	red := redact.New([]string{"hunter2hunter2"})
	for in, want := range map[string]string{
		"":                                    "",
		"\n \t\n  first\nsecond":              "first",
		"\x1b[31mred\x1b[0m\x1b]0;title\x07!": "red!",
		"a\tb\rc\x00d\x7f":                    "a b cd",
		"\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\": "link",
		"half \x1b[3":              "half",
		"bad \xff\xfe utf":         "bad \uFFFD utf",
		"right\u202eto left\u200b": "rightto left",
		"it is hunter2hunter2":     "it is " + red.String("hunter2hunter2"),
	} {
		if got := oneLine(in, red); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
	if got := oneLine(strings.Repeat("ä", 300), red); len(got) > lineBytes || !strings.HasSuffix(got, "…") {
		t.Errorf("%q", got)
	}
}

func FuzzOneLine(f *testing.F) {
	f.Add("\x1b[31mred\x1b[0m\n")
	f.Add("a\x1b]0;t\x1b\\b\xff\u202e")
	red := redact.New(nil)
	f.Fuzz(func(t *testing.T, s string) {
		got := oneLine(s, red)
		if len(got) > lineBytes || !utf8.ValidString(got) || strings.ContainsFunc(got, text.Invisible) {
			t.Fatalf("%q from %q", got, s)
		}
	})
}

// The log keeps its head and at least its tail, and counts what it drops.
func TestRawLog(t *testing.T) {
	const head, tail = 100, 40
	for _, size := range []int{0, 1, 99, 100, 101, 139, 140, 141, 180, 181, 220, 1000, 12345} {
		path := filepath.Join(t.TempDir(), "sub", "log")
		l, err := openLog(path, head, tail)
		if err != nil {
			t.Fatal(err)
		}
		var text bytes.Buffer
		for text.Len() < size {
			fmt.Fprintf(&text, "%d ", text.Len())
		}
		text.Truncate(size)
		random := rand.New(rand.NewPCG(1, uint64(size)))
		for rest := text.Bytes(); len(rest) > 0; {
			n := min(len(rest), 1+random.IntN(70))
			if k, err := l.Write(rest[:n]); k != n || err != nil {
				t.Fatal(k, err)
			}
			rest = rest[n:]
		}
		if err := l.close(); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		before, after, cut := strings.Cut(string(got), "\n[forge: ")
		if !cut {
			if string(got) != text.String() || size > head+2*tail {
				t.Errorf("%d bytes: %q", size, got)
			}
			continue
		}
		var dropped int
		if _, err := fmt.Sscanf(after, "%d bytes left out]", &dropped); err != nil {
			t.Fatal(err)
		}
		_, after, _ = strings.Cut(after, "\n")
		if before != text.String()[:head] || !strings.HasSuffix(text.String(), after) || len(after) < tail || len(after) > 2*tail || len(before)+dropped+len(after) != size {
			t.Errorf("%d bytes: head of %d, %d dropped, tail of %d", size, len(before), dropped, len(after))
		}
		if entries, err := os.ReadDir(filepath.Dir(path)); err != nil || len(entries) != 1 {
			t.Errorf("left beside the log: %v, %v", entries, err)
		}
	}
}

// A log that cannot be written does not stall the agent, but says so.
func TestRawLogFails(t *testing.T) {
	l, err := openLog(filepath.Join(t.TempDir(), "log"), 10, 10)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.file.Close(); err != nil {
		t.Fatal(err)
	}
	if n, err := l.Write([]byte("hello")); n != 5 || err != nil {
		t.Errorf("write: %d, %v", n, err)
	}
	if l.close() == nil {
		t.Error("nothing says that the log is not complete")
	}
}

func TestWordsAreBounded(t *testing.T) {
	var w words
	for i := range 3000 {
		fmt.Fprintf(&w, "<blocker>%d</blocker>%s", i, strings.Repeat("x", 100))
		w.keep()
		w.take(fmt.Sprint(i / 10))
	}
	var r work.IterationReport
	w.report(&r, redact.New(nil))
	if len(r.Signals.Blockers) != work.MaxSignals || len(r.Message) > messageBytes {
		t.Errorf("%d blockers, message of %d bytes", len(r.Signals.Blockers), len(r.Message))
	}
}

// Of a secret that the cut of the last message goes through, the rest is not
// shown, even where other secrets make the text short enough.
func TestMessageTailHidesCutSecrets(t *testing.T) {
	secret := "begin-" + strings.Repeat("0123456789", 20) + "-end"
	red := redact.New([]string{secret})
	for pad := range len(secret) {
		var w words
		fmt.Fprint(&w, strings.Repeat(secret, 60)+strings.Repeat("b", pad))
		w.keep()
		w.take("m")
		if got := w.end.text(red); strings.Contains(got, "-end") || strings.Contains(got, "89") {
			t.Fatalf("with %d bytes after it: %.80q", pad, got)
		}
	}
}

func TestSandboxShowsWhatItMust(t *testing.T) {
	req := work.IterationRequest{Dir: "/phase", ReadPaths: []string{"/objects"}, HidePaths: []string{"/state"},
		Sandbox: work.SandboxSettings{Read: []string{"/read"}, Write: []string{"/cache"}, Network: true}}
	l := launch{read: []string{"/kind"}, write: []string{"/store"}, readFiles: map[string]string{"/bin/agent": "/bin/agent"}}
	if s := sandboxOf(req, proc.LevelNone, l); s != nil {
		t.Errorf("a sandbox of level none: %+v", s)
	}
	want := &proc.Sandbox{Level: proc.LevelLandlock, Write: []string{"/phase", "/cache", "/store"}, Read: []string{"/read", "/objects", "/kind"},
		Hide: []string{"/state"}, ReadFiles: l.readFiles, Network: true}
	if s := sandboxOf(req, proc.LevelLandlock, l); !reflect.DeepEqual(s, want) {
		t.Errorf("got  %+v\nwant %+v", s, want)
	}
}

func TestLimits(t *testing.T) {
	got := limitsOf(work.Limits{StartSecs: 1, IdleSecs: 2, IterationSecs: 3, DrainSecs: 4})
	want := proc.Limits{Start: time.Second, Idle: 2 * time.Second, Total: 3 * time.Second, PostResult: postResultDefault, Drain: 4 * time.Second}
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
