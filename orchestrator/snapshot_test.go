package orchestrator

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"forge/internal/work"
)

// sameState says how two states differ, "" when they do not. Of the frontier
// only what can be asked of it counts: its heap may lie in another order.
func sameState(a, b *State) string {
	x, y := *a, *b
	x.frontier, y.frontier = nil, nil
	switch {
	case !reflect.DeepEqual(x, y):
		return fmt.Sprintf("%s\nand\n%s", picture(a), picture(b))
	case !reflect.DeepEqual(a.frontier.Standings(), b.frontier.Standings()):
		return fmt.Sprintf("nodes %v and %v", a.frontier.Standings(), b.frontier.Standings())
	case !slices.Equal(a.frontier.Ready(), b.frontier.Ready()), a.frontier.Counts() != b.frontier.Counts():
		return fmt.Sprintf("ready %v of %+v and %v of %+v", a.frontier.Ready(), a.frontier.Counts(), b.frontier.Ready(), b.frontier.Counts())
	}
	return ""
}

// restored is s, written down and read again.
func restored(t *testing.T, s *State) *State {
	t.Helper()
	data, err := s.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	back, err := Restore(data)
	if err != nil {
		t.Fatal(err)
	}
	return back
}

// resumeAnywhere restores the run after each of its first events, folds the
// others onto that, and wants what folding all of them gives.
func resumeAnywhere(t *testing.T, open func() *State, evs []work.Event, every int) {
	t.Helper()
	fold := func(s *State, evs []work.Event) *State {
		for _, e := range evs {
			if err := Apply(s, e); err != nil {
				t.Fatal(err)
			}
		}
		return s
	}
	want, s := fold(open(), evs), open()
	for i := range evs {
		if i%every == 0 {
			back := restored(t, s)
			if diff := sameState(back, s); diff != "" {
				t.Fatalf("restored after event %d, the states are\n%s", i, diff)
			}
			if diff := sameState(fold(back, evs[i:]), want); diff != "" {
				t.Fatalf("restored after event %d and folded to the end, the states are\n%s", i, diff)
			}
		}
		fold(s, evs[i:i+1])
	}
}

func TestAGoldenRunRestoredAnywhereEndsTheSame(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "journals", "*.jsonl"))
	if err != nil || len(files) < 2 {
		t.Fatalf("%d journals: %v", len(files), err)
	}
	for _, file := range files {
		evs := golden(t, file)
		resumeAnywhere(t, func() *State { return openGolden(t, evs[0]) }, evs, 1)
	}
}

func TestASimulatedRunRestoredAnywhereEndsTheSame(t *testing.T) {
	journals(t, 60, func(_ uint64, w *world) {
		open := func() *State {
			s, err := NewState("sim", w.spec)
			if err != nil {
				t.Fatal(err)
			}
			// As a spec that comes from the journal: what is empty is nil.
			return restored(t, s)
		}
		resumeAnywhere(t, open, w.journal, 7)
	})
}

// Every field that a state has or will have is carried: the exported ones by
// JSON, which a tag must not forbid, and no others but those that Restore sets.
func TestASnapshotCarriesEveryField(t *testing.T) {
	byHand := []string{"State.frontier", "State.skips", "State.topo", "State.version", "State.working"}
	seen := map[reflect.Type]bool{}
	var found []string
	var walk func(of reflect.Type)
	walk = func(of reflect.Type) {
		switch of.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
			walk(of.Elem())
			return
		case reflect.Interface, reflect.Func, reflect.Chan:
			t.Errorf("a state holds a %s, which cannot be written down", of)
			return
		case reflect.Struct:
		default:
			return
		}
		if seen[of] || of == reflect.TypeFor[time.Time]() {
			return
		}
		seen[of] = true
		for i := range of.NumField() {
			f := of.Field(i)
			if !f.IsExported() {
				found = append(found, of.Name()+"."+f.Name)
				continue
			}
			if f.Tag.Get("json") == "-" {
				t.Errorf("%s.%s is kept out of JSON", of.Name(), f.Name)
			}
			walk(f.Type)
		}
	}
	walk(reflect.TypeFor[State]())
	slices.Sort(found)
	if !slices.Equal(found, byHand) {
		t.Errorf("the unexported fields of a state are\n%s\nand a snapshot carries\n%s", strings.Join(found, "\n"), strings.Join(byHand, "\n"))
	}

	// No marshaller of its own drops anything either.
	full := reflect.New(reflect.TypeFor[State]()).Elem()
	fill(full)
	s := full.Addr().Interface().(*State)
	s.Spec.Plan.Phases[0].DependsOn = nil // a graph of one node
	s.Spec.Plan.Phases[0].Number = "full"
	s.Spec.Settings.Phases["full"] = s.Spec.Settings.Phases["x"]
	plan := s.Spec
	plan.Issue, plan.Fork = nil, nil                                          // no run has both a job and an issue, and a fork is one of a phase that there is
	plan.Repositories, plan.Plan.Phases = nil, slices.Clone(plan.Plan.Phases) // nor a job and several repositories
	plan.Plan.Phases[0].Repository = ""
	first, err := NewState("full", plan)
	if err != nil {
		t.Fatal(err)
	}
	s.frontier, s.topo, s.version, s.working = first.frontier, first.topo, "version", []string{"full"}
	s.skips = append(s.skips, first.skips...)
	if diff := sameState(restored(t, s), s); diff != "" {
		t.Errorf("filled and restored, the states are\n%s", diff)
	}
}

// fill sets everything in v to something that is not its zero value.
func fill(v reflect.Value) {
	if !v.CanSet() {
		return
	}
	if v.Type() == reflect.TypeFor[json.RawMessage]() {
		v.SetBytes([]byte("7"))
		return
	}
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(7)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(7)
	case reflect.Float32, reflect.Float64:
		v.SetFloat(0.7)
	case reflect.String:
		v.SetString("x")
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0))
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key)
		fill(value)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(time.Date(2030, 1, 2, 3, 4, 5, 6, time.UTC)))
			return
		}
		for i := range v.NumField() {
			fill(v.Field(i))
		}
	}
}

func TestRestoreRefusesWhatIsNoState(t *testing.T) {
	good, err := tell(t).s.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Restore(good); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"", "{", "{}", "[]", "null", string(good[:len(good)/2]), strings.Replace(string(good), `"state":"`, `"state":"no`, 1)} {
		if _, err := Restore([]byte(bad)); err == nil {
			t.Errorf("restored from %.80q", bad)
		}
	}
}
