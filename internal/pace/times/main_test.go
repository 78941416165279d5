package main

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"forge/internal/pace"
)

// Each line is what go test -json prints; crowd is how many programs want a core.
func TestProblems(t *testing.T) {
	t.Parallel()
	const passed = `{"Action":"pass","Package":"p","Elapsed":9}` + "\n"
	for name, tt := range map[string]struct {
		events string
		crowd  float64
		want   string // part of the only problem, "" = none
	}{
		"nothing":           {"", 1, "no package"},
		"fast":              {`{"Action":"pass","Package":"p","Test":"TestA","Elapsed":1.9}` + "\n" + passed, 1, ""},
		"slow":              {`{"Action":"pass","Package":"p","Test":"TestA","Elapsed":2.1}` + "\n" + passed, 1, "p TestA took 2.1 s"},
		"slow in a crowd":   {`{"Action":"pass","Package":"p","Test":"TestA","Elapsed":5.9}` + "\n" + passed, 3, ""},
		"slow for a reason": {`{"Action":"attr","Package":"p","Test":"TestA","Key":"slow","Value":"why"}` + "\n" + `{"Action":"pass","Package":"p","Test":"TestA/b","Elapsed":7}` + "\n" + passed, 1, ""},
		"another's reason":  {`{"Action":"attr","Package":"p","Test":"TestA/b","Key":"slow","Value":"why"}` + "\n" + `{"Action":"pass","Package":"p","Test":"TestA","Elapsed":7}` + "\n" + passed, 1, "p TestA took"},
		"a script's reason": {`{"Action":"output","Package":"p","Test":"TestA","Output":"# slow: why (7.0s)\n"}` + "\n" + `{"Action":"pass","Package":"p","Test":"TestA","Elapsed":7}` + "\n" + passed, 1, ""},
		"failed":            {`{"Action":"fail","Package":"p","Elapsed":1}` + "\n", 1, "failed: p"},
		"never ended":       {`{"Action":"start","Package":"p"}` + "\n", 1, "failed: p"},
	} {
		r := newReport()
		if err := r.read(strings.NewReader(tt.events), io.Discard); err != nil {
			t.Fatal(err)
		}
		r.crowd = tt.crowd
		failed, slow := r.problems()
		got := append(failed, slow...)
		if tt.want == "" && len(got) > 0 || tt.want != "" && (len(got) != 1 || !strings.Contains(got[0], tt.want)) {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

// plays is a player that knows what each test takes by itself.
type plays map[string]float64

func (p plays) play(pkg, name string) (float64, error) {
	seconds, ok := p[pkg+" "+name]
	if !ok {
		return 0, fmt.Errorf("nobody was to play %s %s", pkg, name)
	}
	return seconds, nil
}

func (plays) Close() error { return nil }

// Who is over the budget in a crowd, however large, is judged by what it takes by
// itself; who is below it, or says why, is not played again.
func TestAgain(t *testing.T) {
	t.Parallel()
	r := newReport()
	if err := r.read(strings.NewReader(`{"Action":"pass","Package":"p","Test":"TestCrowded","Elapsed":5}
{"Action":"pass","Package":"p","Test":"TestWaits","Elapsed":5}
{"Action":"pass","Package":"p","Test":"TestFast","Elapsed":1}
{"Action":"attr","Package":"p","Test":"TestSaid","Key":"slow","Value":"why"}
{"Action":"pass","Package":"p","Test":"TestSaid","Elapsed":9}
{"Action":"pass","Package":"p","Elapsed":9}
`), io.Discard); err != nil {
		t.Fatal(err)
	}
	r.crowd = 6
	if err := r.again(plays{"p TestCrowded": 0.8, "p TestWaits": 4.9}); err != nil {
		t.Fatal(err)
	}
	if failed, slow := r.problems(); len(failed) != 0 || len(slow) != 1 || !strings.Contains(slow[0], "p TestWaits took 4.9 s by itself") {
		t.Errorf("failed %q, slow %q", failed, slow)
	}
}

// A test is played by itself where it stands, by its name alone.
func TestPlayed(t *testing.T) {
	pace.Slow(t, "a test program is built")
	with := alone()
	defer with.Close()
	if seconds, err := with.play("forge/internal/pace", "TestLeft"); err != nil || seconds > budget {
		t.Errorf("%v s, %v", seconds, err)
	}
	for _, name := range []string{"TestNobody", "TestLeft/nobody"} {
		if seconds, err := with.play("forge/internal/pace", name); err == nil {
			t.Errorf("%s, which is no test, took %v s", name, seconds)
		}
	}
	if got := pattern("TestA/b(1)/c"); got != `^TestA$/^b\(1\)$/^c$` {
		t.Errorf("pattern is %s", got)
	}
}

// What failed is shown with what it printed, what passed by its last line.
func TestShown(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	r := newReport()
	if err := r.read(strings.NewReader(`{"Action":"build-output","ImportPath":"q","Output":"q.go:1: wrong\n"}
{"Action":"output","Package":"p","Test":"TestA","Output":"a_test.go:3: it is red\n"}
{"Action":"fail","Package":"p","Test":"TestA","Elapsed":1}
{"Action":"output","Package":"p","Test":"TestB","Output":"not said\n"}
{"Action":"pass","Package":"p","Test":"TestB","Elapsed":1}
{"Action":"output","Package":"p","Output":"FAIL\tp\t1s\n"}
{"Action":"fail","Package":"p","Elapsed":1}
{"Action":"output","Package":"o","Output":"PASS\n"}
{"Action":"output","Package":"o","Output":"ok  \to\t1s\n"}
{"Action":"pass","Package":"o","Elapsed":1}
go: no such thing
`), &out); err != nil {
		t.Fatal(err)
	}
	if want := "q.go:1: wrong\na_test.go:3: it is red\nFAIL\tp\t1s\nok  \to\t1s\ngo: no such thing\n"; out.String() != want {
		t.Errorf("shown is\n%s\nwant\n%s", out.String(), want)
	}
}
