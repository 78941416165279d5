package text_test

import (
	"math"
	"testing"
	"time"

	"forge/internal/text"
)

func TestFigures(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{text.USD(0), "$0.00"},
		{text.USD(0.0018), "< $0.01"},
		{text.USD(0.00999), "< $0.01"},
		{text.USD(0.01), "$0.01"},
		{text.USD(12.345), "$12.35"},
		{text.USD(-0.5), "-$0.50"},
		{text.USD(math.NaN()), "unknown"},
		{text.Count(0), "0"},
		{text.Count(999), "999"},
		{text.Count(1000), "1.0 k"},
		{text.Count(9949), "9.9 k"},
		{text.Count(9950), "10 k"},
		{text.Count(197400), "197 k"},
		{text.Count(999_499), "999 k"},
		{text.Count(999_500), "1.0 M"},
		{text.Count(math.MinInt64), "-9223372036854.8 M"},
		{text.Took(-time.Second), "0.0 s"},
		{text.Took(440 * time.Millisecond), "0.4 s"},
		{text.Took(9960 * time.Millisecond), "10 s"},
		{text.Took(44600 * time.Millisecond), "45 s"},
		{text.Took(59600 * time.Millisecond), "1 min 00 s"},
		{text.Took(72 * time.Second), "1 min 12 s"},
		{text.Took(time.Hour - 400*time.Millisecond), "1 h 00 min"},
		{text.Took(2*time.Hour + 5*time.Minute), "2 h 05 min"},
		{text.Number(1, "phase"), "1 phase"},
		{text.Number(0, "file"), "0 files"},
		{text.Number(int64(2), "file"), "2 files"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}
