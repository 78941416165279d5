package linear

import (
	"strings"
	"testing"
	"time"

	"forge/factory/tracker"
)

// Linear puts what one person does within a while into one line: an edit in it is
// never taken for one from before the label.
func TestALineOfSomeTime(t *testing.T) {
	at := func(minute int) time.Time { return time.Unix(int64(minute)*60, 0).UTC() }
	writer, reader := &user{Name: "writer"}, user{Name: "reader"}
	i := issue{Title: "A wish", State: state{Type: "unstarted"}, Creator: &reader, Created: at(0)}
	i.Labels.Nodes = []label{{Name: "forge"}}
	i.History.Nodes = []line{
		{ID: "1", Created: at(1), Updated: at(9), Actor: writer, Described: true, DescribedBy: []user{*writer, reader}},
		{ID: "2", Created: at(5), Updated: at(7), Actor: writer, Added: []label{{Name: "forge"}}},
	}
	r := reading(i, user{})
	r.Writers = map[string]bool{"writer": true}
	if b, ok := tracker.Bind(r, "forge", tracker.Seen{}); !ok || b.Hold != tracker.HoldChanged || !strings.Contains(b.Why, "reader") {
		t.Errorf("%+v, %v: an edit that ended after the label", b, ok)
	}
	i.History.Nodes[0].Updated = at(4)
	r = reading(i, user{})
	r.Writers = map[string]bool{"writer": true}
	if b, ok := tracker.Bind(r, "forge", tracker.Seen{}); !ok || b.Hold != "" || !b.At.Equal(at(5)) {
		t.Errorf("%+v, %v: an edit from before the label", b, ok)
	}
}

// Ids of comments that Forge chooses are of the kind that Linear takes, and known again.
func TestCommentIDs(t *testing.T) {
	seen := map[string]bool{}
	for _, key := range []string{"a", "b"} {
		for n := range ownIDs {
			id := commentID(key, n)
			if len(id) != 36 || id[14] != '4' || !strings.ContainsRune("89ab", rune(id[19])) || seen[id] || !ownID(id) || id != commentID(key, n) {
				t.Errorf("%q", id)
			}
			seen[id] = true
		}
	}
	if ownID("c0000000-0000-4000-8000-000000000001") {
		t.Error("an id of somebody else's is taken for Forge's")
	}
}

// A label that an issue was opened with was given by who opened it, whatever other
// labels came later.
func TestALabelFromTheBeginning(t *testing.T) {
	i := issue{Title: "A wish", State: state{Type: "unstarted"}, Creator: &user{Name: "reader"}}
	i.Labels.Nodes = []label{{Name: "bug"}, {Name: "forge"}}
	i.History.Nodes = []line{{ID: "1", Created: time.Unix(60, 0), Actor: &user{Name: "writer"}, Added: []label{{Name: "bug"}}}}
	r := reading(i, user{})
	r.Writers = map[string]bool{"writer": true, "reader": false}
	if b, ok := tracker.Bind(r, "forge", tracker.Seen{}); !ok || b.Hold != tracker.HoldReader {
		t.Errorf("%+v, %v", b, ok)
	}
}
