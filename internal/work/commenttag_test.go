package work

import (
	"slices"
	"strings"
	"testing"
)

func TestTagged(t *testing.T) {
	for body, want := range map[string]struct {
		tag  CommentTag
		rest string
	}{
		"[FIX] the sum is wrong": {TagFix, "the sum is wrong"},
		" [nit]shorter ":         {TagNit, "shorter"},
		"[Question]\nwhy?":       {TagQuestion, "why?"},
		"the [NIT] stands later": {TagNone, "the [NIT] stands later"},
		"[NITS] no such tag":     {TagNone, "[NITS] no such tag"},
		"[FIX":                   {TagNone, "[FIX"},
		"":                       {TagNone, ""},
	} {
		if tag, rest := Tagged(body); tag != want.tag || rest != want.rest {
			t.Errorf("%q has tag %q and rest %q, want %q and %q", body, tag, rest, want.tag, want.rest)
		}
	}
}

// What comments on lines come to depends on the answer: an agent is told what each
// wants, and where the work is approved they are left for later.
func TestCommentsByAnswer(t *testing.T) {
	cp := Checkpoint{Comments: []LineComment{
		{ID: 1, Path: "b.go", Side: SideNew, Line: 2, Body: "[NIT] a better\nname"},
		{ID: 2, Path: "a.go", Side: SideNew, Line: 7, Body: "[question] why?"},
		{ID: 3, Path: "a.go", Side: SideNew, Line: 1, Body: "[fix] off by one"},
		{ID: 4, Path: "c.go", Side: SideNew, Line: 1, Body: "hm"},
	}}
	asked := cp.WithWords(Answer{Status: CheckpointChangesRequested, Comment: "please"})
	want := "please\na.go:1\n(has to be changed) off by one\na.go:7\n(a question: answer it in your last message, and change nothing for it) why?\n" +
		"b.go:2\n(a small thing: change it if that costs little) a better\nname\nc.go:1\nhm"
	if asked.Comment != want || asked.FollowUps != nil {
		t.Errorf("the agent is told\n%s\nwant\n%s", asked.Comment, want)
	}
	approved := cp.WithWords(Answer{Status: CheckpointApproved, Comment: "fine"})
	later := []string{"a.go:1: off by one", "a.go:7: why?", "b.go:2: a better name", "c.go:1: hm"}
	if approved.Comment != "fine" || !slices.Equal(approved.FollowUps, later) {
		t.Errorf("left for later is\n%s", strings.Join(approved.FollowUps, "\n"))
	}
	if rejected := cp.WithWords(Answer{Status: CheckpointRejected}); rejected.FollowUps != nil || rejected.Comment != "" {
		t.Errorf("a no leaves %+v", rejected)
	}
}
