package hooks

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"strings"
)

const maxBody = 1 << 20

// Inbox takes events; taking one twice is no error and does nothing.
type Inbox interface {
	Take(ctx context.Context, id string, event json.RawMessage) error
}

// Receiver checks and takes events.
type Receiver struct {
	Secret []byte
	Inbox  Inbox
}

// ServeHTTP answers POST /hooks/payment.
func (h *Receiver) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		http.Error(w, "too large, or cut", http.StatusBadRequest)
		return
	}
	if !h.signed(r.Header.Get("X-Signature"), body) {
		http.Error(w, "bad signature", http.StatusForbidden)
		return
	}
	var event struct {
		ID string `json:"id"`
	}
	if err := json.Unmarshal(body, &event); err != nil || event.ID == "" {
		http.Error(w, "no event", http.StatusBadRequest)
		return
	}
	if err := h.Inbox.Take(r.Context(), event.ID, body); err != nil {
		http.Error(w, "try again", http.StatusServiceUnavailable)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// signed checks the signature before anything of the body is read.
func (h *Receiver) signed(header string, body []byte) bool {
	given, err := hex.DecodeString(strings.TrimPrefix(header, "sha256="))
	if err != nil || len(h.Secret) == 0 {
		return false
	}
	mac := hmac.New(sha256.New, h.Secret)
	mac.Write(body)
	return hmac.Equal(mac.Sum(nil), given)
}
