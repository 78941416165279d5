// Package redact takes known secrets out of text and of streams.
package redact

import (
	"bytes"
	"cmp"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
)

// Mark stands where a secret was.
const Mark = "[redacted]"

// MinBytes is the length of the shortest value that counts as a secret; what
// is shorter would blacken ordinary words.
const MinBytes = 6

// Redactor knows a fixed set of secrets. It may be used by several goroutines.
type Redactor struct {
	// patterns holds all spellings by their first two bytes, longest first;
	// pairs and firsts say quickly that none begins at a place.
	patterns map[[2]byte][][]byte
	pairs    [1 << 10]uint64
	firsts   [256]bool
	none     bool
}

// New knows the secrets in the spellings that programs print: as they are, as
// in a URL (query and path), and as in a JSON string. White space around a
// value does not count; values below MinBytes are ignored. Other encodings,
// such as base64, are not found.
func New(secrets []string) *Redactor {
	r := &Redactor{patterns: map[[2]byte][][]byte{}}
	var all []string
	for _, s := range secrets {
		if s = strings.TrimSpace(s); len(s) >= MinBytes {
			all = append(all, spellings(s)...)
		}
	}
	slices.SortFunc(all, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	all = slices.Compact(all)
	for _, s := range all {
		key := [2]byte{s[0], s[1]}
		r.patterns[key] = append(r.patterns[key], []byte(s))
		i := pairIndex(s[0], s[1])
		r.pairs[i>>6] |= 1 << (i & 63)
		r.firsts[s[0]] = true
	}
	r.none = len(all) == 0
	return r
}

// spellings are never shorter than s.
func spellings(s string) []string {
	out := []string{s, url.QueryEscape(s), url.PathEscape(s)}
	for _, html := range []bool{true, false} {
		var b bytes.Buffer
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(html)
		if err := e.Encode(s); err == nil {
			quoted := strings.TrimSuffix(b.String(), "\n")
			out = append(out, quoted[1:len(quoted)-1])
		}
	}
	return out
}

// FromEnv returns the values of the variables in environ ("NAME=value") whose
// name isSecret, each once, without white space around them and without those
// below MinBytes.
func FromEnv(environ []string, isSecret func(name string) bool) []string {
	var out []string
	for _, kv := range environ {
		name, value, ok := strings.Cut(kv, "=")
		value = strings.TrimSpace(value)
		if ok && len(value) >= MinBytes && isSecret(name) && !slices.Contains(out, value) {
			out = append(out, value)
		}
	}
	return out
}

// String returns s with every byte that belongs to a secret taken out. Secrets
// that overlap become one Mark.
func (r *Redactor) String(s string) string {
	if r.none {
		return s
	}
	out, _, _ := r.scan(nil, []byte(s), 0, true)
	return string(out)
}

func pairIndex(a, b byte) uint { return uint(a) | uint(b)<<8 }

// begins says whether any spelling starts with the two bytes.
func (r *Redactor) begins(a, b byte) bool {
	i := pairIndex(a, b)
	return r.pairs[i>>6]&(1<<(i&63)) != 0
}

// scan appends the clean form of b to dst. covered is the number of bytes at
// the beginning of b that a secret found before reaches into. Unless last, it
// stops where what follows could decide; it returns how many bytes of b it has
// dealt with, and how far the last secret reaches beyond them.
func (r *Redactor) scan(dst, b []byte, covered int, last bool) (_ []byte, used, reach int) {
	i, plain := 0, 0 // b[plain:i] is to be copied
	for i < len(b) {
		if covered == 0 {
			for i+1 < len(b) && !r.begins(b[i], b[i+1]) {
				i++
			}
		}
		n, open := r.match(b[i:], last)
		if open {
			break
		}
		if n > covered {
			if covered == 0 {
				dst = append(append(dst, b[plain:i]...), Mark...)
			}
			covered = n
		}
		i++
		if covered > 0 {
			covered--
			plain = i
		}
	}
	return append(dst, b[plain:i]...), i, covered
}

// match returns the length of the longest spelling at the beginning of b, 0 for
// none. open says that more text could make it longer.
func (r *Redactor) match(b []byte, last bool) (n int, open bool) {
	if len(b) < 2 {
		return 0, !last && r.firsts[b[0]]
	}
	if !r.begins(b[0], b[1]) {
		return 0, false
	}
	for _, p := range r.patterns[[2]byte{b[0], b[1]}] {
		if len(p) <= len(b) {
			if bytes.HasPrefix(b, p) {
				return len(p), false
			}
		} else if !last && bytes.HasPrefix(p, b) {
			return 0, true
		}
	}
	return 0, false
}
