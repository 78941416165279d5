package web

import (
	"context"
	"errors"
	"io/fs"
	"net/http"
	"strings"

	"forge/factory"
	"forge/gates"
	"forge/internal/text"
	"forge/internal/work"
)

// Complaint is what is wrong with a request, for the person who made it.
type Complaint struct {
	Status int
	What   string // a sentence
	Fix    string // another one; "" = nothing can be done
}

func (c *Complaint) Error() string {
	if c.Fix == "" {
		return c.What
	}
	return c.What + " " + c.Fix
}

// errSignIn: nobody knows who asks.
var errSignIn = errors.New("sign in first")

// complaint is what a person is told about err. What is the server's own
// trouble stays with the server.
func complaint(err error) *Complaint {
	var own *Complaint
	var rule *factory.Refusal
	var problems *factory.ProblemsError
	var stale *factory.StaleError
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &own):
		return own
	case errors.Is(err, errSignIn):
		return &Complaint{http.StatusUnauthorized, "You are not signed in.", "Open the link that forge factory url prints, or sign in with your token."}
	case errors.Is(err, errTooMany):
		return &Complaint{http.StatusTooManyRequests, "Too many requests at once.", "Wait a moment."}
	case errors.As(err, &rule):
		return &Complaint{http.StatusConflict, sentence(rule.What), sentence(rule.Fix)}
	case errors.As(err, &problems):
		return &Complaint{http.StatusUnprocessableEntity, sentence(problems.Error()), "Nothing was stored."}
	case errors.As(err, &stale):
		return &Complaint{http.StatusConflict, sentence(stale.Error()), "Load it again; what you wrote is still in the form."}
	case errors.As(err, &large):
		return &Complaint{http.StatusRequestEntityTooLarge, "That is too much at once.", "Send less."}
	case errors.Is(err, work.ErrNoIssue), errors.Is(err, work.ErrUnknown), errors.Is(err, ErrNoProject), errors.Is(err, fs.ErrNotExist):
		return &Complaint{http.StatusNotFound, "There is nothing here.", "It may have moved, or you may not see it."}
	case errors.Is(err, work.ErrAlreadyResolved), errors.Is(err, work.ErrConflict), errors.Is(err, work.ErrExpired),
		errors.Is(err, work.ErrStale):
		return &Complaint{http.StatusConflict, sentence(err.Error()), "Load the page again to see what holds now."}
	case errors.Is(err, work.ErrEmptyFeedback), errors.Is(err, gates.ErrBadAnswer):
		return &Complaint{http.StatusUnprocessableEntity, sentence(err.Error()), ""}
	}
	return nil
}

// fail answers a request that came to nothing.
func (s *Server) fail(v *visit, err error) {
	if errors.Is(err, context.Canceled) && v.Context().Err() != nil {
		return // nobody reads the answer
	}
	c := complaint(err)
	if c == nil {
		s.Log.Error("a request failed", "path", text.OneLine(v.URL.Path, 80), "err", err)
		c = &Complaint{http.StatusInternalServerError, "The server could not do that.", "Its log says why."}
	}
	if c.Status == http.StatusUnauthorized {
		v.signInFirst()
		return
	}
	v.W.Header().Set("Cache-Control", "no-store")
	if wantsJSON(v.Request) {
		_ = v.json(c.Status, map[string]string{"what": c.What, "fix": c.Fix}) // two texts
		return
	}
	if v.htmx() {
		// Not in the place of what was to change, but where notices stand.
		v.W.Header().Set("HX-Retarget", "#notice")
		v.W.Header().Set("HX-Reswap", "innerHTML")
		_ = s.write(v, c.Status, "error", "notice", view{Data: c}) // it answered
		return
	}
	_ = s.write(v, c.Status, "error", "layout", v.view(strings.TrimSuffix(c.What, "."), c)) // it answered
}

func (s *Server) recovered(w http.ResponseWriter, r *http.Request) {
	switch p := recover(); p {
	case nil:
	case http.ErrAbortHandler:
		panic(p)
	default:
		s.Log.Error("a handler panicked", "path", text.OneLine(r.URL.Path, 80), "panic", p)
		http.Error(w, "The server could not do that. Its log says why.", http.StatusInternalServerError)
	}
}
