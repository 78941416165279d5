package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"forge/internal/proc"
	"forge/internal/text"
	"forge/internal/work"
)

// Login says whether an agent can reach its model, as far as that can be known
// without asking the model.
type Login string

const (
	LoginYes     Login = "yes"
	LoginNo      Login = "no"
	LoginUnknown Login = "unknown"
)

// Detection is what was found of an agent on this machine.
type Detection struct {
	Found    bool
	Path     string // of the program, or of the script
	Version  string // as it says itself; "" = it does not
	LoggedIn Login
	Why      string // one line: what is missing, and what to do about it
	// Untried is one line that says that Forge has not been tested with such
	// a version, "" when it has. It stands in nobody's way.
	Untried string
}

// Usable says that a run may start with the agent. A login that is not known
// does not stand in the way: the agent will say so itself.
func (d Detection) Usable() bool { return d.Found && d.LoggedIn != LoginNo }

// detectPatience bounds the question that a program is asked about itself.
// Some take seconds to start, and several times that on a busy machine.
const detectPatience = time.Minute

// Detect looks for an agent with the settings a, of which Kind is needed and
// Command, Checkout, File and Env count. environ is Forge's own environment.
func Detect(ctx context.Context, a work.AgentSettings, environ []string) Detection {
	k, ok := kinds()[a.Kind]
	if !ok {
		return Detection{LoggedIn: LoginUnknown, Why: fmt.Sprintf("unknown kind of agent %q; there are %s", a.Kind, strings.Join(Kinds(), ", "))}
	}
	ctx, cancel := context.WithTimeout(ctx, detectPatience)
	defer cancel()
	d := k.detect(ctx, a, newEnviron(environ, ""))
	d.Untried = untried(d, k.facts.Tried)
	return d
}

var versionNumber = text.Lazy(`^v?([0-9]+)\.([0-9]+)(?:[.+-]|$)`)

// series is the part of a version that changes when something breaks: the
// first number, and before 1.0 the second. "" when it is no such version.
func series(version string) string {
	m := versionNumber().FindStringSubmatch(version)
	switch {
	case m == nil:
		return ""
	case strings.Trim(m[1], "0") == "":
		return "0." + m[2]
	}
	return m[1]
}

// untried compares the version found with the one that is tested.
func untried(d Detection, tried string) string {
	switch {
	case !d.Found || tried == "":
		return ""
	case d.Version == "":
		return "it does not say its version; Forge is tested with " + tried
	case series(d.Version) != series(tried):
		return fmt.Sprintf("Forge is tested with version %s, and not with %s: should it behave oddly, install that", tried, d.Version)
	}
	return ""
}

func detectClaude(ctx context.Context, a work.AgentSettings, e environ) Detection {
	program := "claude"
	if len(a.Command) > 0 {
		program = a.Command[0]
	}
	path, ok := e.look(program, a.Checkout)
	if !ok {
		return Detection{LoggedIn: LoginUnknown, Why: program + " is not installed: see https://code.claude.com/docs"}
	}
	l := launch{path: path, names: claudeFacts().names(), set: []string{"DISABLE_AUTOUPDATER=1", "DISABLE_TELEMETRY=1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1"}}
	version, code, err := ask(ctx, e, a, l, "--version")
	d := Detection{Path: path, LoggedIn: LoginUnknown}
	if err != nil || code != 0 {
		d.Why = fmt.Sprintf("%s --version does not work", path)
		return d
	}
	d.Found, d.Version = true, firstWord(version)
	answer, _, err := ask(ctx, e, a, l, "auth", "status")
	var status struct {
		LoggedIn *bool `json:"loggedIn"`
	}
	switch {
	case err == nil && json.Unmarshal(answer, &status) == nil && status.LoggedIn != nil && *status.LoggedIn:
		d.LoggedIn = LoginYes
	case err == nil && status.LoggedIn != nil:
		d.LoggedIn, d.Why = LoginNo, "claude is not logged in: run claude and log in, or set ANTHROPIC_API_KEY"
	case claudeCredentials(e):
		d.LoggedIn = LoginYes
	default:
		d.Why = "this version of claude does not say whether it is logged in"
	}
	return d
}

// claudeCredentials looks for what older versions, which cannot be asked, log
// in with.
func claudeCredentials(e environ) bool {
	for _, name := range claudeFacts().SecretEnv {
		if e.get(name) != "" {
			return true
		}
	}
	_, err := os.Stat(filepath.Join(e.home, ".claude", ".credentials.json"))
	return e.home != "" && err == nil
}

// maxAnswerBytes bounds what a program says about itself.
const maxAnswerBytes = 64 << 10

// ask runs a program with the environment that an iteration would have; of l,
// path, names and set count.
func ask(ctx context.Context, e environ, a work.AgentSettings, l launch, args ...string) (answer []byte, code int, err error) {
	var out bytes.Buffer
	res, err := proc.Run(ctx, proc.Spec{
		Path: l.path, Args: args, Dir: os.TempDir(), Env: e.of(work.IterationRequest{Agent: a}, l),
		Stdout: &limited{to: &out, left: maxAnswerBytes},
		Limits: proc.Limits{Total: detectPatience, Drain: time.Second},
	})
	switch {
	case err != nil:
		return nil, 0, fmt.Errorf("ask %s: %w", l.path, err)
	case res.End != proc.EndExited || res.ExitCode == nil:
		return nil, 0, fmt.Errorf("ask %s: it ended by %s", l.path, res.End)
	}
	return out.Bytes(), *res.ExitCode, nil
}

// limited passes on the first bytes and drops the rest.
type limited struct {
	to   *bytes.Buffer
	left int
}

func (l *limited) Write(p []byte) (int, error) {
	n := min(len(p), l.left)
	l.left -= n
	l.to.Write(p[:n])
	return len(p), nil
}

func firstWord(s []byte) string {
	if f := bytes.Fields(s); len(f) > 0 {
		return text.Clip(text.PlainLine(string(f[0])), 40)
	}
	return ""
}
