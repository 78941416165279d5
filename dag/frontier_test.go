package dag

import (
	"errors"
	"reflect"
	"strings"
	"testing"
)

// play takes steps such as "start a", "done a", "fail a", "reopen a b" and
// "leave a b", and returns what the last one gave.
func play(t *testing.T, f *Frontier[string], steps ...string) (out any) {
	t.Helper()
	for _, step := range steps {
		verb, rest, _ := strings.Cut(step, " ")
		keys := strings.Fields(rest)
		var err error
		switch verb {
		case "start":
			err = f.Start(keys[0])
		case "done":
			out, err = f.Done(keys[0])
		case "fail":
			out, err = f.Fail(keys[0])
		case "reopen":
			err = f.Reopen(keys...)
		case "leave":
			err = f.LeaveOut(keys...)
		}
		if err != nil {
			t.Fatalf("%s: %v", step, err)
		}
	}
	return out
}

// wantStates reads "a done, b ready".
func wantStates(t *testing.T, f *Frontier[string], want string) {
	t.Helper()
	for _, one := range strings.Split(want, ", ") {
		if k, s, _ := strings.Cut(one, " "); f.State(k) != State(s) {
			t.Errorf("%s is %s, want %s", k, f.State(k), s)
		}
	}
}

func TestNoBarrierBetweenLevels(t *testing.T) {
	f := build(t, nodes("a", "slow", "b: a", "c: b", "join: c slow")).Frontier()
	play(t, f, "start slow", "start a")
	if got := play(t, f, "done a"); !reflect.DeepEqual(got, []string{"b"}) {
		t.Errorf("released %v, want b while slow still runs", got)
	}
	play(t, f, "start b", "done b", "start c", "done c")
	wantStates(t, f, "slow running, join waiting")
	if got := play(t, f, "done slow"); !reflect.DeepEqual(got, []string{"join"}) {
		t.Errorf("released %v, want join", got)
	}
}

func TestReadyIsOrderedByCriticalPath(t *testing.T) {
	f := build(t, nodes("a", "b", "c: b", "d: c", "e: a")).Frontier()
	if got := f.Ready(); !reflect.DeepEqual(got, []string{"b", "a"}) {
		t.Errorf("Ready = %v, want b, with three nodes ahead, before a", got)
	}
	play(t, f, "start b")
	if got := f.Ready(); !reflect.DeepEqual(got, []string{"a"}) {
		t.Errorf("Ready = %v, want only a once b runs", got)
	}
	if k, ok := f.Next(); k != "a" || !ok {
		t.Errorf("Next = %v, %v, want a", k, ok)
	}
	play(t, f, "start a")
	if k, ok := f.Next(); ok {
		t.Errorf("Next = %v, want none", k)
	}
}

func TestFailureSkipsWithTheFirstCause(t *testing.T) {
	f := build(t, nodes("1", "2", "3: 1", "4: 2 3", "5: 2", "6")).Frontier()
	play(t, f, "start 1", "start 2")
	if got, want := play(t, f, "fail 1"), []Skip[string]{{"3", "1"}, {"4", "1"}}; !reflect.DeepEqual(got, want) {
		t.Errorf("failing 1 skipped %v, want %v", got, want)
	}
	if got, want := play(t, f, "fail 2"), []Skip[string]{{"5", "2"}}; !reflect.DeepEqual(got, want) {
		t.Errorf("failing 2 skipped %v, want %v", got, want)
	}
	if cause, ok := f.Cause("4"); cause != "1" || !ok {
		t.Errorf("cause of 4 = %v, want 1, which failed first", cause)
	}
	if cause, ok := f.Cause("1"); ok {
		t.Errorf("cause of 1 = %v, want none: it failed by itself", cause)
	}
	if f.Finished() {
		t.Error("finished while 6 is ready")
	}
	play(t, f, "start 6", "done 6")
	if got, want := f.Counts(), (Counts{Done: 1, Failed: 2, Skipped: 3}); got != want || !f.Finished() {
		t.Errorf("counts %+v, finished %v, want %+v and true", got, f.Finished(), want)
	}
}

func TestAReadyNodeMayFailOrBeDoneUnstarted(t *testing.T) {
	f := build(t, nodes("1", "2: 1", "3")).Frontier()
	play(t, f, "done 1", "fail 3")
	wantStates(t, f, "1 done, 2 ready, 3 failed")
}

func TestReopen(t *testing.T) {
	f := build(t, nodes("1", "2: 1", "3: 2", "4")).Frontier()
	play(t, f, "done 1", "start 2", "fail 2", "done 4", "reopen 3 2 3")
	wantStates(t, f, "1 done, 2 ready, 3 waiting, 4 done")
	if cause, ok := f.Cause("3"); ok {
		t.Errorf("a reopened node still has the cause %v", cause)
	}
	play(t, f, "start 2", "done 2", "start 3", "done 3")
	if !f.Finished() {
		t.Errorf("not finished: %+v", f.Counts())
	}
}

func TestReopenTakesASet(t *testing.T) {
	f := build(t, nodes("1", "2: 1", "3: 1")).Frontier()
	play(t, f, "fail 1")
	if err := f.Reopen("2"); !errors.Is(err, ErrTransition) || !strings.Contains(err.Error(), "1, which it needs") {
		t.Errorf("reopening 2 under the failed 1: %v, want a refusal that names 1", err)
	}
	if err := f.Reopen("1", "9"); !errors.Is(err, ErrUnknownNode) {
		t.Errorf("reopening an unknown node: %v", err)
	}
	wantStates(t, f, "1 failed, 2 skipped, 3 skipped")
	play(t, f, "reopen 1 2", "start 1", "done 1")
	wantStates(t, f, "2 ready, 3 skipped")
	play(t, f, "reopen 3")
	wantStates(t, f, "3 ready")
}

func TestLeaveOut(t *testing.T) {
	f := build(t, nodes("1", "2: 1", "3: 2", "4: 3", "5: 4")).Frontier()
	play(t, f, "leave 4 5 1 2 1")
	wantStates(t, f, "1 done, 2 done, 3 ready, 4 done, 5 done")
	if got := play(t, f, "start 3", "fail 3"); len(got.([]Skip[string])) != 0 {
		t.Errorf("failing 3 skipped %v, which were left out", got)
	}
	if !f.Finished() {
		t.Errorf("not finished: %+v", f.Counts())
	}
}

func TestIllegalStepsChangeNothing(t *testing.T) {
	g := build(t, nodes("waiting: ready running", "ready", "running", "done", "failed", "skipped: failed"))
	verbs := map[string]struct {
		step    func(*Frontier[string], string) error
		allowed string
	}{
		"start":  {func(f *Frontier[string], k string) error { return f.Start(k) }, "ready"},
		"done":   {func(f *Frontier[string], k string) error { _, err := f.Done(k); return err }, "ready running"},
		"fail":   {func(f *Frontier[string], k string) error { _, err := f.Fail(k); return err }, "ready running"},
		"reopen": {func(f *Frontier[string], k string) error { return f.Reopen("failed", k) }, "failed skipped"},
		"leave":  {func(f *Frontier[string], k string) error { return f.LeaveOut("ready", k) }, "waiting ready"},
	}
	for name, verb := range verbs {
		for _, k := range append(g.Keys(), "unknown") {
			f := g.Frontier()
			play(t, f, "start running", "start done", "done done", "fail failed")
			if k != "unknown" && f.State(k) != State(k) {
				t.Fatalf("%s is %s", k, f.State(k))
			}
			before, ready := f.Counts(), f.Ready()
			err := verb.step(f, k)
			want := ErrTransition
			if k == "unknown" {
				want = ErrUnknownNode
			}
			if strings.Contains(verb.allowed, k) {
				want = nil
			}
			if !errors.Is(err, want) {
				t.Errorf("%s %s: %v, want %v", name, k, err, want)
			}
			if err != nil && (f.Counts() != before || !reflect.DeepEqual(f.Ready(), ready)) {
				t.Errorf("%s %s was refused and changed %+v to %+v", name, k, before, f.Counts())
			}
		}
	}
	if s := g.Frontier().State("unknown"); s != "" {
		t.Errorf("state of an unknown node = %q, want none", s)
	}
}
