package trackertest

import (
	"forge/factory/tracker"
	"forge/internal/work"
)

// Comments are told with who may write and a number that grows, and a sign can be
// left at each, once and again; not at one that is not there.
func calls(f *fixture) {
	n := f.chosen("Called")
	f.People.Say(f, Writer, n, "/forge stop")
	f.People.Say(f, Reader, n, "/forge do")
	r := f.counts("called", n, tracker.Seen{}, none)
	if len(r.Comments) != 2 || r.Comments[0].ID <= 0 || r.Comments[1].ID <= r.Comments[0].ID || !r.Writers[Writer] || r.Writers[Reader] {
		f.Fatalf("comments %+v, writers %v", r.Comments, r.Writers)
	}
	for range 2 {
		if err := f.Tracker.Acknowledge(f.Context(), n, r.Comments[0]); err != nil {
			f.Errorf("acknowledge: %v", err)
		}
	}
	none := tracker.Comment{ID: r.Comments[1].ID + 1000, Key: "00000000-0000-4000-8000-000000000000"}
	if err := f.Tracker.Acknowledge(f.Context(), n, none); !f.NoSigns && work.HostKindOf(err) == "" {
		f.Errorf("acknowledged what is not there: %v", err)
	}
}
