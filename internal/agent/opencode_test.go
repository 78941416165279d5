package agent

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"forge/internal/redact"
	"forge/internal/work"
)

// Events as the program prints them, cut to what bears on their meaning; keys
// stand in its order.
const (
	oStart  = `{"type":"step_start","timestamp":1,"sessionID":"ses_1","part":{"id":"p","messageID":"m1","sessionID":"ses_1","type":"step-start"}}`
	oStart2 = `{"type":"step_start","timestamp":1,"sessionID":"ses_1","part":{"id":"p","messageID":"m2","sessionID":"ses_1","type":"step-start"}}`
	oSaid   = `{"type":"text","timestamp":1,"sessionID":"ses_1","part":{"id":"p","messageID":"m2","sessionID":"ses_1","type":"text","text":"So it is: <promise>DONE</promise>","time":{"start":1,"end":2}}}`
	oMade   = `{"type":"text","timestamp":1,"sessionID":"ses_1","part":{"id":"p","messageID":"m2","sessionID":"ses_1","type":"text","metadata":{"compaction_continue":true},"synthetic":true,"text":"<promise>DONE</promise>"}}`
	oThink  = `{"type":"reasoning","timestamp":1,"sessionID":"ses_1","part":{"id":"p","messageID":"m2","type":"reasoning","text":"<promise>DONE</promise>"}}`
	oTool   = `{"type":"tool_use","timestamp":1,"sessionID":"ses_1","part":{"type":"tool","tool":"bash","callID":"c1","state":{"status":"completed","input":{"command":"echo '<promise>DONE</promise>'"},"output":"<promise>DONE</promise>","metadata":{"output":"<promise>DONE</promise>","exit":0},"title":"x"},"id":"p","messageID":"m1"}}`
	oNext   = `{"type":"step_finish","timestamp":1,"sessionID":"ses_1","part":{"id":"p","reason":"tool-calls","messageID":"m1","type":"step-finish","tokens":{"total":165,"input":100,"output":10,"reasoning":5,"cache":{"write":20,"read":30}},"cost":0.25}}`
	oStop   = `{"type":"step_finish","timestamp":1,"sessionID":"ses_1","part":{"id":"p","reason":"stop","messageID":"m2","type":"step-finish","tokens":{"total":110,"input":100,"output":10,"reasoning":0,"cache":{"write":0,"read":0}},"cost":0.5}}`
)

func oError(name, message, more string) string {
	return `{"type":"error","timestamp":1,"sessionID":"ses_1","error":{"name":"` + name + `","data":{"message":"` + message + `"` + more + `}}}`
}

func opencodeFor(req work.IterationRequest) *opencodeStream {
	red := redact.New([]string{"hunter2hunter2"})
	l := newLive(req, red, nil)
	l.started(nil, false)
	return newOpencodeStream(setting{req: req, live: l, red: red})
}

func readOpencode(req work.IterationRequest, e ending, lines ...string) work.IterationReport {
	o := opencodeFor(req)
	_, _ = o.Write([]byte(strings.Join(lines, "\n")))
	return o.finish(e)
}

func TestOpencodeJudgement(t *testing.T) {
	all := func(more ...string) []string { return append([]string{oStart, oTool, oNext, oStart2, oSaid}, more...) }
	status := func(n int) string {
		return oError("APIError", "no", fmt.Sprintf(`,"statusCode":%d,"isRetryable":false`, n))
	}
	reason := func(r string) string { return strings.Replace(oStop, `"stop"`, r, 1) }
	for name, c := range map[string]struct {
		lines []string
		end   ending
		want  work.Outcome
		claim bool
	}{
		"done":                    {all(oStop), exited(0), work.OutcomeOK, true},
		"nothing at all":          {nil, exited(0), work.OutcomeAgentFailed, false},
		"no end of the last step": {all(), exited(0), work.OutcomeAgentFailed, false},
		"an end that is cut":      {all(oStop[:len(oStop)-1]), exited(0), work.OutcomeAgentFailed, false},
		"a step after the end":    {all(oStop, oStart), exited(0), work.OutcomeAgentFailed, false},
		"tools are last":          {[]string{oStart, oTool, oNext}, exited(0), work.OutcomeAgentFailed, false},
		"cut off by its length":   {all(reason(`"length"`)), exited(0), work.OutcomeAgentFailed, false},
		"unknown reason":          {all(reason(`"splendid"`)), exited(0), work.OutcomeAgentFailed, false},
		"no reason":               {all(reason(`null`)), exited(0), work.OutcomeAgentFailed, false},
		"exit 1":                  {all(oStop), exited(1), work.OutcomeAgentFailed, false},
		"a signal":                {all(oStop), ending{signal: "terminated", byItself: true}, work.OutcomeAgentFailed, false},
		"ended by Forge":          {all(oStop), ending{signal: "killed"}, work.OutcomeOK, true},
		"an error, exit 0":        {all(oStop, oError("APIError", "no", "")), exited(0), work.OutcomeAgentFailed, false},
		"an error it got over":    {append([]string{oError("UnknownError", "no", "")}, all(oStop)...), exited(1), work.OutcomeAgentFailed, false},
		"an error of no kind":     {all(`{"type":"error","error":null}`, oStop), exited(0), work.OutcomeAgentFailed, false},
		"an error in words":       {all(`{"type":"error","error":"no"}`), exited(1), work.OutcomeAgentFailed, false},
		"429":                     {all(status(429)), exited(1), work.OutcomeRateLimited, false},
		"500":                     {all(status(500)), exited(1), work.OutcomeRateLimited, false},
		"529":                     {all(status(529)), exited(1), work.OutcomeRateLimited, false},
		"401":                     {all(status(401)), exited(1), work.OutcomeRateLimited, false},
		"402":                     {all(status(402)), exited(1), work.OutcomeRateLimited, false},
		"400":                     {all(oError("APIError", "connection refused", `,"statusCode":400,"isRetryable":false`)), exited(1), work.OutcomeAgentFailed, false},
		"404":                     {all(status(404)), exited(1), work.OutcomeAgentFailed, false},
		"a status of no kind":     {all(oError("APIError", "no", `,"statusCode":4e2,"isRetryable":true`)), exited(1), work.OutcomeAgentFailed, false},
		"no login":                {all(oError("ProviderAuthError", "no key", "")), exited(1), work.OutcomeRateLimited, false},
		"no answer":               {all(oError("APIError", "Cannot connect to API: The socket connection was closed unexpectedly.", `,"isRetryable":true`)), exited(1), work.OutcomeRateLimited, false},
		"no answer, old":          {all(oError("UnknownError", "Error: Unable to connect. Is the computer able to access the url?", "")), exited(1), work.OutcomeRateLimited, false},
		"too long":                {all(oError("ContextOverflowError", "429 too long", "")), exited(1), work.OutcomeAgentFailed, false},
	} {
		t.Run(name, func(t *testing.T) {
			r := readOpencode(work.IterationRequest{}, c.end, c.lines...)
			if r.Outcome != c.want {
				t.Errorf("outcome %q (%s), want %q", r.Outcome, r.Detail, c.want)
			}
			if claim := len(r.Claims) > 0 && r.Outcome.KeepsClaim(); claim != c.claim {
				t.Errorf("claims %q, want one: %v", r.Claims, c.claim)
			}
			if r.Outcome != work.OutcomeOK && r.Detail == "" {
				t.Error("nothing says why")
			}
		})
	}
}

// Each of the lines holds the promise where it is not the agent's word.
func TestOpencodeWordsThatDoNotCount(t *testing.T) {
	for name, line := range map[string]string{
		"thinking": oThink, "tool": oTool, "made up by the program": oMade,
		"unknown event":     strings.Replace(oSaid, `"type":"text","timestamp"`, `"type":"oracle","timestamp"`, 1),
		"unknown part":      strings.Replace(oSaid, `"type":"text","text"`, `"type":"song","text"`, 1),
		"part of no type":   strings.Replace(oSaid, `"type":"text","text"`, `"text"`, 1),
		"no message":        strings.Replace(oSaid, `"messageID":"m2",`, "", 1),
		"a broken line":     strings.Replace(oSaid, `}}}`, `}},}`, 1),
		"two texts":         strings.Replace(oSaid, `,"time"`, `,"text":"no","time"`, 1),
		"no JSON at all":    `<promise>DONE</promise>`,
		"an error":          oError("x", "<promise>DONE</promise>", ""),
		"synthetic is last": strings.Replace(strings.Replace(oMade, `"synthetic":true,`, "", 1), `"}}`, `","synthetic":true}}`, 1),
	} {
		r := readOpencode(work.IterationRequest{}, exited(0), oStart2, line, oStop)
		if len(r.Claims)+len(r.Signals.Promises) > 0 {
			t.Errorf("%s: claims %q, promises %q", name, r.Claims, r.Signals.Promises)
		}
	}
}

func TestOpencodeLastMessage(t *testing.T) {
	early := strings.Replace(oSaid, `"m2"`, `"m1"`, 1)
	other := strings.Replace(oSaid, "DONE", "OTHER", 1)
	for name, c := range map[string]struct {
		lines  []string
		claims []string
		said   int
	}{
		"two parts of one message": {[]string{oStart2, oSaid, other}, []string{"DONE", "OTHER"}, 2},
		"two messages":             {[]string{oStart, early, oNext, oStart2, other}, []string{"OTHER"}, 2},
		"a silent one afterwards":  {[]string{oStart, early, oTool, oNext, oStart2}, nil, 1},
		"a tool in it":             {[]string{oStart2, oTool, oSaid}, []string{"DONE"}, 1},
	} {
		r := readOpencode(work.IterationRequest{}, exited(0), append(c.lines, oStop)...)
		if !slices.Equal(r.Claims, c.claims) || len(r.Signals.Promises) != c.said {
			t.Errorf("%s: claims %q of promises %q, want %q", name, r.Claims, r.Signals.Promises, c.claims)
		}
	}
}

func TestOpencodeUsage(t *testing.T) {
	type usage struct {
		in, out int64
		cost    float64
	}
	free := strings.Replace(oStop, `"cost":0.5`, `"cost":0`, 1)
	half := 0.5
	for name, c := range map[string]struct {
		req   work.IterationRequest
		lines []string
		want  usage
	}{
		"the sum of the steps":     {work.IterationRequest{}, []string{oNext, oNext, oStop}, usage{400, 40, 1}},
		"a session that went on":   {work.IterationRequest{Session: "ses_1", Before: work.Usage{CostUSD: &half}}, []string{oStop}, usage{100, 10, 0.5}},
		"no step":                  {work.IterationRequest{}, []string{oStart}, usage{-1, -1, -1}},
		"a price that is unknown":  {work.IterationRequest{}, []string{oNext, free}, usage{250, 25, -1}},
		"nothing used, nothing":    {work.IterationRequest{}, []string{strings.NewReplacer(`:0.5`, `:0`, `:100`, `:0`, `:10,`, `:0,`).Replace(oStop)}, usage{0, 0, 0}},
		"one step tells no tokens": {work.IterationRequest{}, []string{oNext, strings.Replace(oStop, `"input":100,`, "", 1)}, usage{-1, -1, 0.75}},
		"nonsense":                 {work.IterationRequest{}, []string{strings.NewReplacer(`"input":100`, `"input":-1`, `:0.5`, `:-1`).Replace(oStop)}, usage{-1, -1, -1}},
		"no number":                {work.IterationRequest{}, []string{strings.NewReplacer(`"read":0`, `"read":1e400`, `:0.5`, `:1e400`).Replace(oStop)}, usage{-1, -1, -1}},
		"a subagent's is not told": {work.IterationRequest{}, []string{strings.Replace(oTool, `"bash"`, `"task"`, 1), oNext, oStop}, usage{-1, -1, -1}},
	} {
		r := readOpencode(c.req, exited(0), c.lines...)
		got := usage{orMinus(r.Usage.InputTokens), orMinus(r.Usage.OutputTokens), orMinus(r.Usage.CostUSD)}
		if got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

func TestOpencodeDenied(t *testing.T) {
	failed := func(tool, why string) string {
		return `{"type":"tool_use","sessionID":"ses_1","part":{"type":"tool","tool":"` + tool + `","state":{"status":"error","input":{"command":"curl -H hunter2hunter2\nx"},"error":"` + why + `"}}}`
	}
	full := work.IterationRequest{Agent: work.AgentSettings{SkipPermission: true}}
	for name, c := range map[string]struct {
		req  work.IterationRequest
		line string
		want int
	}{
		"by a rule":          {full, failed("bash", "The user has specified a rule which prevents you from using this specific tool call. Here are …"), 1},
		"by the user":        {full, failed("bash", "The user rejected permission to use this specific tool call."), 1},
		"not offered":        {work.IterationRequest{}, failed("bash", "Model tried to call unavailable tool 'invalid'. Available tools: …"), 1},
		"no such tool":       {full, failed("sing", "Model tried to call unavailable tool 'invalid'. Available tools: …"), 0},
		"a tool that failed": {work.IterationRequest{}, failed("bash", "it does not work"), 0},
		"a tool that worked": {work.IterationRequest{}, oTool, 0},
	} {
		r := readOpencode(c.req, exited(0), oStart2, c.line, oStop)
		if len(r.Denied) != c.want || c.want > 0 && (!strings.HasPrefix(r.Denied[0], "bash: curl -H ") || strings.Contains(r.Denied[0], "hunter2")) {
			t.Errorf("%s: denied %q", name, r.Denied)
		}
	}
}

func TestOpencodeSessionLost(t *testing.T) {
	code := 1
	gone := ending{code: &code, byItself: true, stderr: "\x1b[91m\x1b[1mError: \x1b[0mSession not found"}
	for name, c := range map[string]struct {
		session string
		end     ending
		lines   []string
		lost    bool
	}{
		"unknown":             {"ses_9", gone, nil, true},
		"new":                 {"", gone, nil, false},
		"too long":            {"ses_1", exited(1), []string{oStart, oError("ContextOverflowError", "too long", "")}, true},
		"an error of its own": {"ses_1", exited(1), []string{oStart, oError("APIError", "Session not found", `,"statusCode":400`)}, false},
		"all is well":         {"ses_1", exited(0), []string{oStart2, oStop}, false},
	} {
		r := readOpencode(work.IterationRequest{Session: c.session}, c.end, c.lines...)
		if r.SessionLost != c.lost || (r.Session == "") != (c.lost || c.session == "") {
			t.Errorf("%s: lost %v, session %q", name, r.SessionLost, r.Session)
		}
	}
}

// One of another folder is done without a word.
func TestOpencodeSessionOfAnotherFolder(t *testing.T) {
	o := opencodeFor(work.IterationRequest{Session: "ses_1"})
	_, _ = (&logLines{to: o.log}).Write([]byte(logStream + logExit))
	if r := o.finish(ending{signal: "killed"}); r.Outcome != work.OutcomeAgentFailed || !r.SessionLost || r.Session != "" {
		t.Errorf("outcome %q (%s), lost %v", r.Outcome, r.Detail, r.SessionLost)
	}
}

func TestOpencodeResetTimes(t *testing.T) {
	now := time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)
	for headers, want := range map[string]time.Duration{
		`"retry-after":"3000"`:                          3000 * time.Second,
		`"retry-after-ms":"5000","retry-after":"1"`:     5 * time.Second,
		`"retry-after":"Tue, 01 Jan 2030 13:00:00 GMT"`: time.Hour,
		`"retry-after":"Tue, 01 Jan 2030 11:00:00 GMT"`: 0,
		`"retry-after":"-1"`:                            0,
		`"retry-after":"1e300"`:                         0,
		`"retry-after":"NaN"`:                           0,
		`"retry-after":"soon"`:                          0,
		`"date":"x"`:                                    0,
	} {
		o := opencodeFor(work.IterationRequest{})
		o.now = func() time.Time { return now }
		_, _ = o.Write([]byte(oError("APIError", "no", `,"statusCode":429,"responseHeaders":{`+headers+`}`)))
		r := o.finish(exited(1))
		if want == 0 && r.ResetAt != nil || want > 0 && (r.ResetAt == nil || r.ResetAt.Sub(now) != want) || r.Outcome != work.OutcomeRateLimited {
			t.Errorf("%s: outcome %q, reset at %v, want in %v", headers, r.Outcome, r.ResetAt, want)
		}
	}
}

// A conversation that is too long again and again is not shortened for ever.
func TestOpencodeTooLong(t *testing.T) {
	tooLong := oError("ContextOverflowError", "too long", "")
	for name, c := range map[string]struct {
		lines []string
		ends  bool
	}{
		"three times":         {[]string{tooLong, oStop, tooLong, oStop, tooLong}, true},
		"with work between":   {[]string{tooLong, oStop, tooLong, oStop, oNext, oNext, tooLong, oStop, oNext, tooLong}, false},
		"twice":               {[]string{tooLong, oStop, tooLong}, false},
		"other errors do not": {[]string{oError("x", "too long", ""), oError("x", "too long", ""), oError("x", "too long", "")}, false},
	} {
		o := opencodeFor(work.IterationRequest{})
		_, _ = o.Write([]byte(strings.Join(c.lines, "\n") + "\n"))
		if s := o.live.stopped; (s != nil) != c.ends || s != nil && s.outcome != work.OutcomeAgentFailed {
			t.Errorf("%s: stopped with %+v", name, s)
		}
	}
}

const (
	logStream  = `timestamp=x level=INFO run=r message=stream providerID=fake modelID=m session.id=ses_1 small=false agent=build mode=primary` + "\n"
	logRefused = `timestamp=x level=ERROR run=r message="stream error" providerID=fake session.id=ses_1 small=false error.error="AI_APICallError: no \"more\""` + "\n"
	logTitle   = `timestamp=x level=ERROR run=r message="stream error" providerID=fake session.id=ses_1 small=true error.error="no"` + "\n"
	logAllowed = `timestamp=x level=INFO run=r message=evaluated permission=bash pattern="sleep 4" action.permission=* action.action=allow action.pattern=*` + "\n"
	logDenied  = `timestamp=x level=INFO run=r message=evaluated permission=bash pattern="echo action.action=allow" action.permission=* action.action=deny action.pattern=*` + "\n"
	logCreated = `timestamp=x level=INFO run=r message=created id=ses_1 slug=s path="" parentID=undefined title=Forge` + "\n"
	logExit    = `timestamp=x level=INFO run=r message="exiting loop" session.id=ses_1` + "\n"
)

// What there is no event for stands in the log.
func TestOpencodeLog(t *testing.T) {
	type state struct{ waiting, tools bool }
	for name, c := range map[string]struct {
		log    string
		events string
		want   state
	}{
		"asked":                    {logStream, "", state{}},
		"refused":                  {logStream + logRefused, "", state{waiting: true}},
		"refused twice":            {logStream + logRefused + logStream + logRefused, "", state{waiting: true}},
		"asked again":              {logRefused + logStream, "", state{}},
		"answered":                 {logRefused, oStart + "\n", state{}},
		"a title is refused":       {logTitle, "", state{}},
		"a tool has begun":         {logAllowed + logAllowed, "", state{tools: true}},
		"a tool has ended":         {logAllowed, oTool + "\n", state{tools: true}},
		"its step has ended":       {logAllowed, oTool + "\n" + oNext + "\n", state{}},
		"the model is asked again": {logAllowed + logStream, "", state{}},
		"a tool is refused":        {logDenied, "", state{}},
		"another program's words":  {strings.ReplaceAll(logRefused+logAllowed, "level=", "l="), "", state{}},
		"it leaves":                {logAllowed + logCreated + logExit, "", state{}},
	} {
		o := opencodeFor(work.IterationRequest{})
		w := &logLines{to: o.log}
		for _, part := range strings.SplitAfter(c.log, "=") {
			_, _ = w.Write([]byte(part))
		}
		_, _ = o.Write([]byte(c.events))
		if got := (state{o.waiting, o.tools}); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
		o.finish(exited(0))
		if o.waiting || o.tools {
			t.Errorf("%s: something is left", name)
		}
	}
}

func TestOpencodeLogNamesTheSession(t *testing.T) {
	for log, want := range map[string]string{
		logCreated: "ses_1",
		strings.Replace(logCreated, "parentID=undefined", "parentID=ses_0", 1): "",
		strings.Replace(logCreated, "id=ses_1", "id=other", 1):                 "",
	} {
		o := opencodeFor(work.IterationRequest{})
		_, _ = (&logLines{to: o.log}).Write([]byte(log))
		if r := o.finish(ending{signal: "killed"}); r.Session != want {
			t.Errorf("%s: session %q, want %q", log, r.Session, want)
		}
	}
}

// The program's own server says no more than that there is a log.
func TestOpencodeErrorFromTheLog(t *testing.T) {
	for _, logFirst := range []bool{true, false} {
		o := opencodeFor(work.IterationRequest{})
		log := func() {
			_, _ = (&logLines{to: o.log}).Write([]byte(`timestamp=x level=ERROR run=r message=failed ref=e error="ProviderModelNotFoundError: Model not found: fake/none." cause="long"` + "\n"))
		}
		if logFirst {
			log()
		}
		_, _ = o.Write([]byte(oError("UnknownError", "Unexpected server error. Check server logs for details.", "")))
		if !logFirst {
			log()
		}
		if r := o.finish(exited(1)); r.Outcome != work.OutcomeAgentFailed || !strings.Contains(r.Detail, "fake/none") {
			t.Errorf("log first %v: outcome %q (%s)", logFirst, r.Outcome, r.Detail)
		}
	}
}
