// Package token is what lets a program in that speaks for nobody in person: it
// may look at one project or one run, for a while, and do no more than its tier
// says.
package token

import (
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"forge/internal/text"
)

// Tier is what a token lets its holder do; each may what those before it may.
type Tier int

// The tiers, rising.
const (
	None    Tier = iota
	Read         // looks at what there is
	Comment      // says something to a working agent
	Act          // adds, edits and moves issues, starts jobs
	Answer       // answers what waits for a person
)

var tierNames = [...]string{"none", "read", "comment", "act", "answer"}

func (t Tier) String() string {
	if t < 0 || int(t) >= len(tierNames) {
		return tierNames[None]
	}
	return tierNames[t]
}

// Tiers are the words that ParseTier knows.
func Tiers() []string { return slices.Clone(tierNames[1:]) }

// ParseTier reads a tier's word.
func ParseTier(word string) (Tier, error) {
	if i := slices.Index(tierNames[:], word); i > 0 {
		return Tier(i), nil
	}
	return None, fmt.Errorf("%q is no tier (%s)", text.OneLine(word, 80), strings.Join(Tiers(), ", "))
}

// MarshalText writes the tier's word.
func (t Tier) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// UnmarshalText reads a tier's word. One that nobody knows lets nobody do
// anything.
func (t *Tier) UnmarshalText(word []byte) error {
	*t, _ = ParseTier(string(word))
	return nil
}

// Grant is what somebody may see and do.
type Grant struct {
	ID   string `json:"id"`
	Name string `json:"name"` // of the program, as records say it
	By   string `json:"by"`   // who made it
	// Project is the root of the one project that it is for.
	Project string `json:"project"`
	// Run is the one run or job that it is for; "" = all of the project.
	Run string `json:"run,omitempty"`
	// Phase is the one phase of Run that it is for, with the plan; "" = all. It is
	// what the agent of a phase gets.
	Phase   string    `json:"phase,omitempty"`
	Tier    Tier      `json:"tier"`
	Created time.Time `json:"created"`
	Expires time.Time `json:"expires,omitzero"` // zero = with the process that it was made for
}

const (
	// Usual is how long a token lives where nobody says so, Longest how long one
	// may.
	Usual   = 8 * time.Hour
	Longest = 7 * 24 * time.Hour
)

var programName = text.Lazy(`^[\pL\pN][\pL\pN._ @+-]{0,59}$`)

// Check says what is wrong with a grant that somebody wants, all of it.
func (g Grant) Check() error {
	var wrong []error
	if !programName().MatchString(g.Name) {
		wrong = append(wrong, fmt.Errorf("%q is no name of a program: letters, digits and . _ @ + - and spaces between, at most 60", text.OneLine(g.Name, 80)))
	}
	if g.Project == "" {
		wrong = append(wrong, errors.New("a token needs a project"))
	}
	if g.Tier <= None || g.Tier > Answer {
		wrong = append(wrong, fmt.Errorf("a token needs a tier (%s)", strings.Join(Tiers(), ", ")))
	}
	if g.Phase != "" && g.Run == "" {
		wrong = append(wrong, errors.New("a phase is one of a run"))
	}
	// Whoever works on a phase is judged by people: it never speaks for them.
	if g.Phase != "" && g.Tier > Read {
		wrong = append(wrong, fmt.Errorf("a token for the agent of a phase lets it read, not %s", g.Tier))
	}
	return errors.Join(wrong...)
}

// From is the grant as one that begins now, with an id of its own.
func (g Grant) From(now time.Time, lives time.Duration) Grant {
	now = now.UTC()
	g.ID, g.Created, g.Expires = strings.ToLower(rand.Text()[:10]), now, now.Add(lives)
	return g
}

// May says whether the grant lets its holder do what takes a tier, at a time.
func (g Grant) May(least Tier, now time.Time) bool {
	return least > None && g.Tier >= least && (g.Expires.IsZero() || now.Before(g.Expires)) && g.Check() == nil
}

// Who is the holder as records name it.
func (g Grant) Who() string {
	if g.By == "" || g.By == g.Name {
		return g.Name
	}
	return g.Name + " for " + g.By
}
