package orchestrator

import (
	"bytes"
	"reflect"
	"strings"
	"testing"
)

// Making an effect of a command changes nothing, and comes to the same each time,
// also in the state that a snapshot restores; there is nothing in it that names
// this machine or this attempt.
func TestEffectOf(t *testing.T) {
	st := tell(t, reviewedBy("security"))
	seen := map[Step]bool{}
	look := func(n string) {
		t.Helper()
		for _, c := range Pending(st.s) {
			if c.Phase != n {
				continue
			}
			seen[c.Step] = true
			before := must(st.s.Snapshot())
			known := Known{Head: Head{Count: 7, Hash: "h"}}
			e, err := EffectOf(st.s, c, known)
			if err != nil {
				t.Fatal(err)
			}
			restored, err := Restore(before)
			if err != nil {
				t.Fatal(err)
			}
			again, err := EffectOf(restored, c, known)
			if err != nil || !bytes.Equal(must(EncodeEffect(e)), must(EncodeEffect(again))) {
				t.Errorf("%s is\n%+v, and of the restored state\n%+v, %v", c.ID, e, again, err)
			}
			if !bytes.Equal(before, must(st.s.Snapshot())) {
				t.Errorf("making the effect of %s changed the state", c.ID)
			}
			if e.Of() != c {
				t.Errorf("the effect of %+v is of %+v", c, e.Of())
			}
			for _, own := range []string{"Dir", "Checkout", "LogPath", "TimesPath", "Mark", "Hide", "HidePaths", "ReadPaths"} {
				ownField(t, reflect.ValueOf(e), own)
			}
		}
	}
	look("01")
	st.folder("01")
	look("01")
	st.work("01", says("P01"))
	look("01")
	st.verify("01", true)
	look("01")
	for _, step := range []Step{StepFolder, StepIterate, StepVerify, StepReview} {
		if !seen[step] {
			t.Errorf("no effect of the step %s was made", step)
		}
	}
}

// ownField wants the fields of a request that are the machine's to be empty.
func ownField(t *testing.T, v reflect.Value, name string) {
	t.Helper()
	for i := range v.NumField() {
		f, of := v.Field(i), v.Type().Field(i)
		switch {
		case strings.HasSuffix(v.Type().Name(), "Request") && of.Name == name && !f.IsZero():
			t.Errorf("%s.%s is %v", v.Type().Name(), name, f)
		case f.Kind() == reflect.Struct:
			ownField(t, f, name)
		}
	}
}

// A command that is not to be done has no effect.
func TestNoEffect(t *testing.T) {
	st := tell(t)
	for _, c := range []Command{
		{ID: "1", Step: "dance", Phase: "01"}, {ID: "2", Step: StepIterate, Phase: "09"}, {ID: "3", Step: StepClose, Phase: "01"}, {ID: "4", Step: StepWait, Phase: "01"},
	} {
		if e, err := EffectOf(st.s, c, Known{}); err == nil || !strings.Contains(err.Error(), string(c.ID)) {
			t.Errorf("%+v has the effect %+v, %v", c, e, err)
		}
	}
	if day, head := (Command{Step: StepReview}).Needs(); !day || head {
		t.Error("a review is made with the usage of the day alone")
	}
	if day, head := (Command{Step: StepLand}).Needs(); day || !head {
		t.Error("landing is made with the head of the journal alone")
	}
}
