package project

import (
	"context"
	"crypto/rand"
	"fmt"
	"os/user"
	"slices"
	"strings"
	"time"

	"charm.land/log/v2"
	"forge/internal/agent"

	"forge/internal/config"
	"forge/internal/journal"
	"forge/internal/proc"
	"forge/internal/refusal"
)

// Env is what a checkout may touch of its process's surroundings. It has no
// streams: what is said to people is returned, or logged.
type Env struct {
	Log     *log.Logger
	Now     func() time.Time
	Environ []string
	Dir     string // working directory
	// Detect says which sandboxes work here; nil = it is tried each time.
	Detect func(context.Context) proc.Capabilities
	// Tools makes what agents of a checkout are given to ask by; nil = nothing. The
	// checkout's journal is open when they ask.
	Tools func(*Checkout) agent.Tools
	// Stores opens the journals that a server keeps; nil = this program cannot.
	Stores Stores
	// Travels is where the commits of runs are besides this machine; nil = nowhere.
	Travels Travels
	// Stalled asks who drives the runs of a checkout, when no single process does; nil =
	// nobody is asked.
	Stalled Stalled
}

// Travels has the commits of runs where all machines that work on them reach them. Of a
// checkout whose commits stay on this machine it does nothing.
type Travels interface {
	// Bring has here what other machines made of a run.
	Bring(ctx context.Context, p *Checkout, run string) error
	// Send has there what was made of it here.
	Send(ctx context.Context, p *Checkout, run string) error
}

// Stalled is why nobody takes what a run of a checkout needs done, in a sentence; "" where
// somebody does. It does not wait for long.
type Stalled func(ctx context.Context, p *Checkout, run string) string

// Stores opens the journal of a server: variable is where its url came from, for
// errors; tell is told, in a sentence, when the server is away and is back.
type Stores func(ctx context.Context, variable, url string, tell func(string)) (*journal.Store, error)

// Beyond is what the project at root asks for that takes another program than
// forge. It is refused where this is not that program.
func (e Env) Beyond(root string) (config.Beyond, error) {
	b := config.FindBeyond(e.Environ, root)
	if b.Wrong {
		return b, refusal.New("put the URL into a variable, and write its name", "%s is not the name of a variable", b.Key)
	}
	if b.Key != "" && e.Stores == nil {
		return b, refusal.New("put it beside forge or on the PATH: make forge-temporal builds it", "%s needs the program forge-temporal, which is not found here", b.Key)
	}
	return b, nil
}

// Sandboxes says which sandboxes work here.
func (e Env) Sandboxes(ctx context.Context) proc.Capabilities {
	if e.Detect != nil {
		return e.Detect(ctx)
	}
	return proc.Detect(ctx)
}

// Getenv is a variable of Environ, "" when it is not set.
func (e Env) Getenv(name string) string {
	for _, kv := range slices.Backward(e.Environ) {
		if v, ok := strings.CutPrefix(kv, name+"="); ok {
			return v
		}
	}
	return ""
}

// InActions says that GitHub or Gitea Actions run forge.
func (e Env) InActions() bool {
	return e.Getenv("GITHUB_ACTIONS") == "true" || e.Getenv("GITEA_ACTIONS") == "true"
}

// User is who answers: the name of the user account.
func (e Env) User() string {
	if name := e.Getenv("USER"); name != "" {
		return name
	}
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return "unknown"
}

// NewRunID is short enough to be typed: the day and four letters.
func (e Env) NewRunID() string {
	const letters = "abcdefghjkmnpqrstvwxyz23456789"
	var b [4]byte
	_, _ = rand.Read(b[:])
	for i := range b {
		b[i] = letters[int(b[i])%len(letters)]
	}
	return fmt.Sprintf("%s-%s", e.Now().Format("060102"), b)
}

// Ago is how long t is back, as a person reads it.
func (e Env) Ago(t time.Time) string {
	switch d := e.Now().Sub(t); {
	case d < 0:
		return "now"
	case d < 2*time.Minute:
		return fmt.Sprintf("%ds ago", int(d.Seconds()))
	case d < 2*time.Hour:
		return fmt.Sprintf("%dm ago", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh ago", int(d.Hours()))
	default:
		return fmt.Sprintf("%d days ago", int(d.Hours()/24))
	}
}
