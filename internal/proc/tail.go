package proc

import (
	"fmt"
	"strings"
	"sync"
	"unicode/utf8"
)

// Tail is a writer that keeps the first and the last bytes written to it and
// drops the middle. It never fails and may be used by several goroutines.
type Tail struct {
	mu        sync.Mutex
	headMax   int
	tailMax   int
	head      []byte
	ring      []byte // the last bytes; full once it has tailMax bytes
	at        int    // where the next byte goes in a full ring
	ringTotal int64  // bytes that went past the head
}

// NewTail keeps at most head bytes of the beginning and tail bytes of the end;
// negative numbers count as 0. Memory is taken as bytes arrive.
func NewTail(head, tail int) *Tail {
	return &Tail{headMax: max(head, 0), tailMax: max(tail, 0)}
}

// Write keeps what it has room for. It always returns len(b), nil.
func (t *Tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := len(b)
	if room := t.headMax - len(t.head); room > 0 {
		k := min(room, len(b))
		t.head = append(t.head, b[:k]...)
		b = b[k:]
	}
	t.ringTotal += int64(len(b))
	if len(b) > t.tailMax {
		b = b[len(b)-t.tailMax:]
	}
	if room := t.tailMax - len(t.ring); room > 0 {
		k := min(room, len(b))
		t.ring = append(t.ring, b[:k]...)
		b = b[k:]
	}
	for len(b) > 0 {
		k := copy(t.ring[t.at:], b)
		t.at = (t.at + k) % len(t.ring)
		b = b[k:]
	}
	return n, nil
}

// Dropped says how many bytes are gone so far.
func (t *Tail) Dropped() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.ringTotal - int64(len(t.ring))
}

// String returns what was kept as valid UTF-8: bytes that are none become
// U+FFFD, a character cut in two at the gap goes with the gap. Where the middle
// was dropped stands a line that names the number of bytes.
func (t *Tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	last := append(append(make([]byte, 0, len(t.ring)), t.ring[t.at:]...), t.ring[:t.at]...)
	dropped := t.ringTotal - int64(len(t.ring))
	head := t.head
	if dropped == 0 {
		return strings.ToValidUTF8(string(head)+string(last), "\uFFFD")
	}
	keep := wholeRunes(head)
	dropped += int64(len(head) - keep)
	head = head[:keep]
	skip := 0
	for skip < len(last) && skip < utf8.UTFMax-1 && !utf8.RuneStart(last[skip]) {
		skip++
	}
	dropped += int64(skip)
	last = last[skip:]

	var s strings.Builder
	s.Write(head)
	if len(head) > 0 && head[len(head)-1] != '\n' {
		s.WriteByte('\n')
	}
	fmt.Fprintf(&s, "[… %d bytes dropped …]\n", dropped)
	s.Write(last)
	return strings.ToValidUTF8(s.String(), "\uFFFD")
}

// wholeRunes is the length of b without a character that is cut off at its end.
func wholeRunes(b []byte) int {
	for i := len(b) - 1; i >= 0 && i >= len(b)-utf8.UTFMax; i-- {
		if utf8.RuneStart(b[i]) {
			if !utf8.FullRune(b[i:]) {
				return i
			}
			break
		}
	}
	return len(b)
}
