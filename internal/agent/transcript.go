package agent

import (
	"bytes"
	"cmp"
	"os"
	"slices"
	"strings"
	"time"

	"forge/internal/work"
)

// maxLogLine bounds a line of a log that is read as a whole: more than a log
// keeps of one.
const maxLogLine = logHeadBytes + logTailBytes + 1<<20

// Transcript reads the log of an iteration as a conversation, as it grows.
type Transcript struct {
	file  string // that says when what came
	steps *Steps
	talk  work.Conversation

	held  []byte // the beginning of a line
	at    int64  // of held in the log
	times logTimes
}

// NewTranscript begins to read what an agent of a kind printed. The file at times
// says when it came; without one, nobody knows.
func NewTranscript(times, kindName string) *Transcript {
	return &Transcript{file: times, steps: NewSteps(kindName)}
}

// Read takes what follows in the log, and returns the turns that it completes.
func (t *Transcript) Read(p []byte) []work.Turn {
	var out []work.Turn
	t.times.load(t.file)
	for {
		i := bytes.IndexByte(p, '\n')
		if i < 0 {
			break
		}
		out = append(out, t.line(p[:i+1])...)
		p = p[i+1:]
	}
	if t.held = append(t.held, p...); len(t.held) > maxLogLine {
		out = append(out, t.line(nil)...)
	}
	return out
}

// End returns what is left of a log to which nothing is added any more.
func (t *Transcript) End() []work.Turn {
	var out []work.Turn
	if len(t.held) > 0 {
		out = t.line(nil)
	}
	return append(out, t.talk.End()...)
}

// line takes the end of a line, whose beginning is held.
func (t *Transcript) line(end []byte) []work.Turn {
	line := end
	if len(t.held) > 0 {
		line = append(t.held, end...)
	}
	at := t.times.of(t.at)
	t.at += int64(len(line))
	var out []work.Turn
	for _, s := range t.steps.Line(line) {
		if s.At.IsZero() {
			s.At = at
		}
		out = append(out, t.talk.Take(s)...)
	}
	t.held = t.held[:0]
	return out
}

// timeMark says when what stands at an offset of a log came.
type timeMark struct {
	at   int64
	when time.Time
}

// logTimes says when the parts of a log came.
type logTimes struct {
	marks []timeMark
	size  int64
}

// load reads the marks when there are more. A log without them, as earlier
// releases wrote it, has no times.
func (l *logTimes) load(path string) {
	info, err := os.Stat(path)
	if err != nil || info.Size() == l.size {
		return
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return
	}
	l.marks, l.size = nil, info.Size()
	for line := range strings.Lines(string(text)) {
		at, ms, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		offset, when := wholeNumber(at), wholeNumber(ms)
		if !ok || offset < 0 || when < 0 || !strings.HasSuffix(line, "\n") {
			return // its end is not written yet, or is broken
		}
		l.marks = append(l.marks, timeMark{offset, time.UnixMilli(when).UTC()})
	}
}

// of is when what stands at an offset came; zero when nobody knows.
func (l *logTimes) of(offset int64) time.Time {
	i, found := slices.BinarySearchFunc(l.marks, offset, func(m timeMark, at int64) int { return cmp.Compare(m.at, at) })
	if !found {
		i--
	}
	if i < 0 {
		return time.Time{}
	}
	return l.marks[i].when
}
