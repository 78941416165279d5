package proc

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestTail(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		head, tail int
		in, want   string
	}{
		{4, 4, "", ""},
		{4, 4, "1234", "1234"},
		{4, 4, "12345678", "12345678"},
		{4, 4, "123456789", "1234\n[… 1 bytes dropped …]\n6789"},
		{4, 4, "123\n56789", "123\n[… 1 bytes dropped …]\n6789"},
		{0, 4, "123456789", "[… 5 bytes dropped …]\n6789"},
		{4, 0, "123456789", "1234\n[… 5 bytes dropped …]\n"},
		{0, 0, "123", "[… 3 bytes dropped …]\n"},
		{-1, -1, "123", "[… 3 bytes dropped …]\n"},
		// A character cut in two at the gap goes with it; one that only
		// crosses from the head into the tail is whole.
		{4, 4, "abcé1234", "abc\n[… 2 bytes dropped …]\n1234"},
		{4, 5, "abcé1234", "abcé1234"},
		{4, 4, "abcé-------6789", "abc\n[… 9 bytes dropped …]\n6789"},
		{4, 4, "1234-------é678", "1234\n[… 9 bytes dropped …]\n678"},
		{4, 4, "ab\xffd", "ab\uFFFDd"},
	} {
		for _, piece := range []int{1, 2, 3, 100} {
			tail := NewTail(c.head, c.tail)
			for i := 0; i < len(c.in); i += piece {
				b := c.in[i:min(i+piece, len(c.in))]
				if n, err := tail.Write([]byte(b)); n != len(b) || err != nil {
					t.Fatalf("Write = %d, %v", n, err)
				}
			}
			if got := tail.String(); got != c.want {
				t.Errorf("%d+%d of %q in pieces of %d: %q, want %q", c.head, c.tail, c.in, piece, got, c.want)
			}
		}
	}
}

func TestTailTakesMemoryAsBytesArrive(t *testing.T) {
	t.Parallel()
	tail := NewTail(1<<30, 1<<30)
	_, _ = tail.Write([]byte("short"))
	if cap(tail.head)+cap(tail.ring) > 100 {
		t.Errorf("%d bytes for a short word", cap(tail.head)+cap(tail.ring))
	}
}

// FuzzTail holds the ring against slicing the whole.
func FuzzTail(f *testing.F) {
	f.Add("hello, wörld", 3, 4, 2)
	f.Add("\xff\xfeé", 1, 1, 1)
	f.Add(strings.Repeat("0123456789", 20), 7, 13, 5)
	f.Fuzz(func(t *testing.T, in string, head, last, piece int) {
		head, last, piece = head&63, last&63, 1+piece&31
		tail := NewTail(head, last)
		for i := 0; i < len(in); i += piece {
			_, _ = tail.Write([]byte(in[i:min(i+piece, len(in))]))
		}
		got := tail.String()
		if !utf8.ValidString(got) {
			t.Fatalf("%q is not UTF-8", got)
		}
		if len(in) <= head+last {
			if want := strings.ToValidUTF8(in, "\uFFFD"); got != want {
				t.Fatalf("all of %q fits, got %q", in, got)
			}
			return
		}
		if want := int64(len(in) - head - last); tail.Dropped() != want {
			t.Fatalf("dropped %d, want %d", tail.Dropped(), want)
		}
		if !utf8.ValidString(in) {
			return
		}
		a, b := in[:head], in[len(in)-last:]
		for !utf8.ValidString(a) {
			a = a[:len(a)-1]
		}
		for !utf8.ValidString(b) {
			b = b[1:]
		}
		if a != "" && !strings.HasSuffix(a, "\n") {
			a += "\n"
		}
		gone := len(in) - len(strings.TrimSuffix(a, "\n")) - len(b)
		if strings.HasSuffix(in[:min(head, len(in))], "\n") && strings.HasSuffix(a, "\n") {
			gone--
		}
		if want := fmt.Sprintf("%s[… %d bytes dropped …]\n%s", a, gone, b); got != want {
			t.Fatalf("%d+%d of %q: %q, want %q", head, last, in, got, want)
		}
	})
}
