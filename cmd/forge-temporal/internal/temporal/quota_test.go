package temporal

import (
	"slices"
	"testing"
)

// As many effects may begin as were named, and whoever waits for that hears when no more may.
func TestQuota(t *testing.T) {
	q := NewQuota(2)
	for n, want := range []bool{true, true, false, false} {
		if got := q.take(); got != want {
			t.Errorf("effect %d may begin: %v, want %v", n+1, got, want)
		}
		select {
		case <-q.Full():
			if n == 0 {
				t.Error("it is full after one of two")
			}
		default:
			if n > 0 {
				t.Error("it is not full after two of two")
			}
		}
	}
	none := NewQuota(0)
	if none != nil || !none.take() || none.Full() != nil {
		t.Error("without a number there is an end")
	}
}

// A worker that ends after some effects decides nothing, and one that decides alone takes
// no effect.
func TestPartsOfTheWork(t *testing.T) {
	q := Queues{Prefix: "f"}
	effects := q.Served("h", []string{"gpu"})
	for _, c := range []struct {
		w    Worker
		want []string
	}{
		{Worker{}, append([]string{q.Core(CoreVersion)}, effects...)},
		{Worker{Most: 1}, effects},
		{Worker{Decides: true, Core: "7"}, []string{q.Core("7")}},
	} {
		c.w.Queues, c.w.Host, c.w.Has = q, "h", []string{"gpu"}
		if got := c.w.Serves(); !slices.Equal(got, c.want) {
			t.Errorf("%+v serves %q, want %q", c.w, got, c.want)
		}
	}
}
