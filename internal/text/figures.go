package text

import (
	"fmt"
	"math"
	"strconv"
	"time"
)

// USD is an amount of money as people read it, in cents. What is more than
// nothing and less than a cent is said so; what is no amount is "unknown".
func USD(usd float64) string {
	switch {
	case math.IsNaN(usd) || math.IsInf(usd, 0):
		return "unknown"
	case usd > 0 && usd < 0.01:
		return "< $0.01"
	case usd < 0:
		return fmt.Sprintf("-$%.2f", -usd)
	}
	return fmt.Sprintf("$%.2f", usd)
}

// Count is a large number in thousands or millions: "197 k". Below a thousand
// it is exact.
func Count(n int64) string {
	switch {
	case n > -1000 && n < 1000:
		return strconv.FormatInt(n, 10)
	case n > -9950 && n < 9950:
		return fmt.Sprintf("%.1f k", float64(n)/1e3)
	case n > -999_500 && n < 999_500:
		return fmt.Sprintf("%.0f k", float64(n)/1e3)
	}
	return fmt.Sprintf("%.1f M", float64(n)/1e6)
}

// Took is how long something took, in the two largest units. Of less than ten
// seconds tenths are said.
func Took(d time.Duration) string {
	d = max(d, 0)
	switch {
	case d < 9950*time.Millisecond:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < 59500*time.Millisecond:
		return fmt.Sprintf("%.0f s", d.Seconds())
	case d.Round(time.Second) < time.Hour:
		s := int(d.Round(time.Second).Seconds())
		return fmt.Sprintf("%d min %02d s", s/60, s%60)
	}
	m := int(d.Round(time.Minute).Minutes())
	return fmt.Sprintf("%d h %02d min", m/60, m%60)
}

// Number is how many there are of what one word names: "1 phase", "2 phases".
func Number[N int | int64](n N, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %ss", n, one)
}
