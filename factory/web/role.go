package web

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"forge/gates"
	"forge/internal/text"
)

// Role is what a person may do in a project; each may what those before it may.
type Role int

// The roles, rising.
const (
	RoleNone     Role = iota
	RoleViewer        // reads
	RoleReviewer      // answers checkpoints that are a reviewer's
	RoleOperator      // moves and edits issues, starts and ends work, answers and merges
	RoleAdmin         // changes policy, pauses, edits protected files
)

var roleNames = [...]string{"none", "viewer", "reviewer", "operator", "admin"}

func (r Role) String() string {
	if r < 0 || int(r) >= len(roleNames) {
		return "none"
	}
	return roleNames[r]
}

// Roles are the words that ParseRole knows.
func Roles() []string { return slices.Clone(roleNames[1:]) }

// ParseRole reads a role's word.
func ParseRole(word string) (Role, error) {
	if i := slices.Index(roleNames[:], word); i > 0 {
		return Role(i), nil
	}
	return RoleNone, fmt.Errorf("%q is no role (%s)", text.OneLine(word, 80), strings.Join(Roles(), ", "))
}

// Gate is the role as checkpoints know it: operators and admins stand for the
// owner.
func (r Role) Gate() string {
	if r >= RoleOperator {
		return gates.RoleOwner
	}
	if r == RoleReviewer {
		return gates.RoleReviewer
	}
	return "nobody"
}

// Person is who makes a request.
type Person struct {
	Name  string
	Roles map[string]Role // by project; "*" = all of them

	session string // hash of the session's cookie; "" = came with a token
}

// Role is the person's in a project; "" asks for the highest anywhere.
func (p Person) Role(project string) Role {
	if project == "" {
		return slices.Max(append(slices.Collect(maps.Values(p.Roles)), RoleNone))
	}
	return max(p.Roles["*"], p.Roles[project])
}

// May says whether the person has at least this role in a project.
func (p Person) May(project string, least Role) bool {
	return p.Name != "" && least > RoleNone && p.Role(project) >= least
}

type personKey struct{}

// PersonOf is who makes the request of this context; without one, nobody, who
// may nothing.
func PersonOf(ctx context.Context) Person {
	p, _ := ctx.Value(personKey{}).(Person)
	return p
}

func withPerson(ctx context.Context, p Person) context.Context {
	return context.WithValue(ctx, personKey{}, p)
}
