package review

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"forge/internal/text"
	"forge/internal/work"
)

// DecideKinds lists the kinds of question that DecideLine answers, sorted.
func DecideKinds() []string { return []string{"arbiter", "promote", "sensitive"} }

// DecideLine answers one line of `forge decide <kind>`: a JSON object in, one
// out, without a line end. It asks the functions that a run uses, and reads
// nothing but the line. Errors are *ValueError.
func DecideLine(kind string, line []byte) ([]byte, error) {
	decide, ok := map[string]func([]byte) (any, error){
		"arbiter":   decideArbiter,
		"promote":   decidePromote,
		"sensitive": decideSensitive,
	}[kind]
	if !ok {
		return nil, valueError("unknown_kind", "unknown kind %q: use one of %s", text.Clip(kind, 60), strings.Join(DecideKinds(), ", "))
	}
	answer, err := decide(line)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(answer); err != nil {
		return nil, fmt.Errorf("encode answer: %w", err)
	}
	return bytes.TrimRight(out.Bytes(), "\n"), nil
}

// parseLine reads one object with no other fields than allowed, beside name,
// note and id, which may say anything.
func parseLine(in []byte, allowed ...string) (object, error) {
	o, err := parseObject(in, "")
	if err != nil {
		return o, err
	}
	for _, name := range o.names {
		if !slices.Contains(allowed, name) && !slices.Contains([]string{"name", "note", "id"}, name) {
			return o, valueError(CodeUnknownField, "unknown field %q: use one of %s", text.Clip(name, 60), strings.Join(allowed, ", "))
		}
	}
	return o, nil
}

// word is one of a list of strings.
func (o object) word(name string, of ...string) (string, error) {
	w, err := o.text(name)
	if err == nil && !slices.Contains(of, w) {
		return "", o.bad(name, "one of "+strings.Join(of, ", "))
	}
	return w, err
}

// maybe is false for a boolean that is missing; null says nothing and is
// refused.
func (o object) maybe(name string) (bool, error) {
	if !o.has(name) {
		return false, nil
	}
	return o.boolean(name)
}

type arbiterAnswer struct {
	Verdict Ruling       `json:"verdict"`
	Most    int          `json:"effective_max"`
	Reason  RulingReason `json:"reason"`
}

// decideArbiter asks the arbiter's rules. confidence is how sure
// the model is that the work may go on, null where it says another word or none;
// extra_fix_attempts may be null: not set.
func decideArbiter(in []byte) (any, error) {
	o, err := parseLine(in, "severities", "confidence", "threshold", "attempts_used", "max_fix_attempts", "extra_fix_attempts", "sensitive", "fix_path", "unknown", "mode")
	if err != nil {
		return nil, err
	}
	var c Case
	if c.Severities, err = severities(o); err != nil {
		return nil, err
	}
	if _, err := o.need("confidence"); err != nil {
		return nil, err
	}
	if o.said("confidence") {
		f, err := o.share("confidence")
		if err != nil {
			return nil, err
		}
		c.Confidence = &f
	}
	if c.Threshold, err = o.share("threshold"); err != nil {
		return nil, err
	}
	if c.Attempts, err = o.whole("attempts_used", 0); err != nil {
		return nil, err
	}
	base, err := o.whole("max_fix_attempts", 0)
	if err != nil {
		return nil, err
	}
	var extra *int
	if o.said("extra_fix_attempts") {
		n, err := o.whole("extra_fix_attempts", 0)
		if err != nil {
			return nil, err
		}
		extra = &n
	}
	sensitive, err := o.boolean("sensitive")
	if err != nil {
		return nil, err
	}
	if c.FixPath, err = o.boolean("fix_path"); err != nil {
		return nil, err
	}
	if c.Unknown, err = o.maybe("unknown"); err != nil {
		return nil, err
	}
	const interactive = "interactive"
	mode, err := o.word("mode", "autonomous", interactive)
	if err != nil {
		return nil, err
	}
	c.Ask = mode == interactive
	c.Most = MostFixes(base, sensitive, extra)
	ruling, reason := Rule(c)
	return arbiterAnswer{ruling, c.Most, reason}, nil
}

func severities(o object) ([]work.Severity, error) {
	list, err := o.list("severities")
	if err != nil {
		return nil, err
	}
	var out []work.Severity
	for i, raw := range list {
		var word *string
		if json.Unmarshal(raw, &word) != nil || word == nil || !work.Severity(*word).Known() {
			return nil, valueError(CodeBadValue, "severities[%d] is %s: want critical, major or minor", i, text.Clip(string(raw), 60))
		}
		out = append(out, work.Severity(*word))
	}
	return out, nil
}

type promoteAnswer struct {
	Decision Promotion    `json:"decision"`
	Moves    bool         `json:"column_moves"`
	Hold     []HoldReason `json:"hold_reason"`
}

// decidePromote asks what becomes of an issue. arbiter_proceeds is true or
// false, or how many findings were let stand.
func decidePromote(in []byte) (any, error) {
	o, err := parseLine(in, "pipeline", "reviews", "arbiter_proceeds", "fix_attempts", "autonomy_enabled", "auto_promote_enabled", "promote_on_clean", "unverified", "assumption")
	if err != nil {
		return nil, err
	}
	var r RunResult
	if r.Pipeline, err = o.word("pipeline", RunCompleted, runFailed, runCancelled); err != nil {
		return nil, err
	}
	if r.Reviews, err = o.word("reviews", ReviewsNone, ReviewsPassed, ReviewsWarnings); err != nil {
		return nil, err
	}
	if r.Proceeded, err = o.any("arbiter_proceeds"); err != nil {
		return nil, err
	}
	if r.Fixes, err = o.whole("fix_attempts", 0); err != nil {
		return nil, err
	}
	for _, b := range []struct {
		name string
		to   *bool
	}{{"autonomy_enabled", &r.Autonomy}, {"auto_promote_enabled", &r.Auto}, {"promote_on_clean", &r.OnClean}} {
		if *b.to, err = o.boolean(b.name); err != nil {
			return nil, err
		}
	}
	if r.Unverified, err = o.maybe("unverified"); err != nil {
		return nil, err
	}
	if r.Assumed, err = o.maybe("assumption"); err != nil {
		return nil, err
	}
	decision, hold := Promote(r)
	return promoteAnswer{decision, decision != NotMoved, append([]HoldReason{}, hold...)}, nil
}

// any reads what is said as yes or no, as a count, or as a list: whether there
// is any.
func (o object) any(name string) (bool, error) {
	if yes, err := o.boolean(name); err == nil {
		return yes, nil
	}
	if list, err := o.list(name); err == nil {
		return len(list) > 0, nil
	}
	if n, err := o.whole(name, 0); err == nil {
		return n > 0, nil
	}
	if _, err := o.need(name); err != nil {
		return false, err
	}
	return false, o.bad(name, "true, false, or a whole number from 0")
}

type sensitiveAnswer struct {
	Sensitive bool `json:"sensitive"`
}

// decideSensitive asks whether a phase of this name is sensitive.
func decideSensitive(in []byte) (any, error) {
	o, err := parseLine(in, "patterns", "name")
	if err != nil {
		return nil, err
	}
	list, err := o.list("patterns")
	if err != nil {
		return nil, err
	}
	var patterns []string
	for i, raw := range list {
		var p *string
		if json.Unmarshal(raw, &p) != nil || p == nil {
			return nil, valueError(CodeBadValue, "patterns[%d] is %s: want a string", i, text.Clip(string(raw), 60))
		}
		patterns = append(patterns, *p)
	}
	name, err := o.text("name")
	if err != nil {
		return nil, err
	}
	_, ok, err := work.MatchName(patterns, name)
	if err != nil {
		return nil, valueError(CodeBadValue, "patterns: %v", err)
	}
	return sensitiveAnswer{ok}, nil
}
