package agent

import (
	"bytes"
	"slices"
	"strings"

	"forge/internal/redact"
	texts "forge/internal/text"
	"forge/internal/work"
)

const (
	// messageBytes bounds the end of the last message that a report carries.
	messageBytes = 4 << 10
	// tailBytes are kept of it. What a cut leaves of a secret stands in the
	// first of them, which are thrown away.
	tailBytes = 2 * messageBytes
	// wholeBytes are kept of the last message, for those who ask an agent a
	// question and need all of its answer.
	wholeBytes = 256 << 10
)

// words collects what an agent says: the signals of everything, and the
// promises and the end of the last message. Text comes in as a part; keep adds
// the part to what is pending; only take decides that, and in which message,
// what is pending was said. Nothing else counts.
type words struct {
	all      work.Signals
	message  string // id of the last message
	promises []string
	end      tail

	scanner work.SignalScanner // of the part
	part    tail
	pending work.Signals
	more    tail // pending text
}

// Write adds to the part. It never fails.
func (w *words) Write(p []byte) (int, error) {
	w.part.max, w.more.max, w.end.max = wholeBytes, wholeBytes, wholeBytes
	_, _ = w.scanner.Write(p)
	w.part.write(p)
	return len(p), nil
}

// keep adds the part to what is pending. A tag does not reach from one part
// into the next.
func (w *words) keep() {
	addSignals(&w.pending, w.scanner.Signals())
	w.more.append(&w.part)
	w.drop()
}

// drop forgets the part.
func (w *words) drop() {
	w.scanner = work.SignalScanner{}
	w.part.reset()
}

// take counts what is pending as said in a message. Another message than the
// last one puts that one's promises out of effect.
func (w *words) take(message string) {
	w.begin(message)
	w.promises = capped(w.promises, w.pending.Promises)
	addSignals(&w.all, w.pending)
	w.end.append(&w.more)
	w.forget()
}

// forget drops what is pending.
func (w *words) forget() {
	w.pending = work.Signals{}
	w.more.reset()
}

// begin makes message the last one, also when it says nothing.
func (w *words) begin(message string) {
	if message != w.message {
		w.message, w.promises = message, nil
		w.end.reset()
	}
}

func addSignals(to *work.Signals, more work.Signals) {
	to.Promises = capped(to.Promises, more.Promises)
	to.Progress = capped(to.Progress, more.Progress)
	to.Blockers = capped(to.Blockers, more.Blockers)
	to.Pivots = capped(to.Pivots, more.Pivots)
	to.SubPhases = capped(to.SubPhases, more.SubPhases)
	to.Decompositions = capped(to.Decompositions, more.Decompositions)
	to.RequestDecomposition = to.RequestDecomposition || more.RequestDecomposition
	to.Checkpoints = capped(to.Checkpoints, more.Checkpoints)
	to.JobComplete = capped(to.JobComplete, more.JobComplete)
	to.Questions = capped(to.Questions, more.Questions)
	to.Assumptions = capped(to.Assumptions, more.Assumptions)
	to.Waiting = capped(to.Waiting, more.Waiting)
	to.Lacks = capped(to.Lacks, more.Lacks)
	to.Replies = capped(to.Replies, more.Replies)
	to.Summaries = capped(to.Summaries, more.Summaries)
	to.Lessons = capped(to.Lessons, more.Lessons)
	to.Problems = capped(to.Problems, more.Problems)
}

// capped appends, up to the number of signals that one text may have.
func capped[T any](to, more []T) []T {
	return append(to, more[:max(0, min(len(more), work.MaxSignals-len(to)))]...)
}

// report fills in what was said, without secrets.
func (w *words) report(r *work.IterationReport, red *redact.Redactor) {
	r.Whole = w.end.whole(red)
	r.Message = endOf(r.Whole)
	r.Claims = w.promises
	r.Signals = redacted(w.all, red)
}

// redacted takes secrets out of everything but the promises, which are the
// plan's own words and are compared with it.
func redacted(s work.Signals, red *redact.Redactor) work.Signals {
	for _, list := range [][]string{s.Blockers, s.Pivots, s.Problems, s.Assumptions, s.Waiting, s.Summaries} {
		for i := range list {
			list[i] = red.String(list[i])
		}
	}
	for i := range s.SubPhases {
		s.SubPhases[i].Reasoning = red.String(s.SubPhases[i].Reasoning)
	}
	for i, d := range s.Decompositions {
		s.Decompositions[i].Analysis = red.String(d.Analysis)
		for j, t := range d.Tasks {
			t.About = red.String(t.About)
			d.Tasks[j] = t
		}
	}
	for i, q := range s.Questions {
		s.Questions[i] = redactedQuestion(q, red)
	}
	for i := range s.Replies {
		s.Replies[i].Text = red.String(s.Replies[i].Text)
	}
	for i := range s.Lessons {
		s.Lessons[i].Text, s.Lessons[i].File = red.String(s.Lessons[i].Text), red.String(s.Lessons[i].File)
	}
	for i := range s.Lacks {
		s.Lacks[i].Text = red.String(s.Lacks[i].Text)
	}
	for i := range s.Checkpoints {
		s.Checkpoints[i] = []byte(red.String(string(s.Checkpoints[i])))
	}
	for i := range s.JobComplete {
		s.JobComplete[i] = []byte(red.String(string(s.JobComplete[i])))
	}
	return s
}

// redactedQuestion is a question without secrets.
func redactedQuestion(q work.Question, red *redact.Redactor) work.Question {
	out := work.Question{Text: red.String(q.Text), Choices: slices.Clone(q.Choices), Why: red.String(q.Why)}
	for i, c := range q.Choices {
		out.Choices[i] = red.String(c)
	}
	return out
}

// tail keeps the last max bytes of what is written to it.
type tail struct {
	b   []byte
	cut bool
	max int // 0 = tailBytes
}

func (t *tail) most() int {
	if t.max == 0 {
		return tailBytes
	}
	return t.max
}

func (t *tail) write(p []byte) {
	most := t.most()
	if len(p) >= most {
		t.cut = t.cut || len(p) > most || len(t.b) > 0
		t.b = append(t.b[:0], p[len(p)-most:]...)
		return
	}
	t.b = append(t.b, p...)
	if over := len(t.b) - most; over > 3*most {
		t.trim(over)
	}
}

func (t *tail) trim(over int) {
	t.cut = true
	t.b = append(t.b[:0], t.b[over:]...)
}

// append adds what other holds.
func (t *tail) append(other *tail) {
	if other.cut {
		t.reset()
	}
	t.cut = t.cut || other.cut
	t.write(other.b)
}

func (t *tail) reset() { t.b, t.cut = t.b[:0], false }

// raw is what is kept, secrets and all.
func (t *tail) raw() []byte {
	if over := len(t.b) - t.most(); over > 0 {
		t.trim(over)
	}
	return t.b
}

// text is the end of what was written: valid, without secrets, at most
// messageBytes long.
func (t *tail) text(red *redact.Redactor) string { return endOf(t.whole(red)) }

// whole is all that is kept, valid and without secrets.
func (t *tail) whole(red *redact.Redactor) string {
	s := red.String(string(t.raw()))
	if t.cut {
		s = s[min(len(s), tailBytes-messageBytes):]
	}
	return strings.TrimSpace(strings.ToValidUTF8(s, "\uFFFD"))
}

// endOf is the end of s, at most messageBytes long.
func endOf(s string) string {
	return texts.End(s, messageBytes)
}

// lastLine is the last line that holds anything, or nil when it does not fit.
func (t *tail) lastLine() []byte {
	b := bytes.TrimSpace(t.raw())
	i := bytes.LastIndexByte(b, '\n')
	if i < 0 && t.cut {
		return nil
	}
	return bytes.TrimSpace(b[i+1:])
}
