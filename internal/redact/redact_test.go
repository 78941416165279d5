package redact

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// slow is the obvious twin: mark every byte that any spelling covers, then
// write one Mark for each run of secrets that overlap.
func slow(secrets []string, s string) string {
	var all []string
	for _, sec := range secrets {
		if sec = strings.TrimSpace(sec); len(sec) >= MinBytes {
			all = append(all, spellings(sec)...)
		}
	}
	var out strings.Builder
	end := 0 // of the secret that covers i
	for i := range len(s) {
		longest := 0
		for _, p := range all {
			if strings.HasPrefix(s[i:], p) {
				longest = max(longest, len(p))
			}
		}
		if longest > 0 && i >= end {
			out.WriteString(Mark)
		}
		end = max(end, i+longest)
		if i >= end {
			out.WriteByte(s[i])
		}
	}
	return out.String()
}

// streamed writes s in pieces whose lengths come from cuts.
func streamed(t testing.TB, r *Redactor, s string, cuts []byte) string {
	t.Helper()
	var out bytes.Buffer
	w := r.Writer(&out)
	for i := 0; len(s) > 0; i++ {
		n := len(s)
		if len(cuts) > 0 {
			n = min(n, int(cuts[i%len(cuts)])%9)
			if n == 0 && i%len(cuts) == len(cuts)-1 {
				n = 1 // all zero would never end
			}
		}
		if m, err := w.Write([]byte(s[:n])); m != n || err != nil {
			t.Fatalf("Write(%q) = %d, %v", s[:n], m, err)
		}
		s = s[n:]
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestString(t *testing.T) {
	for _, c := range []struct {
		name    string
		secrets []string
		in      string
		want    string
	}{
		{"plain", []string{"hunter22"}, "password hunter22.", "password [redacted]."},
		{"none", []string{"hunter22"}, "nothing here", "nothing here"},
		{"no secrets", nil, "hunter22", "hunter22"},
		{"too short", []string{"short"}, "short", "short"},
		{"just long enough", []string{"sixsix"}, "sixsix", "[redacted]"},
		{"white space around", []string{" hunter22\n"}, "hunter22", "[redacted]"},
		{"whole text", []string{"hunter22"}, "hunter22", "[redacted]"},
		{"twice", []string{"hunter22"}, "hunter22hunter22", "[redacted][redacted]"},
		{"longest of one place", []string{"hunter22", "hunter22-extra"}, "hunter22-extra hunter22-ex", "[redacted] [redacted]-ex"},
		{"overlapping", []string{"abcdefgh", "efghijkl"}, "<abcdefghijkl>", "<[redacted]>"},
		{"inside another", []string{"abcdefghijkl", "cdefgh"}, "abcdefghijkl cdefgh", "[redacted] [redacted]"},
		{"own overlap", []string{"aaaaaa"}, "aaaaaaaa-", "[redacted]-"},
		{"url", []string{"p@ss word/1"}, "u=p%40ss+word%2F1 p@ss%20word%2F1", "u=[redacted] [redacted]"},
		{"json", []string{"a\"b\\c\nd<e"}, `{"k":"a\"b\\c\nd<e"}` + ` a\"b\\c\nd\u003ce`, `{"k":"[redacted]"} [redacted]`},
		{"quote at the end", []string{`secret"`}, `"secret\"" secret\x`, `"[redacted]" secret\x`},
		{"many lines", []string{"line one\nline two"}, "x line one\nline two y", "x [redacted] y"},
		{"not utf-8", []string{"\xff\xfe\xfd\xfc\xfb\xfa"}, "a\xff\xfe\xfd\xfc\xfb\xfa\xff", "a[redacted]\xff"},
		{"one byte short", []string{"hunter22"}, "hunter2", "hunter2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := New(c.secrets)
			if got := r.String(c.in); got != c.want {
				t.Errorf("String(%q) = %q, want %q", c.in, got, c.want)
			}
			if got := slow(c.secrets, c.in); got != c.want {
				t.Errorf("the slow twin says %q, want %q", got, c.want)
			}
			for _, cuts := range [][]byte{{1}, {2}, {3}, {5, 1}, {0, 7}} {
				if got := streamed(t, r, c.in, cuts); got != c.want {
					t.Errorf("in pieces of %v: %q, want %q", cuts, got, c.want)
				}
			}
		})
	}
}

func TestEverySplitOfASecret(t *testing.T) {
	r := New([]string{"correct-horse-battery", "horse-battery-staple"})
	const in, want = "a correct-horse-battery-staple z", "a [redacted] z"
	for i := range len(in) {
		for j := i; j < len(in); j++ {
			var out bytes.Buffer
			w := r.Writer(&out)
			for _, part := range []string{in[:i], in[i:j], in[j:]} {
				_, _ = w.Write([]byte(part))
			}
			w.Close()
			if out.String() != want {
				t.Fatalf("split at %d and %d: %q, want %q", i, j, out.String(), want)
			}
		}
	}
}

func TestWriterHoldsBackOnlyWhatMayBeASecret(t *testing.T) {
	var out bytes.Buffer
	w := New([]string{"hunter22", "hunter-with-a-long-tail"}).Writer(&out)
	_, _ = w.Write([]byte("a line\n"))
	if got := out.String(); got != "a line\n" {
		t.Errorf("after a line without a secret: %q passed on", got)
	}
	_, _ = w.Write([]byte("x hunter2"))
	if got := out.String(); got != "a line\nx " {
		t.Errorf("with the beginning of a secret: %q passed on", got)
	}
	_, _ = w.Write([]byte("3"))
	if got := out.String(); got != "a line\nx hunter23" {
		t.Errorf("when it was none: %q passed on", got)
	}
}

// The memory of a writer is bounded by the chunk and the longest spelling,
// whatever the stream is.
func TestWriterMemory(t *testing.T) {
	longest := strings.Repeat("abcdefgh", 500)
	r := New([]string{longest, "abcdef"})
	w := r.Writer(discard{})
	stream := bytes.Repeat([]byte("abcdefgh"), 1<<17)
	for _, size := range []int{len(stream), 1 << 16, 4097} {
		for b := stream; len(b) > 0; b = b[min(size, len(b)):] {
			if _, err := w.Write(b[:min(size, len(b))]); err != nil {
				t.Fatal(err)
			}
			if len(w.held) >= len(longest) {
				t.Fatalf("%d bytes held back, the longest secret has %d", len(w.held), len(longest))
			}
		}
	}
	if most := 2 * (chunkBytes + len(longest)); cap(w.held) > most || cap(w.clean) > 2*most {
		t.Errorf("buffers of %d and %d bytes", cap(w.held), cap(w.clean))
	}
}

type discard struct{}

func (discard) Write(b []byte) (int, error) { return len(b), nil }

type failing struct{ err error }

func (f failing) Write(b []byte) (int, error) { return 0, f.err }

func TestWriterKeepsItsError(t *testing.T) {
	full := errors.New("disk full")
	for _, secrets := range [][]string{nil, {"hunter22"}} {
		w := New(secrets).Writer(failing{full})
		if _, err := w.Write([]byte("some text")); !errors.Is(err, full) {
			t.Errorf("first Write: %v", err)
		}
		if _, err := w.Write([]byte("more")); !errors.Is(err, full) {
			t.Errorf("second Write: %v", err)
		}
		if err := w.Close(); !errors.Is(err, full) {
			t.Errorf("Close: %v", err)
		}
	}
}

func TestFromEnv(t *testing.T) {
	got := FromEnv([]string{
		"API_KEY=abcdef123", "PATH=/usr/bin", "OTHER_KEY=abcdef123", "SHORT_KEY=abc", "BAD", "PAD_KEY= padded-value\n", "EMPTY_KEY=",
	}, func(name string) bool { return strings.HasSuffix(name, "KEY") })
	if want := []string{"abcdef123", "padded-value"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// Random secrets over a small alphabet overlap all the time.
func TestAgainstSlowTwin(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	word := func(n int) string {
		b := make([]byte, n)
		for i := range b {
			b[i] = "ab\"/"[rng.IntN(4)]
		}
		return string(b)
	}
	for range 2000 {
		var secrets []string
		for range rng.IntN(4) {
			secrets = append(secrets, word(6+rng.IntN(4)))
		}
		text := word(rng.IntN(60))
		for _, s := range secrets {
			text += s + word(rng.IntN(4)) + s[rng.IntN(len(s)):]
		}
		r, want := New(secrets), slow(secrets, text)
		if got := r.String(text); got != want {
			t.Fatalf("secrets %q in %q: %q, want %q", secrets, text, got, want)
		}
		if got := streamed(t, r, text, []byte{byte(rng.IntN(9)), byte(rng.IntN(9)), 1}); got != want {
			t.Fatalf("secrets %q in %q, streamed: %q, want %q", secrets, text, got, want)
		}
	}
}

func FuzzRedact(f *testing.F) {
	f.Add("hunter22", "hunter22-extra", "my hunter22-ext", []byte{1, 4})
	f.Add("aaaaaa", "aaabaaa", "aaaaaaabaaaaaa", []byte{2})
	f.Add("p@ss\"w<rd", "x\ny\\zzz", `p%40ss%22w%3Crd p@ss\"w<rd x\ny\\zzz`, []byte{3, 0, 7})
	f.Add("\xff\xfe\xff\xfe\xff\xfe", "", "\xff\xfe\xff\xfe\xff\xfe\xff\xfe", []byte{})
	f.Fuzz(func(t *testing.T, one, two, text string, cuts []byte) {
		if len(one)+len(two) > 200 || len(text) > 2000 {
			return
		}
		secrets := []string{one, two}
		r := New(secrets)
		// A text made of the secrets themselves reaches further than chance.
		for _, in := range []string{text, one + text + two, text + two + one + one} {
			want := slow(secrets, in)
			if got := r.String(in); got != want {
				t.Fatalf("String(%q) with %q = %q, want %q", in, secrets, got, want)
			}
			if got := streamed(t, r, in, cuts); got != want {
				t.Fatalf("stream of %q with %q = %q, want %q", in, secrets, got, want)
			}
		}
	})
}

// BenchmarkWriter compares with copying, which is the floor.
func BenchmarkWriter(b *testing.B) {
	text := bytes.Repeat([]byte(`{"type":"assistant","text":"I will write the file, then run the tests."}`+"\n"), 450)
	secrets := make([]string, 20)
	for i := range secrets {
		secrets[i] = "sk-ant-" + strings.Repeat(string(rune('a'+i)), 40)
	}
	b.Run("floor", func(b *testing.B) {
		b.SetBytes(int64(len(text)))
		into := make([]byte, len(text))
		for b.Loop() {
			copy(into, text)
		}
	})
	b.Run("redact", func(b *testing.B) {
		b.SetBytes(int64(len(text)))
		w := New(secrets).Writer(discard{})
		for b.Loop() {
			_, _ = w.Write(text)
		}
	})
}
