package proof

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// piece is a test within a product file.
type piece struct {
	from, to int    // bytes, whole lines where nothing else stands on them
	key      string // says what it is by its place among the items of the file
	scope    string // the item that it stands in
	example  bool   // in a comment, which can stand with any item
}

// split is a product file taken apart.
type split struct {
	src    []byte
	pieces []piece
	// ends are where a piece is put that a scope does not have; "" is the file.
	ends map[string]int
	// kept writes examples whose item is gone so that they still run.
	kept func(n int, body string) string
}

func (s *split) body(p piece) string { return string(s.src[p.from:p.to]) }

// number makes keys that are there twice different.
func (s *split) number() {
	slices.SortStableFunc(s.pieces, func(a, b piece) int { return a.from - b.from })
	seen := map[string]int{}
	for i := range s.pieces {
		key := s.pieces[i].key
		seen[key]++
		if n := seen[key]; n > 1 {
			s.pieces[i].key = fmt.Sprintf("%s, %d", key, n)
		}
	}
}

// splitFile takes a file apart by its language. An error means that it cannot.
func (m *Map) splitFile(file string, src []byte) (*split, error) {
	if bytes.ContainsRune(src, 0) {
		return nil, errors.New("it is no text")
	}
	switch language(file) {
	case "rust":
		return splitRust(src)
	case "python":
		if m.DocTests["python"] {
			return splitPython(src)
		}
	case "script":
		return splitScript(src)
	case "":
		for _, sign := range []string{"iex>", "\n-- >>>", "jldoctest"} {
			if bytes.Contains(src, []byte(sign)) {
				return nil, errors.New("examples of this language are not read here")
			}
		}
	}
	return &split{src: src}, nil
}

// holdsTests is true for a file with tests in it, and for one that cannot be
// taken apart.
func (m *Map) holdsTests(file string, src []byte) bool {
	if src == nil || !mayHoldTests(language(file), src) {
		return false
	}
	s, err := m.splitFile(file, src)
	return err != nil || len(s.pieces) > 0
}

// mayHoldTests is the quick no.
func mayHoldTests(lang string, src []byte) bool {
	sign := ""
	switch lang {
	case "rust", "":
		return true
	case "python":
		sign = ">>>"
	case "script":
		sign = "vitest"
	default:
		return false
	}
	return bytes.Contains(src, []byte(sign))
}

// mixInline puts the trusted tests into the snapshot's product.
func (m *Map) mixInline(file string, trusted, snapshot []byte) (Mixed, error) {
	if snapshot == nil {
		return Mixed{}, errors.New("the file is gone with the tests in it")
	}
	now, err := m.splitFile(file, snapshot)
	if err != nil {
		return Mixed{}, err
	}
	was, err := m.splitFile(file, trusted)
	if err != nil {
		return Mixed{}, err
	}
	how, note := comparePieces(was, now)
	if how == Same {
		return Mixed{Content: snapshot, How: Same}, nil
	}
	content, err := now.with(was)
	if err != nil {
		return Mixed{}, err
	}
	// What was put together must hold the trusted tests and no others.
	again, err := m.splitFile(file, content)
	if err != nil {
		return Mixed{}, err
	}
	if !slices.Equal(again.bodies(), was.bodies()) {
		return Mixed{}, errors.New("its tests do not fit into the changed file")
	}
	return Mixed{Content: content, How: how, Note: note}, nil
}

// bodies are the tests, sorted.
func (s *split) bodies() []string {
	var out []string
	for _, p := range s.pieces {
		body := s.body(p)
		if p.example {
			body = strings.ReplaceAll(body, "//!", "///")
		}
		out = append(out, strings.TrimSpace(body))
	}
	slices.Sort(out)
	return out
}

func comparePieces(was, now *split) (How, string) {
	old := map[string]string{}
	for _, p := range was.pieces {
		old[p.key] = was.body(p)
	}
	var added, changed []string
	for _, p := range now.pieces {
		body, known := old[p.key]
		switch {
		case !known:
			added = append(added, p.key)
		case body != now.body(p):
			changed = append(changed, p.key)
		}
		delete(old, p.key)
	}
	var notes []string
	gone := make([]string, 0, len(old))
	for _, p := range was.pieces {
		if _, left := old[p.key]; left {
			gone = append(gone, p.key)
		}
	}
	for _, list := range []struct {
		names []string
		what  string
	}{{changed, "as trusted again"}, {gone, "there again"}, {added, "new, and left out"}} {
		if len(list.names) > 0 {
			notes = append(notes, strings.Join(list.names, ", ")+": "+list.what)
		}
	}
	how := Same
	switch {
	case len(changed) > 0:
		how = Changed
	case len(gone) > 0:
		how = Removed
	case len(added) > 0:
		how = Grew
	}
	return how, strings.Join(notes, "; ")
}

// with is the file with the tests of another state in the place of its own.
func (s *split) with(was *split) ([]byte, error) {
	old := map[string]piece{}
	for _, p := range was.pieces {
		old[p.key] = p
	}
	type insert struct {
		at   int
		body string
	}
	var inserts []insert
	have := map[string]bool{}
	for _, p := range s.pieces {
		have[p.key] = true
	}
	kept := 0
	for _, p := range was.pieces {
		if have[p.key] {
			continue
		}
		at, ok := s.ends[p.scope]
		body := was.body(p)
		if !ok {
			if !p.example || s.kept == nil {
				return nil, fmt.Errorf("what %s stood in is gone", p.key)
			}
			kept++
			at, body = len(s.src), s.kept(kept, body)
		}
		inserts = append(inserts, insert{at, body})
	}
	slices.SortStableFunc(inserts, func(a, b insert) int { return a.at - b.at })

	var out bytes.Buffer
	line := func(body string) {
		if b := out.Bytes(); len(b) > 0 && b[len(b)-1] != '\n' {
			out.WriteByte('\n')
		}
		out.WriteString(body)
		if !strings.HasSuffix(body, "\n") {
			out.WriteByte('\n')
		}
	}
	at := 0
	upTo := func(end int) {
		for len(inserts) > 0 && inserts[0].at <= end {
			out.Write(s.src[at:max(at, inserts[0].at)])
			at = max(at, inserts[0].at)
			line(inserts[0].body)
			inserts = inserts[1:]
		}
		out.Write(s.src[at:max(at, end)])
		at = max(at, end)
	}
	for _, p := range s.pieces {
		upTo(p.from)
		if other, ok := old[p.key]; ok {
			out.WriteString(was.body(other))
		}
		at = p.to
	}
	upTo(len(s.src))
	return out.Bytes(), nil
}

// wholeLines widens a range to its lines where nothing else stands on them.
func wholeLines(src []byte, from, to int) (int, int) {
	start, end := from, to
	for start > 0 && (src[start-1] == ' ' || src[start-1] == '\t') {
		start--
	}
	if start > 0 && src[start-1] != '\n' {
		return from, to
	}
	for end < len(src) && (src[end] == ' ' || src[end] == '\t' || src[end] == '\r') {
		end++
	}
	if end < len(src) && src[end] != '\n' {
		return from, to
	}
	return start, min(end+1, len(src))
}
