package review

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"forge/internal/text"
	"forge/internal/work"
)

const (
	maxAnswerBytes   = 1 << 20
	maxFindings      = 200  // in one answer
	maxFindingText   = 2000 // bytes of each text of a finding
	maxNeeds         = 8    // ranges that one answer may ask for
	maxNeedLines     = 200  // of each
	maxFindingName   = 4096 // bytes
	answerSchemaHead = `{"type":"object","additionalProperties":false,"required":["verdict","confidence","findings"%s],"properties":{` +
		`"verdict":{"type":"string","enum":["pass","warn","fail"]},` +
		`"confidence":{"type":["number","null"],"description":"how sure you are of this verdict, from 0 to 1; null when you cannot say"},` +
		`"findings":{"type":"array","items":{"type":"object","additionalProperties":false,` +
		`"required":["file","line","end_line","severity","issue","failure","suggestion","repro"%s],"properties":{` +
		`"file":{"type":"string","description":"as it stands behind ==="},` +
		`"line":{"type":"integer","description":"a number from the left column of the change"},` +
		`"end_line":{"type":["integer","null"]},` +
		`"severity":{"type":"string","enum":["critical","major","minor"]},` +
		`"issue":{"type":"string","description":"what is wrong, in one or two sentences"},` +
		`"failure":{"type":"string","description":"the concrete failure that it leads to: input or state, and the wrong result"},` +
		`"suggestion":{"type":"string","description":"what to change"},` +
		`"repro":{"type":["string","null"],"description":"a command or test that shows it, where one is possible"}%s}}}%s}}`
	replacementSchema = `,"replacement":{"type":["string","null"],"description":"the lines that are to stand in place of those from line to end_line, exactly as the file is to have them, with their indentation and without numbers or marks, where they alone mend it; null otherwise"}`
	summarySchema     = `,"summary":{"type":["array","null"],"description":"what the change does, in at most three plain sentences; null when you cannot tell","items":{"type":"string"}}`
	needSchema        = `,"need":{"type":"array","description":"surroundings of changed files that you must see before you can judge; usually empty","items":{` +
		`"type":"object","additionalProperties":false,"required":["file","from","to"],"properties":{` +
		`"file":{"type":"string"},"from":{"type":"integer"},"to":{"type":"integer"}}}}`
)

// Schema is the JSON schema of a reviewer's answer. The first question about a
// part lets it ask for surroundings, the second does not.
func Schema(mayNeed bool) json.RawMessage { return schema(mayNeed, Input{}) }

// schema is that of a question which may be about an issue's criteria, too, and ask
// for what is posted.
func schema(mayNeed bool, in Input) json.RawMessage {
	required, fields, finding, ofFinding := "", "", "", ""
	if mayNeed {
		required, fields = `,"need"`, needSchema
	}
	if len(in.Criteria) > 0 {
		required, fields = required+`,"criteria"`, fields+criteriaSchema
	}
	if in.Replacements {
		finding, ofFinding = `,"replacement"`, replacementSchema
	}
	if in.Summarise {
		required, fields = required+`,"summary"`, fields+summarySchema
	}
	return json.RawMessage(fmt.Sprintf(answerSchemaHead, required, finding, ofFinding, fields))
}

// answer is a reviewer's answer as it was given: nothing of it is placed yet.
type answer struct {
	verdict    work.Verdict
	confidence *float64 // nil = it could not say
	findings   []work.Finding
	need       []span
	criteria   json.RawMessage // as it came, see readCriteria
	summary    json.RawMessage // likewise, see readSummary
}

// span is a part of a file that a reviewer asks for, in lines from 1.
type span struct {
	file     string
	from, to int
}

// CheckAnswer says what is wrong with a reviewer's answer.
func CheckAnswer(data []byte) error {
	_, err := readAnswer(data)
	return err
}

// readAnswer reads an answer whole or not at all. A word that is not known
// makes all of it unusable: it cannot be told what else was meant otherwise.
// Fields beyond the schema are not looked at.
func readAnswer(data []byte) (answer, error) {
	var a answer
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
	switch a.verdict = work.Verdict(word); a.verdict {
	case work.VerdictPass, work.VerdictWarn, work.VerdictFail:
	default:
		return a, o.bad("verdict", "pass, warn or fail")
	}
	if o.said("confidence") {
		c, err := o.share("confidence")
		if err != nil {
			return a, err
		}
		a.confidence = &c
	}
	list, err := o.list("findings")
	if err != nil {
		return a, err
	}
	if len(list) > maxFindings {
		return a, fmt.Errorf("the answer has %d findings, more than %d", len(list), maxFindings)
	}
	for i, raw := range list {
		f, err := readFinding(raw, fmt.Sprintf("findings[%d]", i))
		if err != nil {
			return a, err
		}
		a.findings = append(a.findings, f)
	}
	if o.said("criteria") {
		a.criteria = o.fields["criteria"]
	}
	if o.said("summary") {
		a.summary = o.fields["summary"]
	}
	if o.said("need") {
		a.need, err = readNeed(o)
	}
	return a, err
}

const (
	maxSentences = 3
	maxSentence  = 300 // bytes
)

// readSummary are the sentences that an answer has of the change. One that cannot be
// used says nothing, and makes no answer unusable.
func readSummary(raw json.RawMessage) (out []string) {
	var list []string
	if len(raw) == 0 || json.Unmarshal(raw, &list) != nil {
		return nil
	}
	for _, s := range list {
		if s = text.Clip(text.Visible(strings.Join(strings.Fields(s), " ")), maxSentence); s != "" && len(out) < maxSentences {
			out = append(out, s)
		}
	}
	return out
}

func readFinding(raw []byte, path string) (f work.Finding, err error) {
	o, err := parseObject(raw, path)
	if err != nil {
		return f, err
	}
	if f.File, err = o.text("file"); err != nil {
		return f, err
	}
	if f.File == "" || len(f.File) > maxFindingName {
		return f, o.bad("file", "the name of a file")
	}
	if f.Line, err = o.whole("line", 0); err != nil {
		return f, err
	}
	if o.said("end_line") {
		if f.EndLine, err = o.whole("end_line", 0); err != nil {
			return f, err
		}
	}
	word, err := o.text("severity")
	if err != nil {
		return f, err
	}
	if f.Severity = work.Severity(word); !f.Severity.Known() {
		return f, o.bad("severity", "critical, major or minor")
	}
	if f.Issue, err = o.text("issue"); err != nil {
		return f, err
	}
	if strings.TrimSpace(f.Issue) == "" {
		return f, o.bad("issue", "what is wrong")
	}
	for _, t := range []struct {
		name string
		to   *string
	}{{"failure", &f.Failure}, {"suggestion", &f.Suggestion}, {"repro", &f.Repro}} {
		if *t.to, err = o.maybeText(t.name); err != nil {
			return f, err
		}
	}
	if o.said("replacement") {
		lines, err := o.text("replacement")
		if err != nil {
			return f, err
		}
		f.Replacement = &lines
	}
	for _, t := range []*string{&f.Issue, &f.Failure, &f.Suggestion, &f.Repro} {
		*t = text.Clip(text.Visible(strings.TrimSpace(*t)), maxFindingText)
	}
	return f, nil
}

func readNeed(o object) (need []span, err error) {
	list, err := o.list("need")
	if err != nil {
		return nil, err
	}
	if len(list) > maxNeeds {
		list = list[:maxNeeds]
	}
	for i, raw := range list {
		n, err := parseObject(raw, fmt.Sprintf("need[%d]", i))
		if err != nil {
			return nil, err
		}
		var s span
		if s.file, err = n.text("file"); err != nil {
			return nil, err
		}
		if s.from, err = n.whole("from", 0); err != nil {
			return nil, err
		}
		if s.to, err = n.whole("to", 0); err != nil {
			return nil, err
		}
		s.from = max(s.from, 1)
		if s.to < s.from {
			return nil, n.bad("to", "a line at or behind from")
		}
		s.to = min(s.to, s.from+maxNeedLines-1)
		need = append(need, s)
	}
	return need, nil
}

var errNoObject = errors.New("the message has no JSON object that begins a line")

// LastObject is the last JSON object of an agent's message that begins a line,
// in a fence or not.
func LastObject(message []byte) ([]byte, error) {
	const tries = 64 // each may read to the end of the message
	var found []byte
	for failed := 0; failed < tries; {
		i := bytes.IndexByte(message, '{')
		if i < 0 {
			break
		}
		line := message[bytes.LastIndexByte(message[:i], '\n')+1 : i]
		if message = message[i:]; len(bytes.TrimSpace(line)) > 0 {
			message = afterLine(message)
			continue
		}
		var raw json.RawMessage
		if json.NewDecoder(bytes.NewReader(message)).Decode(&raw) != nil {
			failed++
			message = afterLine(message)
			continue
		}
		found, message = raw, afterLine(message[len(raw):])
	}
	if found == nil {
		return nil, errNoObject
	}
	return found, nil
}

func afterLine(text []byte) []byte {
	if i := bytes.IndexByte(text, '\n'); i >= 0 {
		return text[i+1:]
	}
	return nil
}
