package tracker

import (
	"context"
	"errors"
	"io"
	"net/http"
)

// ErrUnsigned says that a webhook does not carry the signature of who knows the secret.
var ErrUnsigned = errors.New("the webhook is not signed with the secret that both sides know")

// Hooks takes webhooks of one tracker. They are hints: none says anything that
// is believed, each only lets the tracker be asked now instead of later.
type Hooks struct {
	Name  string // of the tracker, as Host.Name
	Store interface {
		NewHook(ctx context.Context, tracker string, known []string) (bool, error)
	}
	// Check says whether a webhook is signed, and by which words it is known
	// again, of which any is enough. ErrUnsigned, or another error when it cannot
	// be read.
	Check func(header http.Header, body []byte) (known []string, err error)
	Poke  func() // the tracker shall be asked now
	Most  int64  // bytes of a body
}

// ServeHTTP answers a delivery. Who cannot sign learns nothing.
func (h *Hooks) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	say := func(status int) { http.Error(w, http.StatusText(status), status) }
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, h.Most))
	if err != nil {
		say(http.StatusRequestEntityTooLarge)
		return
	}
	known, err := h.Check(r.Header, body)
	if errors.Is(err, ErrUnsigned) {
		say(http.StatusForbidden)
		return
	}
	if err != nil {
		say(http.StatusBadRequest)
		return
	}
	fresh, err := h.Store.NewHook(r.Context(), h.Name, known)
	if err != nil {
		say(http.StatusServiceUnavailable) // the host delivers it again
		return
	}
	if fresh {
		h.Poke()
	}
	w.WriteHeader(http.StatusNoContent)
}
