package project

import (
	"context"
	"crypto/rand"
	"fmt"
	"os/user"
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/log"

	"forge/internal/proc"
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
