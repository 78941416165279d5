package proc

import (
	"bytes"
	"strconv"
	"testing"
)

func TestParseStat(t *testing.T) {
	t.Parallel()
	const rest = " 0 0 20 0 3 0 123456 1000 10 18446744073709551615 0 0"
	for _, c := range []struct {
		in   string
		want stat
		ok   bool
	}{
		{"12 (sh) S 1 2 3 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 3 0 123456 99\n", stat{12, 1, 2, 3, 'S', 4194560, 3, 123456}, true},
		{"12 (a) Z 9 (b) R 1 2 3 0 -1 0 1 2 3 4 5 6 7 8 20 0 1 0 77 99\n", stat{12, 1, 2, 3, 'R', 0, 1, 77}, true},
		{"12 (\n) ) ) T 1 2 3 0 -1 0 1 2 3 4 5 6 7 8 20 0 1 0 77 99\n", stat{12, 1, 2, 3, 'T', 0, 1, 77}, true},
		{"", stat{}, false},
		{"12 (sh", stat{}, false},
		{"12 (sh) S 1 2 3" + rest, stat{}, false},
		{"12 (sh) S x 2 3 0 -1 0 1 2 3 4 5 6 7 8 20 0 1 0 77 99\n", stat{}, false},
	} {
		got, err := parseStat(12, []byte(c.in))
		if (err == nil) != c.ok || c.ok && got != c.want {
			t.Errorf("parseStat(%q) = %+v, %v", c.in, got, err)
		}
	}
}

// A process chooses its name, and can put anything into it but a NUL.
func FuzzParseStat(f *testing.F) {
	f.Add("sh", 1, 2, 3)
	f.Add(") Z 1 1 1 (", 4, 5, 6)
	f.Add("))))", 7, 8, 9)
	f.Add("\n \xff", 0, -1, 1<<30)
	f.Fuzz(func(t *testing.T, name string, ppid, group, session int) {
		line := "7 (" + name + ") S " + strconv.Itoa(ppid) + " " + strconv.Itoa(group) + " " + strconv.Itoa(session) +
			" 0 -1 0 1 2 3 4 5 6 7 8 20 0 1 0 77 99\n"
		s, err := parseStat(7, []byte(line))
		if ppid < 0 || group < 0 || session < 0 {
			if err == nil {
				t.Fatalf("%q was accepted", line)
			}
			return
		}
		if want := (stat{7, ppid, group, session, 'S', 0, 1, 77}); err != nil || s != want {
			t.Fatalf("parseStat(%q) = %+v, %v, want %+v", line, s, err, want)
		}
		// Whatever the file holds, it must not panic.
		_, _ = parseStat(7, []byte(name))
	})
}

func FuzzFindEntry(f *testing.F) {
	f.Add([]byte("A=1\x00FORGE_LEASE=x\x00B=2\x00"), []byte("FORGE_LEASE=x"), 3)
	f.Add([]byte("FORGE_LEASE=xy\x00"), []byte("FORGE_LEASE=x"), 2)
	f.Add([]byte("xFORGE_LEASE=x"), []byte("FORGE_LEASE=x"), 1)
	f.Add([]byte("FORGE_LEASE=x"), []byte("FORGE_LEASE=x"), 100)
	f.Fuzz(func(t *testing.T, environ, variable []byte, piece int) {
		if len(variable) == 0 || len(variable) > 100 || bytes.IndexByte(variable, 0) >= 0 || len(environ) > 10000 {
			return
		}
		want := false
		for entry := range bytes.SplitSeq(environ, []byte{0}) {
			want = want || bytes.Equal(entry, variable) || bytes.Equal(entry, append([]byte("longer "), variable...))
		}
		rest := environ
		got, _ := findEntry(func(b []byte) (int, error) {
			n := copy(b, rest[:min(len(rest), 1+max(piece, 0)%64)])
			rest = rest[n:]
			return n, nil
		}, marks{variable, append([]byte("longer "), variable...)}, make([]byte, len(variable)+9))
		if got != want {
			t.Fatalf("findEntry(%q, %q) = %t", environ, variable, got)
		}
	})
}
