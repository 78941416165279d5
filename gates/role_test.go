package gates

import (
	"errors"
	"testing"
	"time"

	"forge/internal/work"
)

func TestWhoMayAnswer(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, tt := range []struct {
		who, role string
		may       bool
	}{
		{"", "", true}, {"", RoleOwner, true}, {"", RoleReviewer, false}, {"", "stranger", false},
		{RoleOwner, RoleOwner, true}, {RoleOwner, RoleReviewer, false},
		{RoleReviewer, RoleReviewer, true}, {RoleReviewer, RoleOwner, true}, {RoleReviewer, "", true}, {RoleReviewer, "stranger", false},
		{"nobody knows", RoleReviewer, false}, {"nobody knows", RoleOwner, true},
	} {
		cp := work.Checkpoint{ID: "r.1", Kind: "final", Revision: 1, Status: work.CheckpointPending, Who: tt.who}
		if got := MayAnswer(cp, tt.role); got != tt.may {
			t.Errorf("MayAnswer(%q, %q) = %v", tt.who, tt.role, got)
		}
		a := work.Answer{Checkpoint: "r.1", Status: work.CheckpointApproved, By: "x", Role: tt.role}
		got, err := Resolve(cp, a, now)
		if (err == nil) != tt.may || tt.may != (got.Status == work.CheckpointApproved) {
			t.Errorf("%q answers what %q may: %s, %v", tt.role, tt.who, got.Status, err)
		}
		if !tt.may && !errors.Is(err, ErrBadAnswer) {
			t.Errorf("refused with %v", err)
		}
	}
}
