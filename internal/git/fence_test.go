package git

import (
	"errors"
	"testing"
)

// A reference moves while its fence is one's own, and not when somebody set it since.
func TestUpdateFenced(t *testing.T) {
	b := newBed(t, nil)
	base, one, two := b.result("00", files{"x": "0"}), b.result("01", files{"x": "1"}), b.result("02", files{"x": "2"})
	const ref, fence = "refs/forge/x/y", "refs/forge/x/fence/y"
	set := func(word string) string {
		t.Helper()
		at, err := b.Fence(b.ctx, fence, base, word)
		if err != nil {
			t.Fatal(err)
		}
		return at
	}
	is := func(want string) {
		t.Helper()
		if got, err := b.ReadRef(b.ctx, ref); err != nil || got != want {
			t.Errorf("it is at %q, %v; want %q", got, err, want)
		}
	}
	var moved *MovedError
	mine := set("a")
	if err := b.UpdateFenced(b.ctx, ref, one, fence, mine); err != nil {
		t.Fatal(err)
	}
	is(one)
	theirs := set("b")
	for _, id := range []string{two, ""} {
		if err := b.UpdateFenced(b.ctx, ref, id, fence, mine); !errors.As(err, &moved) {
			t.Errorf("%q past another's fence: %v", id, err)
		}
	}
	is(one)
	if err := b.UpdateFenced(b.ctx, ref, "", fence, theirs); err != nil {
		t.Errorf("a look at its own fence: %v", err)
	}
	if err := b.UpdateFenced(b.ctx, ref, two, fence, theirs); err != nil {
		t.Error(err)
	}
	is(two)
	if err := b.UpdateFenced(b.ctx, "HEAD", one, fence, theirs); err == nil {
		t.Error("HEAD went through")
	}
}
