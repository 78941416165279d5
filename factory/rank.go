package factory

import (
	"fmt"
	"strings"
)

// A rank key is a fraction between 0 and 1, written in base 62 without the
// leading point and without zeros at its end. Keys are compared as bytes.
const (
	digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	base   = int64(len(digits))

	// At the ends of a column keys are not halved but stepped: halving would
	// add a digit for every six issues that are put at the end of a list.
	stepDigits = 6
	stepRoom   = 56_800_235_584 // base^stepDigits
	step       = 3844           // base^2: some 14 million steps

	// MaxRank is the longest key in bytes. A column in which a longer one is due
	// gets new keys (Spread) instead.
	MaxRank = 48
)

// Between is a key after a and before b; "" stands for the beginning and for
// the end of the column. ok is false when there is none of at most MaxRank
// bytes, or a and b are not two keys in order: then the column is due for
// Spread.
func Between(a, b string) (key string, ok bool) {
	if !validRank(a) || !validRank(b) || b != "" && a >= b {
		return "", false
	}
	switch {
	case a == "" && b == "":
		key = written(stepRoom/2, stepDigits)
	case b == "":
		if n := number(a) + step; n < stepRoom {
			key = written(n, stepDigits)
		}
	case a == "":
		if n := number(b) - step; n > 0 {
			key = written(n, stepDigits)
		}
	}
	if key == "" {
		key = middle(a, b)
	}
	return key, len(key) <= MaxRank
}

// middle is a short key between a and b, b = "" being the end.
func middle(a, b string) string {
	var key strings.Builder
	for {
		low, high := int64(0), base
		if a != "" {
			low = int64(strings.IndexByte(digits, a[0]))
		}
		if b != "" {
			high = int64(strings.IndexByte(digits, b[0]))
		}
		switch {
		case high-low > 1:
			key.WriteByte(digits[(low+high)/2])
			return key.String()
		case high == low:
			b = b[1:]
		case len(b) > 1:
			// b's first digit alone is above a, and below b.
			key.WriteByte(b[0])
			return key.String()
		default:
			b = "" // whatever follows a's digit is below b
		}
		key.WriteByte(digits[low])
		if a != "" {
			a = a[1:]
		}
	}
}

// Spread is n keys in order with room between any two of them and at both
// ends.
func Spread(n int) []string {
	room, width := base*base, 2
	for room/int64(n+1) < base*base {
		room, width = room*base, width+1
	}
	keys := make([]string, n)
	for i := range keys {
		keys[i] = written(room/int64(n+1)*int64(i+1), width)
	}
	return keys
}

// number is the first digits of a key.
func number(key string) (n int64) {
	for i := range stepDigits {
		n *= base
		if i < len(key) {
			n += int64(strings.IndexByte(digits, key[i]))
		}
	}
	return n
}

func written(n int64, width int) string {
	key := make([]byte, width)
	for i := width - 1; i >= 0; i-- {
		key[i], n = digits[n%base], n/base
	}
	if n != 0 {
		panic(fmt.Sprintf("a rank key of %d digits has no room", width))
	}
	return strings.TrimRight(string(key), digits[:1])
}

// validRank says that key is "" or one of ours.
func validRank(key string) bool {
	return strings.Trim(key, digits) == "" && !strings.HasSuffix(key, digits[:1])
}
