package hosttest

import (
	"slices"

	"forge/internal/work"
)

func changed(f *fixture) {
	first, head := f.propose(branch, map[string]string{"b.txt": "b\n"})
	second, _ := f.propose("forge/second", map[string]string{"c.txt": "c\n"})
	hints, err := f.Host.Changed(f.Context(), "")
	f.ok(err)
	if len(hints.Numbers) > 0 || hints.Cursor == "" {
		f.Errorf("at the beginning: %+v", hints)
	}
	// Whole seconds: what was just touched is named once more.
	for range 100 {
		hints, err = f.Host.Changed(f.Context(), hints.Cursor)
		f.ok(err)
		if len(hints.Numbers) == 0 {
			break
		}
		f.pause()
	}
	if len(hints.Numbers) > 0 {
		f.Fatalf("nothing happens, and %v changed", hints.Numbers)
	}
	cursor := hints.Cursor
	for what, touch := range map[string]func(){
		"an approval without words": func() { f.People.Review(f, "ann", first.Number, head, work.PullApproved, "") },
		"a comment":                 func() { f.People.Say(f, "ann", first.Number, "hm") },
		"a push": func() {
			next := f.Commit(f, head, "more\n", map[string]string{"m.txt": "m\n"})
			f.ok(f.Host.Push(f.Context(), branch, next, head))
		},
		"closing": func() { f.People.Close(f, second.Number) },
	} {
		touch()
		want := first.Number
		if what == "closing" {
			want = second.Number
		}
		found := false
		for range 30 {
			hints, err = f.Host.Changed(f.Context(), cursor)
			f.ok(err)
			if found = slices.Contains(hints.Numbers, want); found {
				break
			}
			f.pause()
		}
		if !found {
			f.Errorf("%s was missed: %+v", what, hints)
		}
		for range 100 { // until it is old
			if hints, err = f.Host.Changed(f.Context(), hints.Cursor); err != nil || len(hints.Numbers) == 0 {
				break
			}
			f.pause()
		}
		f.ok(err)
		cursor = hints.Cursor
	}
	if _, err := f.Host.Changed(f.Context(), "not a cursor"); err == nil {
		f.Error("a broken cursor was taken")
	}
}

// A host sends its events to one address once, or says that it sends none. Which
// webhook does so may be another afterwards: its secret cannot be changed
// everywhere.
func hooks(f *fixture) {
	const address = "http://127.0.0.1:1/hook"
	id, err := f.Host.EnsureHook(f.Context(), address, "a secret")
	if f.People == nil {
		f.refused(err, work.HostRefused)
		f.refused(f.Host.TestHook(f.Context(), id), work.HostRefused)
		return
	}
	f.ok(err)
	again, err := f.Host.EnsureHook(f.Context(), address, "a secret")
	if f.ok(err); id == 0 || again == 0 {
		f.Errorf("the webhook is %d, and then %d", id, again)
	}
	f.ok(f.Host.TestHook(f.Context(), again))
	if err := f.Host.TestHook(f.Context(), id); again != id && err == nil {
		f.Errorf("webhook %d sends to the address of %d too", id, again)
	}
}
