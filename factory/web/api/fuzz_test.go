package api_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"forge/factory/web/api"
	"forge/internal/work"
)

// FuzzRequests: whatever is sent to whatever operation, the answer is JSON,
// escaped, and never the server's own failure.
func FuzzRequests(f *testing.F) {
	for n := range 60 {
		for _, body := range []string{"", "{}", "null", "[]", `{"title":"<script>alert(1)</script>","description":"\u0000"}`, `{"revision":1,"comment":"\ud800"}`, `{"column":"ready","place":"before","beside":1}`, `{"files":[{"path":"../x","status":"approved"}],"revision":1}`} {
			f.Add(n, "1", body)
		}
		f.Add(n, "%2e%2e%2f", "")
		f.Add(n, "1'--", "{")
		f.Add(n, "%00", "{}")
	}
	w := newWorld(f)
	w.v1("POST", "/projects/p/issues", `{"title":"<img src=x>"}`).is(200, "")
	ports := w.site.ports["p"]
	ports.addRun("1", true)
	ports.open(work.Checkpoint{ID: "1", Run: "1", Revision: 1, Status: work.CheckpointPending, OpenedAt: w.now})
	routes := w.api.Routes()
	f.Fuzz(func(t *testing.T, operation int, word, body string) {
		w.now = w.now.Add(time.Second) // nobody asks too often
		r := routes[max(0, operation)%len(routes)]
		if r.ID == "follow-events" || strings.ContainsAny(word, " \t\r\n#") {
			return
		}
		path := strings.NewReplacer("{project}", "p", "{issue}", word, "{run}", word, "{checkpoint}", word, "{phase}", word, "{iteration}", word, "{policy}", word, "{comment}", word).Replace(r.Path)
		req, err := http.NewRequest(r.Method, "http://"+host+api.Prefix+path, strings.NewReader(body))
		if err != nil {
			return // no client could send it
		}
		req.RemoteAddr = "192.0.2.1:1"
		req.Header.Set("Authorization", "Bearer "+w.tokens["admin"])
		req.Header.Set("Content-Type", "application/json")
		rec := httptest.NewRecorder()
		w.web.ServeHTTP(rec, req)
		got := rec.Body.String()
		if kind := rec.Header().Get("Content-Type"); rec.Code >= 500 || rec.Code != http.StatusNotFound && rec.Code/100 != 3 && (!json.Valid([]byte(got)) || !strings.Contains(kind, "json")) {
			t.Fatalf("%s %q with %q: %d %s %s", r.Method, path, body, rec.Code, kind, got)
		}
		if rec.Code/100 != 3 && strings.Contains(rec.Header().Get("Content-Type"), "json") && strings.ContainsAny(got, "<>") {
			t.Fatalf("%s %q with %q: unescaped: %s", r.Method, path, body, got)
		}
	})
}
