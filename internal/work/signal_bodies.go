package work

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"forge/internal/stuck"
	"forge/internal/text"
)

// signalKind is one kind of tag.
type signalKind int

const (
	signalPromise signalKind = iota
	signalProgress
	signalBlocker
	signalPivot
	signalSpawn
	signalCheckpoint
	signalJobComplete
	signalQuestion
	signalAssumption
	signalWaiting
	signalReply
	signalSplit
	signalLesson
	signalSummary
	signalKinds     // the kinds above have bodies
	signalDecompose = signalKinds
)

// String is the tag's name without its angle brackets: what Forge feeds back
// must never contain a live tag.
func (k signalKind) String() string {
	return [...]string{
		"promise", "progress", "blocker", "pivot", "spawn-subphase",
		"checkpoint", "job-complete", "question", "assumption", "waiting", "reply", "decomposition", "lesson", "session-summary", "request-decomposition",
	}[k]
}

// signalTag is one tag to the letter.
type signalTag struct {
	text   string
	kind   signalKind
	closes bool
}

// maxSignalTag is the length of the longest tag.
const maxSignalTag = len("<request-decomposition />")

var signalTags = [...]signalTag{
	{"<promise>", signalPromise, false}, {"</promise>", signalPromise, true},
	{"<progress>", signalProgress, false}, {"</progress>", signalProgress, true},
	{"<blocker>", signalBlocker, false}, {"</blocker>", signalBlocker, true},
	{"<pivot>", signalPivot, false}, {"</pivot>", signalPivot, true},
	{"<spawn-subphase>", signalSpawn, false}, {"</spawn-subphase>", signalSpawn, true},
	{"<spawn_subphase>", signalSpawn, false}, {"</spawn_subphase>", signalSpawn, true},
	{"<checkpoint>", signalCheckpoint, false}, {"</checkpoint>", signalCheckpoint, true},
	{"<job-complete>", signalJobComplete, false}, {"</job-complete>", signalJobComplete, true},
	{"<question>", signalQuestion, false}, {"</question>", signalQuestion, true},
	{"<assumption>", signalAssumption, false}, {"</assumption>", signalAssumption, true},
	{"<waiting>", signalWaiting, false}, {"</waiting>", signalWaiting, true},
	{"<reply>", signalReply, false}, {"</reply>", signalReply, true},
	{"<decomposition>", signalSplit, false}, {"</decomposition>", signalSplit, true},
	{"<lesson>", signalLesson, false}, {"</lesson>", signalLesson, true},
	{"<session-summary>", signalSummary, false}, {"</session-summary>", signalSummary, true},
	{"<request-decomposition/>", signalDecompose, false},
	{"<request-decomposition />", signalDecompose, false},
}

// matchSignalTag returns the tag that p, which begins with '<', begins with;
// more says that p is too short to tell. Tags have only a first '<' in common
// and none is the beginning of another.
func matchSignalTag(p []byte) (tag *signalTag, more bool) {
	if len(p) > 1 && strings.IndexByte("/pbscjrqawdl", p[1]) < 0 {
		return nil, false // nearly every '<' of a program text ends here
	}
	for i := range signalTags {
		t := &signalTags[i]
		if len(p) > 2 && (t.text[1] != p[1] || t.text[2] != p[2]) {
			continue // every tag is longer, and most of them end here
		}
		if len(p) >= len(t.text) {
			if string(p[:len(t.text)]) == t.text {
				return t, false
			}
		} else if t.text[:len(p)] == string(p) {
			more = true
		}
	}
	return nil, more
}

// WaitOf is the kind of wait that a body of <waiting> begins with; "" = none.
func WaitOf(body string) stuck.WaitKind {
	word, _, _ := strings.Cut(strings.TrimSpace(body), ":")
	kind := stuck.WaitKind(strings.ToLower(strings.TrimSpace(word)))
	if !slices.Contains(stuck.WaitKinds(), kind) {
		return ""
	}
	return kind
}

// take keeps one complete body, trimmed and of valid UTF-8.
func (s *SignalScanner) take(k signalKind, body string) {
	var err error
	f := &s.found
	switch k {
	case signalPromise:
		s.takePromise(body)
	case signalBlocker:
		err = s.takeBlocker(body)
	case signalAssumption:
		if body != "" {
			keep(s, k, &f.Assumptions, body)
		}
	case signalWaiting:
		if WaitOf(body) == "" {
			err = fmt.Errorf("%s does not begin with one of %v", quoted(body), stuck.WaitKinds())
		} else {
			keep(s, k, &f.Waiting, body)
		}
	case signalReply:
		var reply ThreadReply
		if reply, err = parseReply(body); err == nil {
			keep(s, k, &f.Replies, reply)
		}
	case signalQuestion:
		var q Question
		if q, err = ParseQuestion(body); err == nil {
			keep(s, k, &f.Questions, q)
		}
	case signalSummary:
		if body != "" {
			keep(s, k, &f.Summaries, body)
		}
	case signalPivot:
		if body != "" {
			keep(s, k, &f.Pivots, body)
		}
	case signalProgress:
		var percent float64
		if percent, err = parseProgress(body); err == nil {
			keep(s, k, &f.Progress, percent)
		}
	case signalSpawn:
		var sub SubPhaseRequest
		if sub, err = parseSubPhase(body); err == nil {
			keep(s, k, &f.SubPhases, sub)
		}
	case signalSplit:
		var split Decomposition
		if split, err = parseDecomposition(body); err == nil {
			keep(s, k, &f.Decompositions, split)
		}
	case signalLesson:
		var l Lesson
		if l, err = parseLesson(body); err == nil {
			keep(s, k, &f.Lessons, l)
		}
	case signalCheckpoint:
		var object json.RawMessage
		if object, err = parseObject(body); err == nil {
			keep(s, k, &f.Checkpoints, object)
		}
	case signalJobComplete:
		var object json.RawMessage
		if object, err = parseObject(body); err == nil {
			keep(s, k, &f.JobComplete, object)
		}
	}
	if err != nil {
		s.problem(k, err.Error())
	}
}

// takeBlocker keeps a blocker. One that says in a wrong way what it needs is
// kept as plain words: what stops the agent must not be lost.
func (s *SignalScanner) takeBlocker(body string) error {
	if body == "" {
		return nil
	}
	lack, ok, err := parseLack(body)
	if ok && err == nil {
		keep(s, signalBlocker, &s.found.Lacks, lack)
		body = lack.Text
	}
	keep(s, signalBlocker, &s.found.Blockers, body)
	return err
}

// takePromise keeps a promise. Beyond the limit a promise unlike all others
// takes the last place, so that Claim still sees that there were two.
func (s *SignalScanner) takePromise(body string) {
	list := s.found.Promises
	switch {
	case body == "":
	case len(list) == MaxSignals && !slices.Contains(list, body):
		list[MaxSignals-1] = body
		fallthrough
	default:
		keep(s, signalPromise, &s.found.Promises, body)
	}
}

// keep appends to a list up to its limit. The first value beyond it is a problem.
func keep[T any](s *SignalScanner, k signalKind, list *[]T, v T) {
	if len(*list) < MaxSignals {
		*list = append(*list, v)
	} else if !s.full[k] {
		s.full[k] = true
		s.problem(k, fmt.Sprintf("more than %d, the rest does not count", MaxSignals))
	}
}

// problem records why a tag was not used, in one line that contains no tag.
func (s *SignalScanner) problem(k signalKind, what string) {
	if len(s.found.Problems) < MaxSignals {
		s.found.Problems = append(s.found.Problems, k.String()+": "+inert(what))
	}
}

// inert takes the angle brackets out of a text that quotes the agent: problems
// go into the next prompt, and an echo of them must claim nothing.
func inert(s string) string {
	return strings.NewReplacer("<", "‹", ">", "›").Replace(s)
}

// quoted shows an offending body on one line.
func quoted(s string) string { return strconv.Quote(text.Clip(s, mostQuoted)) }

// parseProgress reads "42", "42%" or "42.5 % of the tests pass".
func parseProgress(body string) (float64, error) {
	wrong := func() (float64, error) {
		return 0, fmt.Errorf("%s is not a number from 0 to 100", quoted(body))
	}
	rest := strings.TrimLeft(body, "0123456789")
	if len(rest) == len(body) {
		return wrong()
	}
	if fraction, ok := strings.CutPrefix(rest, "."); ok {
		rest = strings.TrimLeft(fraction, "0123456789")
		if len(rest) == len(fraction) {
			return wrong()
		}
	}
	percent, err := strconv.ParseFloat(body[:len(body)-len(rest)], 64)
	if err != nil || percent > 100 {
		return wrong()
	}
	rest = strings.TrimPrefix(rest, "%")
	if rest != "" && strings.IndexFunc(rest, unicode.IsSpace) != 0 {
		return wrong()
	}
	return percent, nil
}

// parseReply reads "12: It is a copy now.": the number of a thread, a colon, and
// what is said there.
func parseReply(body string) (ThreadReply, error) {
	number, words, found := strings.Cut(body, ":")
	r := ThreadReply{Thread: strings.TrimSpace(number), Text: strings.TrimSpace(words)}
	if n, err := strconv.ParseInt(r.Thread, 10, 64); !found || err != nil || n < 1 || strconv.FormatInt(n, 10) != r.Thread || r.Text == "" {
		return r, fmt.Errorf("%s is not the number of a thread, a colon, and an answer", quoted(body))
	}
	return r, nil
}

// parseSubPhase reads the body of spawn-subphase. Name and promise follow the
// same rules as those of a phase of the plan.
func parseSubPhase(body string) (SubPhaseRequest, error) {
	var sub SubPhaseRequest
	into := map[string]any{"name": &sub.Name, "promise": &sub.Promise, "budget": &sub.Budget, "reasoning": &sub.Reasoning}
	if err := readFields(body, into); err != nil {
		return sub, err
	}
	sub.Name, sub.Promise = strings.TrimSpace(sub.Name), strings.TrimSpace(sub.Promise)
	if sub.Budget < 1 {
		return sub, fmt.Errorf("a budget of %d iterations, it has to be 1 or more", sub.Budget)
	}
	alone := Plan{Phases: []Phase{{Number: "1", Name: sub.Name, Promise: sub.Promise}}}
	for _, p := range alone.Check() {
		return sub, errors.New(p.What)
	}
	return sub, nil
}

// parseObject returns a JSON object in its shortest form.
func parseObject(body string) (json.RawMessage, error) {
	if _, err := objectFields(body); err != nil {
		return nil, err
	}
	// Marshal also writes angle brackets as escapes, so that a journal that
	// is read back holds the same bytes.
	return json.Marshal(json.RawMessage(body))
}

type objectField struct {
	name  string
	value json.RawMessage
}

// objectFields reads exactly one JSON object. Unlike json.Unmarshal it compares
// names to the letter and refuses a name that stands twice: which value is
// meant is not for Forge to guess.
func objectFields(body string) ([]objectField, error) {
	dec := json.NewDecoder(strings.NewReader(body))
	if open, err := dec.Token(); err != nil || open != json.Delim('{') {
		return nil, fmt.Errorf("%s is not a JSON object", quoted(body))
	}
	var out []objectField
	seen := map[string]bool{}
	for dec.More() {
		var f objectField
		token, err := dec.Token()
		if err == nil {
			err = dec.Decode(&f.value)
		}
		if err != nil {
			return nil, fmt.Errorf("broken JSON: %s", text.Clip(err.Error(), mostQuoted))
		}
		f.name, _ = token.(string)
		if seen[f.name] {
			return nil, fmt.Errorf("the field %s stands twice", quoted(f.name))
		}
		seen[f.name] = true
		out = append(out, f)
	}
	if _, err := dec.Token(); err != nil {
		return nil, fmt.Errorf("broken JSON: %s", text.Clip(err.Error(), mostQuoted))
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("text after the JSON object")
	}
	return out, nil
}
