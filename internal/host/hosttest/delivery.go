package hosttest

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// Delivery is a webhook of GitHub.
type Delivery struct {
	Secret, ID, Body string // without a secret it is not signed
}

// Request is one that brings it to address.
func (d Delivery) Request(t testing.TB, method, address string) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(d.Body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-GitHub-Event", "pull_request_review")
	r.Header.Set("X-GitHub-Delivery", d.ID)
	if d.Secret != "" {
		mac := hmac.New(sha256.New, []byte(d.Secret))
		mac.Write([]byte(d.Body))
		r.Header.Set("X-Hub-Signature-256", "sha256="+hex.EncodeToString(mac.Sum(nil)))
	}
	return r
}

// HookBody is what GitHub sends of a review, as far as it is read.
func HookBody(repo string, number int64, what string) string {
	return fmt.Sprintf(`{"action":%q,"pull_request":{"number":%d},"repository":{"full_name":%q}}`, what, number, repo)
}
