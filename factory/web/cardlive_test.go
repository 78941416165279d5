package web

import (
	"testing"
	"time"
)

func TestFiguresThatPeopleRead(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Second: "0 s", 0: "0 s", 1499 * time.Millisecond: "1 s", 59 * time.Second: "59 s", time.Minute: "1 min 0 s", 192 * time.Second: "3 min 12 s",
		3 * time.Hour: "3 h 0 min", 47*time.Hour + 59*time.Minute: "47 h 59 min", 72 * time.Hour: "3 days",
	} {
		if got := lasting(d); got != want {
			t.Errorf("%v lasts %q, want %q", d, got, want)
		}
	}
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1.0 k", 1440: "1.4 k", 9999: "9.9 k", 197_400: "197 k", 999_999: "999 k", 2_150_000: "2.1 M"} {
		if got := thousands(n); got != want {
			t.Errorf("%d is %q, want %q", n, got, want)
		}
	}
	for v, want := range map[float64]string{0: "$0.00", 0.0018: "< $0.01", 0.01: "$0.01", 1.238: "$1.24"} {
		if got := usd(&v); got != want {
			t.Errorf("%v is %q, want %q", v, got, want)
		}
	}
	if got := usd(nil); got != "cost unknown" {
		t.Errorf("an unknown cost is %q", got)
	}
}
