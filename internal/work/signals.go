package work

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"forge/internal/text"
)

const (
	// MaxSignals bounds how many signals of one kind, and how many problems,
	// are kept from one text.
	MaxSignals = 100
	// MaxSignalBytes bounds the body of one tag.
	MaxSignalBytes = 64 << 10
)

// ParseSignals returns the signals of a whole text. It is a SignalScanner that
// is given everything at once.
func ParseSignals(text string) Signals {
	var s SignalScanner
	// In pieces, so that a long text is not copied as a whole.
	piece := make([]byte, min(len(text), 32<<10))
	for len(text) > 0 {
		n := copy(piece, text)
		_, _ = s.Write(piece[:n]) // never fails
		text = text[n:]
	}
	return s.Signals()
}

// Claim returns the one promise of a message: the value that all its promises
// share. A message with none, or with two different ones, claims nothing.
func Claim(promises []string) (promise string, ok bool) {
	if len(promises) == 0 || promises[0] == "" {
		return "", false
	}
	for _, p := range promises[1:] {
		if p != promises[0] {
			return "", false
		}
	}
	return promises[0], true
}

// MarshalJSON writes lists that hold nothing as [], never as null, and leaves
// out those that their tags leave out when empty.
func (s Signals) MarshalJSON() ([]byte, error) {
	type plain Signals // without this method
	return json.Marshal(plain(s.withLists()))
}

// withLists replaces nil by empty in the lists that are always written.
func (s Signals) withLists() Signals {
	s.Promises = append([]string{}, s.Promises...)
	s.Progress = append([]float64{}, s.Progress...)
	s.Blockers = append([]string{}, s.Blockers...)
	s.Pivots = append([]string{}, s.Pivots...)
	s.SubPhases = append([]SubPhaseRequest{}, s.SubPhases...)
	return s
}

// SignalScanner finds signals in a stream. The zero value is ready for use; the
// result does not depend on how the stream is cut into writes. Memory is bounded
// by MaxSignals and MaxSignalBytes, however long the stream is. It is not safe
// for concurrent use.
//
// Each kind of tag is scanned on its own, as if the others were plain text. A
// body runs from the latest opening tag of its kind to the next closing one; a
// tag that is not closed counts for nothing.
type SignalScanner struct {
	found  Signals
	bodies [signalKinds]signalBody
	full   [signalKinds]bool // the limit was reached and is among the problems
	// partial holds the beginning of what may become a tag.
	partial []byte
}

// signalBody is what stands between the tags of one kind so far.
type signalBody struct {
	open bool
	over bool // beyond MaxSignalBytes; text holds nothing
	text []byte
}

// Write takes the next part of the stream. It never fails.
func (s *SignalScanner) Write(p []byte) (int, error) {
	n := len(p)
	if len(s.partial) > 0 {
		p = s.finishPartial(p)
	}
	start := 0 // of the text that no body has received yet
	for at := 0; ; {
		i := bytes.IndexByte(p[at:], '<')
		if i < 0 {
			break
		}
		at += i
		tag, more := matchSignalTag(p[at:])
		switch {
		case more:
			s.text(p[start:at])
			s.partial = append(s.partial, p[at:]...)
			return n, nil
		case tag == nil:
			at++
		default:
			s.text(p[start:at])
			s.tag(tag)
			at += len(tag.text)
			start = at
		}
	}
	s.text(p[start:])
	return n, nil
}

// finishPartial goes on with the tag that the last write may have begun and
// returns the rest of p.
func (s *SignalScanner) finishPartial(p []byte) []byte {
	held := len(s.partial)
	taken := min(len(p), maxSignalTag)
	s.partial = append(s.partial, p[:taken]...)
	tag, more := matchSignalTag(s.partial)
	switch {
	case more: // then all of p fitted, since a tag is no longer than that
		return p[taken:]
	case tag != nil:
		s.partial = s.partial[:0]
		s.tag(tag)
		return p[len(tag.text)-held:]
	default: // plain text: no tag has a second '<', so that none begins in it
		s.text(s.partial[:held])
		s.partial = s.partial[:0]
		return p
	}
}

// Signals returns what was found so far. The result is a copy: later writes do
// not change it.
func (s *SignalScanner) Signals() Signals {
	out := s.found.withLists()
	out.Decompositions = slices.Clone(out.Decompositions)
	out.Checkpoints = slices.Clone(out.Checkpoints)
	out.JobComplete = slices.Clone(out.JobComplete)
	out.Questions = slices.Clone(out.Questions)
	out.Assumptions = slices.Clone(out.Assumptions)
	out.Waiting = slices.Clone(out.Waiting)
	out.Lacks = slices.Clone(out.Lacks)
	out.Replies = slices.Clone(out.Replies)
	out.Lessons = slices.Clone(out.Lessons)
	out.Summaries = slices.Clone(out.Summaries)
	out.Problems = slices.Clone(out.Problems)
	return out
}

// text hands plain text to every open body.
func (s *SignalScanner) text(p []byte) {
	if len(p) == 0 {
		return
	}
	for k := range s.bodies {
		s.bodies[k].add(p)
	}
}

func (b *signalBody) add(p []byte) {
	switch {
	case !b.open || b.over:
	case len(b.text)+len(p) > MaxSignalBytes:
		b.over, b.text = true, nil
	default:
		b.text = append(b.text, p...)
	}
}

// tag acts on a complete tag, which is plain text to the bodies of other kinds.
func (s *SignalScanner) tag(t *signalTag) {
	for k := range s.bodies {
		if signalKind(k) != t.kind {
			s.bodies[k].add([]byte(t.text))
		}
	}
	if t.kind == signalDecompose {
		s.found.RequestDecomposition = true
		return
	}
	b := &s.bodies[t.kind]
	if !t.closes {
		b.open, b.over, b.text = true, false, b.text[:0]
		return
	}
	if !b.open {
		return
	}
	b.open = false
	if b.over {
		s.problem(t.kind, "a body of more than 64 KiB was dropped")
		return
	}
	s.take(t.kind, strings.TrimSpace(strings.ToValidUTF8(string(b.text), "\uFFFD")))
}

var toForge = text.Lazy(`(?s)<promise>.*?</promise>|<progress>.*?</progress>|<reply>.*?</reply>`)

// WithoutSignals takes from an agent's message the signals that say something to
// Forge and nothing to people.
func WithoutSignals(s string) string { return strings.TrimSpace(toForge().ReplaceAllString(s, "")) }
