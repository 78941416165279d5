package temporal

import "testing"

// A run moves to a newer core alone: not back, and not to what is no version.
func TestNewerCore(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{{"2", "1", true}, {"10", "9", true}, {"1", "1", false}, {"1", "2", false}, {"x", "1", false}, {"2", "", false}, {"", "1", false}} {
		if got := newer(c.a, c.b); got != c.want {
			t.Errorf("newer(%q, %q) = %v", c.a, c.b, got)
		}
	}
}

// A queue of the core says its version; no other queue does, of this factory or another.
func TestQueueOfACore(t *testing.T) {
	q := Queues{Prefix: "f"}
	if v, is := q.versionOf(q.Core("12")); !is || v != "12" {
		t.Errorf("the queue of core 12 is of %q, %v", v, is)
	}
	for _, other := range []string{"f-core", "f-core-v", q.Any(), q.Host("core-v1"), Queues{Prefix: "g"}.Core("1")} {
		if v, is := q.versionOf(other); is {
			t.Errorf("%s is taken for the queue of core %q", other, v)
		}
	}
}
