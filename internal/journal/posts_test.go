package journal

import (
	"testing"

	"forge/internal/work"
)

// A message is begun once, whoever begins it, and what became of it is found
// again by a process that comes later.
func TestPostsAreBegunOnce(t *testing.T) {
	t.Parallel()
	dir, ctx := t.TempDir(), t.Context()
	s, err := Open(ctx, dir)
	if err != nil {
		t.Fatal(err)
	}
	p, first, err := s.BeginPost(ctx, "slack C1", "question a.1")
	if err != nil || !first || p.Ref != "" || p.Over || p.At.IsZero() {
		t.Fatalf("begun: %+v, first %v, %v", p, first, err)
	}
	if _, ok, err := s.PostAt(ctx, "slack C1", ""); ok || err != nil {
		t.Errorf("a message that nobody knows the name of was found by none: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}

	if s, err = Open(ctx, dir); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	again, first, err := s.BeginPost(ctx, "slack C1", "question a.1")
	if err != nil || first || !again.At.Equal(p.At) {
		t.Fatalf("begun again: %+v, first %v, %v; want what was begun at %v", again, first, err, p.At)
	}
	p.Ref, p.Shown = "17.1", "hash"
	if err := s.KeepPost(ctx, p); err != nil {
		t.Fatal(err)
	}
	if got, ok, err := s.PostAt(ctx, "slack C1", "17.1"); err != nil || !ok || got.Subject != "question a.1" || got.Shown != "hash" {
		t.Errorf("by its name: %+v, %v, %v", got, ok, err)
	}
	if _, ok, _ := s.PostAt(ctx, "slack C2", "17.1"); ok {
		t.Error("another place knows it")
	}
	if open, err := s.OpenPosts(ctx, "slack C1"); err != nil || len(open) != 1 {
		t.Errorf("open: %+v, %v", open, err)
	}
	p.Over = true
	if err := s.KeepPost(ctx, p); err != nil {
		t.Fatal(err)
	}
	if open, err := s.OpenPosts(ctx, "slack C1"); err != nil || len(open) != 0 {
		t.Errorf("open when it is over: %+v, %v", open, err)
	}
	if err := s.KeepPost(ctx, work.Post{Place: "slack C1", Subject: "question b.1", Ref: "17.2"}); err == nil {
		t.Error("a message was remembered that nobody began")
	}
}
