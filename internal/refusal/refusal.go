// Package refusal is what a user can mend: what is wrong, and the way out of it.
package refusal

import "fmt"

// Error is the user's to mend.
type Error struct {
	What string // what is wrong
	Fix  string // the way out, "" when there is none to name
}

// Error is what is wrong with the way out in brackets.
func (e *Error) Error() string {
	if e.Fix == "" {
		return e.What
	}
	return e.What + " (" + e.Fix + ")"
}

// New is an *Error whose What is made of format and args.
func New(fix, format string, args ...any) error {
	return &Error{What: fmt.Sprintf(format, args...), Fix: fix}
}
