package agent

import (
	"bytes"
	"strconv"
	"strings"
	"time"

	"forge/internal/text"
	"forge/internal/work"
)

// Steps reads the lines that an agent of one kind printed as the steps of its
// conversation, with the same fields of the same events that words and usage are
// read from. Each line stands for itself: what is said depends on nothing
// before. It must not be used from several goroutines at once.
type Steps struct {
	of    func(event) []work.Step // nil = every line is the agent's word
	lines *jsonLines
	heard event
	shown []work.Step
	known bool
}

const (
	// stepBytes are kept of each text of an event.
	stepBytes = 64 << 10
	// printedBytes are kept of a line that is no event.
	printedBytes = 4 << 10
	// maxHeard bounds the values that are kept of an event.
	maxHeard = 8 << 10
)

// NewSteps reads the output of a kind of agent; of one that is not known, every
// line is the agent's word.
func NewSteps(kindName string) *Steps {
	s := &Steps{}
	if k, ok := kinds()[kindName]; ok && k.fields != nil {
		s.of = k.steps
		s.lines = newJSONLines(k.fields(), s)
	}
	return s
}

// Line returns the steps that a line tells. A line that is broken, or an event
// that means nothing to a reader, is a step as well.
func (s *Steps) Line(line []byte) []work.Step {
	line = bytes.TrimSuffix(line, []byte("\n"))
	if s.of == nil {
		return execSteps(line)
	}
	if len(bytes.TrimSpace(line)) == 0 {
		return nil
	}
	s.heard, s.shown, s.known = nil, nil, false
	_, _ = s.lines.Write(line)
	s.lines.close()
	if len(s.shown) > 0 {
		return s.shown
	}
	other := work.Step{Kind: work.StepOther, Text: text.Clip(string(line[:min(len(line), 2*printedBytes)]), printedBytes), Lines: 1}
	if !s.known {
		other.Kind = work.StepPrinted
	}
	return []work.Step{other}
}

// heardValue is a value of an event, or the beginning of an object ('{').
type heardValue struct {
	field field
	kind  byte
	text  []byte
	ends  int // line ends in the whole text
	tail  byte
	open  bool
}

// event is what was heard of a line, in order.
type event []heardValue

func (s *Steps) object(f field) {
	if len(s.heard) < maxHeard {
		s.heard = append(s.heard, heardValue{field: f, kind: '{'})
	}
}

func (s *Steps) value(f field, kind byte, part []byte, last bool) {
	n := len(s.heard)
	if n == 0 || !s.heard[n-1].open {
		if n == maxHeard {
			return
		}
		s.heard = append(s.heard, heardValue{field: f, kind: kind})
		n++
	}
	v := &s.heard[n-1]
	v.text = append(v.text, part[:min(len(part), stepBytes-len(v.text))]...)
	v.ends += bytes.Count(part, []byte("\n"))
	if len(part) > 0 {
		v.tail = part[len(part)-1]
	}
	v.open = !last
}

func (s *Steps) line(ok bool) {
	if ok {
		s.known, s.shown = true, s.of(s.heard)
	}
}

// find is the last value of the fields that is there, by their order; what
// stands in a field twice counts as it came last.
func (e event) find(fields ...field) heardValue {
	for _, f := range fields {
		for i := len(e) - 1; i >= 0; i-- {
			if e[i].field == f && e[i].kind != 'n' && e[i].kind != '{' {
				return e[i]
			}
		}
	}
	return heardValue{}
}

func (e event) text(fields ...field) string {
	return strings.ToValidUTF8(string(e.find(fields...).text), "\uFFFD")
}

// is says that a field holds a text.
func (e event) is(f field, s string) bool { return e.text(f) == s }

// all joins the texts of a field that comes several times.
func (e event) all(f field) (all string, lines int) {
	var b strings.Builder
	for _, v := range e {
		if v.field != f || v.kind != '"' {
			continue
		}
		if b.Len() > 0 && b.Len() < stepBytes {
			b.WriteByte('\n')
		}
		b.Write(v.text[:max(0, min(len(v.text), stepBytes-b.Len()))])
		lines += v.lines()
	}
	return strings.ToValidUTF8(b.String(), "\uFFFD"), lines
}

func (v heardValue) lines() int {
	if v.tail == 0 {
		return 0
	}
	if v.tail == '\n' {
		return v.ends
	}
	return v.ends + 1
}

// number is a count that a field holds; nil when it holds none.
func (e event) number(f field) *int64 {
	n, err := strconv.ParseInt(string(e.find(f).text), 10, 48)
	if err != nil {
		return nil
	}
	return &n
}

// sum adds fields, of which the first has to be there.
func (e event) sum(fields ...field) *int64 {
	var sum int64
	for i, f := range fields {
		n := e.number(f)
		if n == nil && i == 0 {
			return nil
		}
		if n != nil {
			sum += *n
		}
	}
	return &sum
}

func (e event) usd(f field) *float64 {
	v, err := strconv.ParseFloat(string(e.find(f).text), 64)
	if err != nil {
		return nil
	}
	return &v
}

// at is the time that a field says, as RFC 3339 or in milliseconds.
func (e event) at(f field) time.Time {
	v := e.find(f)
	if ms := e.number(f); v.kind == '0' && ms != nil {
		return time.UnixMilli(*ms).UTC()
	}
	t, err := time.Parse(time.RFC3339Nano, string(v.text))
	if err != nil {
		return time.Time{}
	}
	return t
}

// says are words of the agent, as far as there are any.
func (e event) says(kind work.StepKind, part bool, fields ...field) []work.Step {
	v := e.find(fields...)
	if v.kind != '"' || len(v.text) == 0 {
		return nil
	}
	return []work.Step{{Kind: kind, Text: e.text(fields...), Lines: v.lines(), Part: part}}
}

func notice(said string) []work.Step {
	if said == "" {
		return nil
	}
	return []work.Step{{Kind: work.StepNotice, Text: said, Lines: 1 + strings.Count(said, "\n")}}
}

func spent(u work.Usage) []work.Step {
	if u = u.Clean(); u == (work.Usage{}) {
		return nil
	}
	return []work.Step{{Kind: work.StepSpent, Usage: u}}
}

// spentMore adds to what was spent before.
func spentMore(u work.Usage) []work.Step {
	out := spent(u)
	for i := range out {
		out[i].Part = true
	}
	return out
}

// wholeNumber is the number that s is; -1 when it is none.
func wholeNumber(s string) int64 {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return -1
	}
	return n
}
