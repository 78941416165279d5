package work

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
)

func TestSignalsByKind(t *testing.T) {
	tests := []struct {
		name, text string
		want       Signals
	}{
		{"nothing", "all done, I promise", Signals{}},
		{"promise", "so <promise>\n PHASE 1 DONE\t</promise>.", Signals{Promises: []string{"PHASE 1 DONE"}}},
		{"promises in order", "<promise>B</promise><promise>A</promise><promise>B</promise>", Signals{Promises: []string{"B", "A", "B"}}},
		{"tags are case-sensitive", "<Promise>A</Promise><PROMISE>A</PROMISE><promise>A</Promise>", Signals{}},
		{"tags have no attributes or spaces", `<promise id="1">A</promise><promise >A</promise>< promise>A</promise>`, Signals{}},
		{"promise text keeps its case", "<promise>a B</promise>", Signals{Promises: []string{"a B"}}},
		{"a second opening restarts", "say <promise> when done: <promise>A</promise>", Signals{Promises: []string{"A"}}},
		{"an unterminated tag counts for nothing", "<promise>A</promise><promise>B", Signals{Promises: []string{"A"}}},
		{"a closing tag alone", "</promise>A</promise><promise>B</promise></promise>", Signals{Promises: []string{"B"}}},
		{"a cut closing tag", "<promise>A</promise", Signals{}},
		{"empty bodies are ignored", "<promise> </promise><blocker></blocker><pivot>\n</pivot>", Signals{}},
		{"blocker and pivot", "<blocker> no network </blocker> <pivot>use a file</pivot>", Signals{Blockers: []string{"no network"}, Pivots: []string{"use a file"}}},
		{"kinds overlap freely", "<blocker>a<promise>b</blocker>c</promise>", Signals{Blockers: []string{"a<promise>b"}, Promises: []string{"b</blocker>c"}}},
		{"other kinds inside a body", "<blocker>x <progress>5</progress> <request-decomposition/> y</blocker>", Signals{
			Blockers: []string{"x <progress>5</progress> <request-decomposition/> y"}, Progress: []float64{5}, RequestDecomposition: true}},
		{"angle brackets in a body", "<promise>a << b <p> </</promise>", Signals{Promises: []string{"a << b <p> </"}}},
		{"a tag after a broken one", "<<promise>A<</promise>", Signals{Promises: []string{"A<"}}},
		{"decomposition", "<request-decomposition/>", Signals{RequestDecomposition: true}},
		{"decomposition with a space", "<request-decomposition />", Signals{RequestDecomposition: true}},
		{"decomposition otherwise", "<request-decomposition><request-decomposition  /></request-decomposition>", Signals{}},
		{"spawn", `<spawn-subphase>{"name":"lint","promise":"LINT CLEAN","budget":2,"reasoning":"why"}</spawn-subphase>`, Signals{
			SubPhases: []SubPhaseRequest{{Name: "lint", Promise: "LINT CLEAN", Budget: 2, Reasoning: "why"}}}},
		{"spawn spelled otherwise", `<spawn_subphase> {"budget":1,"promise":" P ","name":" n "} </spawn_subphase>`, Signals{
			SubPhases: []SubPhaseRequest{{Name: "n", Promise: "P", Budget: 1}}}},
		{"checkpoint", `<checkpoint>{ "type": "deliverable", "paths": ["a<b"] }</checkpoint>`, Signals{
			Checkpoints: []json.RawMessage{json.RawMessage(`{"type":"deliverable","paths":["a\u003cb"]}`)}}},
		{"job complete", "<job-complete>\n{}\n</job-complete>", Signals{JobComplete: []json.RawMessage{json.RawMessage(`{}`)}}},
		{"question", `<question>{"text":" Which port? ","choices":["80"," 8080 "],"why":"two are free"}</question>`, Signals{
			Questions: []Question{{Text: "Which port?", Choices: []string{"80", "8080"}, Why: "two are free"}}}},
		{"assumption", "<assumption> port 80 </assumption><assumption></assumption>", Signals{Assumptions: []string{"port 80"}}},
		{"lessons", `<lesson> run make
			gen first </lesson><lesson>{"text":"mocks are made","file":"Makefile"}</lesson><lesson></lesson><lesson>{"text":"a","file":"../b"}</lesson><lesson>` + strings.Repeat("x", 301) + `</lesson>`, Signals{
			Lessons: []Lesson{{Text: "run make gen first"}, {Text: "mocks are made", File: "Makefile"}}, Problems: []string{
				"lesson: it has no text", `lesson: "../b" is no file of the repository`, "lesson: it has 301 bytes, more than 300",
			}}},
		{"replies", "<reply>12: It is a copy now: see there.</reply><reply> 4 :\nNo.</reply><reply>0: a</reply><reply>12:</reply><reply>no</reply>", Signals{
			Replies: []ThreadReply{{"12", "It is a copy now: see there."}, {"4", "No."}}, Problems: []string{
				`reply: "0: a" is not the number of a thread, a colon, and an answer`, `reply: "12:" is not the number of a thread, a colon, and an answer`,
				`reply: "no" is not the number of a thread, a colon, and an answer`,
			}}},
		{"waiting", "<waiting>CI: the checks of 12</waiting><waiting> process </waiting><waiting>rain</waiting>", Signals{
			Waiting: []string{"CI: the checks of 12", "process"}, Problems: []string{`waiting: "rain" does not begin with one of [ci limit person process outage]`}}},
		{"a blocker that says what it needs", `<blocker>{"text":"No API key","needs":"credential"}</blocker>`, Signals{
			Blockers: []string{"No API key"}, Lacks: []Lack{{"No API key", "credential"}}}},
		{"a blocker that only looks like an object", "<blocker>{no key}</blocker>", Signals{Blockers: []string{"{no key}"}}},
		{"broken UTF-8", "<promise>a\xff\xfeb\xc3</promise>\xf0<blocker>\x80</blocker>", Signals{Promises: []string{"a\uFFFDb\uFFFD"}, Blockers: []string{"\uFFFD"}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got, want := ParseSignals(tt.text), tt.want.withLists(); !reflect.DeepEqual(got, want) {
				t.Errorf("ParseSignals(%q)\n got %+v\nwant %+v", tt.text, got, want)
			}
		})
	}
}

func TestProgressBodies(t *testing.T) {
	counted := map[string]float64{
		"0": 0, "42": 42, "42%": 42, " 42 ": 42, "42 %": 42, "100": 100, "100%": 100, "007": 7, "99.5%": 99.5,
		"42% of it": 42, "42\tdone": 42, "42\u00a0percent": 42, "50 of 80 files": 50,
	}
	for body, want := range counted {
		got := ParseSignals("<progress>" + body + "</progress>")
		if len(got.Progress) != 1 || got.Progress[0] != want || got.Problems != nil {
			t.Errorf("progress %q: got %v, problems %q; want %v", body, got.Progress, got.Problems, want)
		}
	}
	for _, body := range []string{
		"", " ", "%", "abc", "about 42", "-1", "+5", "101", "100.1", "1e1", "1e400", "0x10", ".5", "5.", "5.%", "1.2.3", "42%%", "42%x",
		"42x", "42/100", "42,5", "NaN", "Inf", "\u0664\u0662", strings.Repeat("9", 400), "42\xff",
	} {
		got := ParseSignals("<progress>" + body + "</progress>")
		if len(got.Progress) != 0 || len(got.Problems) != 1 {
			t.Errorf("progress %q: got %v, problems %q; want one problem", body, got.Progress, got.Problems)
		}
	}
}

func TestUnusableObjects(t *testing.T) {
	spawn := []string{
		``, `null`, `[]`, `"x"`, `{`, `{"name":"n"`, `not json`,
		`{"promise":"P","budget":1}`, `{"name":"n","budget":1}`, `{"name":"n","promise":"P"}`,
		`{"name":"","promise":"P","budget":1}`, `{"name":"n","promise":" ","budget":1}`, `{"name":null,"promise":"P","budget":1}`,
		`{"name":"n","promise":"P","budget":0}`, `{"name":"n","promise":"P","budget":-1}`, `{"name":"n","promise":"P","budget":1.5}`,
		`{"name":"n","promise":"P","budget":"2"}`, `{"name":"n","promise":"P","budget":1e99}`, `{"name":"n","promise":"P","budget":null}`,
		`{"name":"n","promise":"P","budget":1,"agent":"x"}`, `{"Name":"n","promise":"P","budget":1}`,
		`{"name":"n","promise":"P","budget":1,"budget":9}`, `{"name":"n","promise":"P","budget":1}{}`, `{"name":"n","promise":"P","budget":1} ok`,
		`{"name":"n","promise":"P","budget":1,}`, `{"name":7,"promise":"P","budget":1}`, `{"name":"n","promise":["P"],"budget":1}`,
		`{"name":"a/b","promise":"P","budget":1}`, `{"name":"-rf","promise":"P","budget":1}`, `{"name":"n","promise":"a > b","budget":1}`,
		`{"name":"n","promise":"a\nb","budget":1}`, `{"name":"n","promise":"P","budget":1,"reasoning":1}`,
	}
	for _, body := range spawn {
		for _, tag := range []string{"spawn-subphase", "spawn_subphase"} {
			got := ParseSignals("<" + tag + ">" + body + "</" + tag + ">")
			if len(got.SubPhases) != 0 || len(got.Problems) != 1 || !strings.HasPrefix(got.Problems[0], "spawn-subphase: ") {
				t.Errorf("%s %s: got %v, problems %q; want one problem", tag, body, got.SubPhases, got.Problems)
			}
		}
	}
	for _, body := range []string{``, `[]`, `null`, `1`, `{} {}`, `{}x`, `{"a":1,"a":2}`, `{a:1}`, `{"a"}`, strings.Repeat(`{"a":`, 20000)} {
		got := ParseSignals("<checkpoint>" + body + "</checkpoint><job-complete>" + body + "</job-complete>")
		if got.Checkpoints != nil || got.JobComplete != nil || len(got.Problems) != 2 {
			t.Errorf("object %.40s: got %s %s, problems %q; want two problems", body, got.Checkpoints, got.JobComplete, got.Problems)
		}
	}
}

// What cannot be asked is a problem for the agent to read, and nothing else; what
// stops it is kept in any case.
func TestUnusableQuestions(t *testing.T) {
	long, longest := strings.Repeat("x", MaxQuestionBytes+1), strings.Repeat("y", MaxSignalBytes)
	for _, body := range []string{
		``, `Which port?`, `{}`, `{"text":" "}`, `{"text":"\u200b"}`, `{"text":7}`, `{"text":"a","text":"b"}`, `{"text":"a","default":"b"}`, `["a"]`,
		`{"text":"` + long + `"}`, `{"text":"` + longest + `"}`, `{"text":"a","why":"` + long + `"}`, `{"text":"a","choices":"b"}`,
		`{"text":"a","choices":["b"," b "]}`, `{"text":"a","choices":["b",""]}`, `{"text":"a","choices":["1","2","3","4","5","6","7"]}`,
		`{"text":"a","choices":["` + long + `"]}`, `{"text":"a"} please`,
	} {
		got := ParseSignals("<question>" + body + "</question>")
		if got.Questions != nil || len(got.Problems) != 1 || !strings.HasPrefix(got.Problems[0], "question: ") {
			t.Errorf("question %.60s: got %+v, problems %q; want one problem", body, got.Questions, got.Problems)
		}
	}
	for _, body := range []string{`{"text":"no key"}`, `{"text":"no key","needs":"money"}`, `{"text":"","needs":"person"}`, `{"text":"no key","needs":"person","why":"x"}`} {
		got := ParseSignals("<blocker>" + body + "</blocker>")
		if got.Lacks != nil || len(got.Blockers) != 1 || len(got.Problems) != 1 {
			t.Errorf("blocker %s: got %+v of %q, problems %q; want plain words and one problem", body, got.Lacks, got.Blockers, got.Problems)
		}
	}
}

// A problem is fed back to the agent; one that quotes a tag must not be one.
func TestProblemsAreInert(t *testing.T) {
	got := ParseSignals("<progress><promise>DONE</promise>\n</progress><spawn-subphase>{\"<pivot>x</pivot>\":1}</spawn-subphase>")
	if len(got.Problems) != 2 {
		t.Fatalf("got problems %q, want two", got.Problems)
	}
	for _, p := range got.Problems {
		if strings.ContainsAny(p, "<>\n") || len(p) > 200 {
			t.Errorf("problem %q is not one short line without tags", p)
		}
	}
}

func TestSignalLimits(t *testing.T) {
	t.Run("entries", func(t *testing.T) {
		var b strings.Builder
		for i := range MaxSignals + 5 {
			fmt.Fprintf(&b, "<progress>%d</progress><blocker>b%d</blocker><checkpoint>{\"n\":%d}</checkpoint>", i%101, i, i)
		}
		got := ParseSignals(b.String())
		if len(got.Progress) != MaxSignals || len(got.Blockers) != MaxSignals || len(got.Checkpoints) != MaxSignals {
			t.Errorf("kept %d, %d and %d entries, want %d each", len(got.Progress), len(got.Blockers), len(got.Checkpoints), MaxSignals)
		}
		if got.Blockers[MaxSignals-1] != "b99" {
			t.Errorf("the last blocker kept is %q, want the 100th", got.Blockers[MaxSignals-1])
		}
		if len(got.Problems) != 3 {
			t.Errorf("got problems %q, want one per kind", got.Problems)
		}
	})
	t.Run("problems", func(t *testing.T) {
		if got := ParseSignals(strings.Repeat("<progress>x</progress>", 3*MaxSignals)); len(got.Problems) != MaxSignals {
			t.Errorf("kept %d problems, want %d", len(got.Problems), MaxSignals)
		}
	})
	t.Run("a late second promise is still seen", func(t *testing.T) {
		many := strings.Repeat("<promise>A</promise>", 2*MaxSignals)
		got := ParseSignals(many + "<promise>B</promise>" + many)
		if claim, ok := Claim(got.Promises); ok || len(got.Promises) != MaxSignals {
			t.Errorf("Claim of %d promises = %q, want none", len(got.Promises), claim)
		}
	})
	t.Run("bodies", func(t *testing.T) {
		fits, over := strings.Repeat("x", MaxSignalBytes), strings.Repeat("x", MaxSignalBytes+1)
		got := ParseSignals("<blocker>" + over + "</blocker><blocker>" + fits + "</blocker>")
		if len(got.Blockers) != 1 || len(got.Blockers[0]) != MaxSignalBytes || len(got.Problems) != 1 {
			t.Errorf("kept %d blockers with problems %q, want the one that fits and a problem", len(got.Blockers), got.Problems)
		}
		got = ParseSignals("<blocker>" + over + "<blocker>short</blocker><pivot>" + over)
		if want := (Signals{Blockers: []string{"short"}}).withLists(); !reflect.DeepEqual(got, want) {
			t.Errorf("a long body that restarts or stays open: got %d blockers, problems %q", len(got.Blockers), got.Problems)
		}
	})
}

func TestClaim(t *testing.T) {
	tests := []struct {
		promises []string
		want     string
		ok       bool
	}{
		{nil, "", false},
		{[]string{"A"}, "A", true},
		{[]string{"A", "A", "A"}, "A", true},
		{[]string{"A", "B"}, "", false},
		{[]string{"A", "A", "a"}, "", false},
		{[]string{""}, "", false},
		{[]string{"", "A"}, "", false},
	}
	for _, tt := range tests {
		if got, ok := Claim(tt.promises); got != tt.want || ok != tt.ok {
			t.Errorf("Claim(%q) = %q, %v, want %q, %v", tt.promises, got, ok, tt.want, tt.ok)
		}
	}
}

func TestSignalsAsJSON(t *testing.T) {
	const empty = `{"promises":[],"progress":[],"blockers":[],"pivots":[],"subphases":[],"request_decomposition":false}`
	for name, s := range map[string]Signals{"zero value": {}, "parsed": ParseSignals("none")} {
		got, err := json.Marshal(s)
		if err != nil || string(got) != empty {
			t.Errorf("%s: got %s, %v, want %s", name, got, err, empty)
		}
	}
	got, err := json.Marshal(struct{ S *Signals }{&Signals{}})
	if err != nil || string(got) != `{"S":`+empty+`}` {
		t.Errorf("inside another value: got %s, %v", got, err)
	}
}

func TestSignalsWhileStreaming(t *testing.T) {
	var s SignalScanner
	write := func(text string) Signals {
		if n, err := s.Write([]byte(text)); n != len(text) || err != nil {
			t.Fatalf("Write = %d, %v, want %d", n, err, len(text))
		}
		return s.Signals()
	}
	first := write("<progress>x</progress><promise>A</promise><promise>B</prom")
	if want := []string{"A"}; !reflect.DeepEqual(first.Promises, want) {
		t.Errorf("in the middle: got %q, want %q", first.Promises, want)
	}
	problem := first.Problems[0]
	first.Promises[0], first.Problems[0] = "changed", "changed"
	last := write("ise><pi")
	if want := []string{"A", "B"}; !reflect.DeepEqual(last.Promises, want) || last.Problems[0] != problem {
		t.Errorf("at the end: got %q and problems %q, want %q and %q", last.Promises, last.Problems, want, problem)
	}
}

// A gigabyte is many of these writes: once every buffer has its size, they need
// no more memory. What is kept of complete tags is TestSignalLimits' business.
func TestScannerMemoryIsBounded(t *testing.T) {
	for _, text := range []string{
		"the quick brown fox jumps over the lazy dog\n",
		"if a < b { <p> </promise> }",
		"<promise> words",
		"<promise><blocker><pivot><spawn-subphase><checkpoint><job-complete><progress> words",
		"<promi",
	} {
		part := bytes.Repeat([]byte(text), 64<<10/len(text)+1)
		var s SignalScanner
		feed(&s, []byte("<pivot>"))
		for range 16 {
			feed(&s, part)
		}
		if allocs := testing.AllocsPerRun(100, func() { feed(&s, part) }); allocs > 0 {
			t.Errorf("%q: %v allocations per write of %d bytes, want none", text, allocs, len(part))
		}
		kept := cap(s.partial)
		for _, b := range s.bodies {
			kept += cap(b.text)
		}
		if most := 2 * int(signalKinds) * MaxSignalBytes; kept > most {
			t.Errorf("%q: buffers of %d bytes, want at most %d", text, kept, most)
		}
	}
}

func BenchmarkSignalScanner(b *testing.B) {
	texts := map[string]string{
		"words":     "The build is green now, and the next step is to wire the parser into the runner.\n",
		"html":      `<div class="a"><p>text</p><br/></div>` + "\n",
		"open":      "words inside a body that is never closed and goes on and on\n",
		"tags":      "<progress>42%</progress> some words in between <blocker>the network is down</blocker>\n",
		"onlyOpens": "<",
	}
	for name, text := range texts {
		b.Run(name, func(b *testing.B) {
			part := bytes.Repeat([]byte(text), 32<<10/len(text))
			var s SignalScanner
			if name == "open" {
				feed(&s, []byte("<promise>"))
			}
			b.SetBytes(int64(len(part)))
			b.ReportAllocs()
			for b.Loop() {
				feed(&s, part)
			}
		})
	}
}

func TestWithoutSignals(t *testing.T) {
	for said, want := range map[string]string{
		"I look. <progress>20</progress>":            "I look.",
		"Done.\n<promise>IT IS DONE</promise>":       "Done.",
		"<promise>IT\nIS DONE</promise>":             "",
		"<reply>2: as you say</reply> Now the rest.": "Now the rest.",
		"a <b> of <progress> without an end":         "a <b> of <progress> without an end",
	} {
		if got := WithoutSignals(said); got != want {
			t.Errorf("%q: %q, want %q", said, got, want)
		}
	}
}
