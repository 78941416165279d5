package review

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	texts "forge/internal/text"
	"forge/internal/work"
)

// JudgeInput is what the arbiter's model is asked about.
type JudgeInput struct {
	Request work.ArbiterRequest
	Change  Change // of the phase; the lines at the findings are shown
	// Keep stores what was asked and answered, and returns its name. nil =
	// nothing is kept.
	Keep func(data []byte) string
}

// Judge asks the arbiter's model. An answer that cannot be used is one without
// a verdict, that says why; the rules decide in any case.
func Judge(ctx context.Context, m Model, in JudgeInput) work.ArbiterAnswer {
	q := Question{System: promptFile("arbiter"), User: judgeText(in), Schema: JudgeSchema(), Name: "ruling", Check: CheckRuling}
	reply, err := Reply{}, ctx.Err()
	if err == nil {
		reply, err = m.Ask(ctx, q)
	}
	var a work.ArbiterAnswer
	if err == nil {
		a, err = readRuling(reply.JSON)
	}
	if err != nil {
		a = work.ArbiterAnswer{Why: "no usable answer: " + reason(err)}
	}
	a.Model, a.Usage = texts.Clip(reply.Model, 200), reply.Usage.Clean()
	if in.Keep != nil && len(reply.Request) > 0 {
		a.Request = in.Keep(reply.Request)
	}
	if in.Keep != nil && len(reply.Answer) > 0 {
		a.Answer = in.Keep(reply.Answer)
	}
	return a
}

// JudgeSchema is the JSON schema of the arbiter's answer.
func JudgeSchema() json.RawMessage {
	return json.RawMessage(`{"type":"object","additionalProperties":false,` +
		`"required":["verdict","confidence","fix_path","reason","instructions"],"properties":{` +
		`"verdict":{"type":"string","enum":["Proceed","Fix","FailPhase"]},` +
		`"confidence":{"type":["number","null"],"description":"how sure you are, from 0 to 1; null when you cannot say"},` +
		`"fix_path":{"type":["boolean","null"],"description":"whether one short piece of work can settle the findings; null when you cannot say"},` +
		`"reason":{"type":"string","description":"why, in at most three sentences"},` +
		`"instructions":{"type":"string","description":"what the fix has to do, finding by finding; empty unless the verdict is Fix"}}}`)
}

// CheckRuling says what is wrong with an arbiter's answer.
func CheckRuling(data []byte) error {
	_, err := readRuling(data)
	return err
}

func readRuling(data []byte) (a work.ArbiterAnswer, err error) {
	if len(data) > maxAnswerBytes {
		return a, fmt.Errorf("the answer has %d bytes, more than %d", len(data), maxAnswerBytes)
	}
	o, err := parseObject(data, "")
	if err != nil {
		return a, err
	}
	word, err := o.text("verdict")
	if err != nil {
		return a, err
	}
	switch Ruling(word) {
	case Proceed, Fix, FailPhase:
	default:
		return a, o.bad("verdict", "Proceed, Fix or FailPhase")
	}
	var out work.ArbiterAnswer
	if o.said("confidence") {
		c, err := o.share("confidence")
		if err != nil {
			return a, err
		}
		out.Confidence = &c
	}
	if o.said("fix_path") {
		f, err := o.boolean("fix_path")
		if err != nil {
			return a, err
		}
		out.FixPath = &f
	}
	for _, t := range []struct {
		name string
		to   *string
		most int
	}{{"reason", &out.Reason, 2000}, {"instructions", &out.Instructions, 8000}} {
		text, err := o.maybeText(t.name)
		if err != nil {
			return a, err
		}
		*t.to = texts.Clip(texts.Visible(strings.TrimSpace(text)), t.most)
	}
	out.Verdict = word
	return out, nil
}

// judgeText shows the findings and the lines that they point at.
func judgeText(in JudgeInput) string {
	r := in.Request
	var b strings.Builder
	fmt.Fprintf(&b, "Reviewers found fault with the change of a phase. It was sent back to be fixed %s so far; %d are allowed.\n", texts.Number(r.Attempts, "time"), r.Most)
	nameOf(&b, r.PhaseName)
	if r.Summary != "" {
		fence(&b, "What the phase was to do", []byte(summary(r.Summary)))
	}
	var found bytes.Buffer
	for i, f := range r.Findings {
		writeFinding(&found, i+1, f)
	}
	fence(&b, "The findings, worst first", found.Bytes())
	if lines := excerpts(in.Change, r.Findings); len(lines) > 0 {
		fence(&b, "The change at the lines that they name", lines)
	}
	return b.String()
}

func writeFinding(b *bytes.Buffer, number int, f work.Finding) {
	fmt.Fprintf(b, "%d. %s, by %s", number, texts.Visible(string(f.Severity)), texts.Visible(f.Specialist))
	if len(f.Also) > 0 {
		fmt.Fprintf(b, " and %s", texts.Visible(strings.Join(f.Also, ", ")))
	}
	if many := f.StandsFor(); many != "" {
		fmt.Fprintf(b, " (%s)", many)
	}
	if f.File != "" {
		fmt.Fprintf(b, ", %s:%d", texts.Visible(f.File), f.Line)
	}
	b.WriteString("\n")
	for _, t := range [][2]string{{"issue", f.Issue}, {"leads to", f.Failure}, {"suggestion", f.Suggestion}, {"shown by", f.Repro}} {
		if t[1] != "" {
			fmt.Fprintf(b, "   %s: %s\n", t[0], texts.Clip(texts.Visible(t[1]), maxFindingText))
		}
	}
}

// excerpts are the lines of the change within aroundLines of each finding, of
// the first ones as many as there is room for.
func excerpts(c Change, found []work.Finding) []byte {
	const aroundLines, most = 15, 32 << 10
	var out []byte
	for _, at := range found {
		f := c.find(at.File)
		if f == nil || f.Binary || f.Cut {
			continue
		}
		old := f.oldSide()
		last := max(at.Line, at.EndLine) + aroundLines
		text := fileHead(f)
		inside := false
		for i := range f.Hunks {
			walk(&f.Hunks[i], old, func(number int, line []byte) bool {
				if number > 0 { // a removed line belongs to the numbered one before it
					inside = number >= at.Line-aroundLines && number <= last
				}
				if inside {
					text, _ = showLine(text, number, line)
				}
				return true
			})
		}
		if len(out)+len(text) > most {
			return append(out, "\n(no room for more)\n"...)
		}
		out = append(out, text...)
	}
	return out
}
