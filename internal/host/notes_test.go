package host

import (
	"strings"
	"testing"

	"forge/internal/text"
	"forge/internal/work"
)

// A fix is offered as each host commits one; where it cannot stand so, it is shown.
func TestNoteBody(t *testing.T) {
	note := func(now string) work.PullNote {
		return work.PullNote{Path: "a", Line: 3, Body: text.Own("words"), Trace: "ab.cd-ef> x", Fix: &work.PullFix{Was: []string{"a", "b"}, Now: now}}
	}
	for _, tc := range []struct {
		offer     Offer
		now, want string
	}{
		{OfferLines, "\tx\n  y", "words\n\n```suggestion\n\tx\n  y\n```"},
		{OfferLines, "", "words\n\n```suggestion\n```"},
		{OfferLines, "a ``` b", "words\n\n````suggestion\na ``` b\n````"},
		{OfferRelative, "x", "words\n\n```suggestion:-0+1\nx\n```"},
		{OfferDiff, "x", "words\n\n```diff\n-a\n-b\n+x\n```"},
		{OfferDiff, "", "words\n\n```diff\n-a\n-b\n```"},
		{OfferLines, "<!-- forge-reviewed -->", "words\n\n```diff\n-a\n-b\n+<\u200b!-- forge-reviewed -->\n```"},
		{OfferLines, "a\u202eb", "words\n\n```diff\n-a\n-b\n+ab\n```"},
	} {
		got := NoteBody(note(tc.now), tc.offer)
		if want := tc.want + "\n\n<!-- forge-finding:ab.cd-efx -->"; got != want {
			t.Errorf("%d %q:\n%q, want\n%q", tc.offer, tc.now, got, want)
		}
	}
}

func TestReviewedMarkHoldsCommitsAlone(t *testing.T) {
	id := strings.Repeat("a", 40)
	if m := Reviewed(id, id); m.String() != "<!-- forge-reviewed:"+id+":"+id+" -->" {
		t.Errorf("%q", m)
	}
	for _, bad := range []string{"", "main", id + " -->", strings.Repeat("g", 40)} {
		if m := Reviewed(bad, id); !m.Empty() {
			t.Errorf("%q made %q", bad, m)
		}
	}
}
