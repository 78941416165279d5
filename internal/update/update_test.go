package update

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestCheck(t *testing.T) {
	body, status := "", 200
	var asked []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.String()+r.Header.Get("Authorization")+r.Header.Get("Cookie"))
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}))
	t.Cleanup(server.Close)
	for _, c := range []struct {
		body, here string
		status     int
		want       string // of the text, or of the error
	}{
		{`{"version":"0.2.0","url":"https://x.invalid/f"}`, "0.1.0", 200, "forge 0.1.0 is here; 0.2.0 is given out: https://x.invalid/f\nNothing was installed."},
		{`{"version":"0.10.0"}`, "0.9.0", 200, "0.10.0 is given out\n"},
		{`{"version":"0.1.0"}`, "0.1.0", 200, "nothing newer"},
		{`{"version":"0.1.0"}`, "0.1.0-dev", 200, "0.1.0 is given out"},
		{`{"version":"0.1.0"}`, "0.2.0-dev", 200, "nothing newer"},
		{`{"version":"\u001b[31m"}`, "0.1.0", 200, "which is no version"},
		{`<html>`, "0.1.0", 200, "is no list of versions"},
		{`{}`, "0.1.0", 404, "404 Not Found"},
	} {
		body, status = c.body, c.status
		news, err := Check(t.Context(), server.Client(), server.URL+"/forge", c.here)
		got := news.Text()
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, c.want) {
			t.Errorf("%s, %d: %q, want %q", c.body, c.status, got, c.want)
		}
	}
	if asked[0] != "/forge/latest.json" {
		t.Errorf("asked %q", asked[0])
	}
	server.Close()
	if _, err := Check(t.Context(), server.Client(), server.URL, "0.1.0"); err == nil || !strings.Contains(err.Error(), "try again later") {
		t.Errorf("nobody answers: %v", err)
	}
	for _, address := range []string{"", "x", "http://elsewhere.invalid", "ftp://x", "https://"} {
		if _, err := Check(t.Context(), http.DefaultClient, address, "0.1.0"); err == nil || !strings.Contains(err.Error(), "is no https address") {
			t.Errorf("%q: %v", address, err)
		}
	}
}
