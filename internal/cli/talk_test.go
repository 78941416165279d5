package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"forge/internal/agent"
	"forge/internal/narrate"
	"forge/internal/text"
	"forge/internal/work"
)

// timesOf is where it stands when the parts of a log came.
func timesOf(log string) string { return strings.TrimSuffix(log, ".log") + ".times" }

// talkOf is a log as forge logs shows it.
func talkOf(path, kind string, full bool) string {
	log, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	var b strings.Builder
	talk := agent.NewTranscript(timesOf(path), kind)
	for _, t := range append(talk.Read(log), talk.End()...) {
		b.WriteString(narrate.Turn(t, full))
	}
	return b.String()
}

// Each kind of agent is read from its own stream. The pages beside the logs say
// what is to be seen: folded, and with --full.
func TestTalkOfEachKind(t *testing.T) {
	for _, kind := range agent.Kinds() {
		t.Run(kind, func(t *testing.T) {
			base := filepath.Join("testdata", "talk", kind)
			for ending, full := range map[string]bool{".txt": false, ".full.txt": true} {
				want, err := os.ReadFile(base + ending)
				if err != nil {
					t.Fatal(err)
				}
				if got := talkOf(base+".log", kind, full); got != string(want) {
					t.Errorf("%s%s:\n%s\nwant\n%s", base, ending, got, want)
				}
			}
		})
	}
}

// A log that grows by a few bytes at a time tells the same as one that is read
// as a whole.
func TestTalkGrows(t *testing.T) {
	for _, kind := range agent.Kinds() {
		path := filepath.Join("testdata", "talk", kind+".log")
		log, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		talk := agent.NewTranscript(timesOf(path), kind)
		var turns []work.Turn
		for len(log) > 0 {
			n := min(7, len(log))
			turns = append(turns, talk.Read(log[:n])...)
			log = log[n:]
		}
		for _, turn := range append(turns, talk.End()...) {
			b.WriteString(narrate.Turn(turn, true))
		}
		if got, want := b.String(), talkOf(path, kind, true); got != want {
			t.Errorf("%s in parts:\n%s\nwant\n%s", kind, got, want)
		}
	}
}

// How long a tool took is known from when its lines came.
func TestTalkTimes(t *testing.T) {
	log := filepath.Join(t.TempDir(), "01-1-1.log")
	call := `{"text":"make","type":"tool"}` + "\n"
	if err := os.WriteFile(log, []byte(call+`{"type":"tool_end"}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	times := "0 1000\n" + "30 4500\n" + "31 broken"
	if err := os.WriteFile(timesOf(log), []byte(times), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, want := talkOf(log, "script", false), "  tool: make · ok, 3.5 s\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// Nothing that an agent prints acts on a terminal, be it broken, cut or huge.
func FuzzTalk(f *testing.F) {
	for _, kind := range agent.Kinds() {
		log, err := os.ReadFile(filepath.Join("testdata", "talk", kind+".log"))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(log, kind, true)
		f.Add(log[:len(log)/2], kind, false)
	}
	f.Add([]byte(strings.Repeat("x", 1<<20)), "claude", true)
	f.Fuzz(func(t *testing.T, log []byte, kind string, full bool) {
		talk := agent.NewTranscript("nowhere", kind)
		lines := 0
		for _, turn := range append(talk.Read(log), talk.End()...) {
			shown := narrate.Turn(turn, full)
			if shown == "" && turn.Kind == work.TurnOther && !full {
				continue
			}
			if !strings.HasSuffix(shown, "\n") {
				t.Fatalf("%q does not end its line", shown)
			}
			for _, r := range strings.NewReplacer("\n", "", "\t", "").Replace(shown) {
				if text.Control(r) {
					t.Fatalf("%q obeys %q", shown, r)
				}
			}
			lines++
		}
		if lines > len(log)+1 {
			t.Fatalf("%d turns of %d bytes", lines, len(log))
		}
	})
}
