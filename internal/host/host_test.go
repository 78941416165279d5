package host

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"forge/internal/text"
	"forge/internal/work"
)

func TestStand(t *testing.T) {
	at := time.Unix(1000, 0)
	r := func(by string, v work.PullVerdict, commit string, more ...func(*work.PullReview)) work.PullReview {
		at = at.Add(time.Second)
		out := work.PullReview{ID: at.String(), By: by, Verdict: v, Commit: commit, At: at, MayDecide: true}
		for _, m := range more {
			m(&out)
		}
		return out
	}
	own := func(r *work.PullReview) { r.Own = true }
	reader := func(r *work.PullReview) { r.MayDecide = false }
	dismissed := func(r *work.PullReview) { r.Dismissed = true }
	const yes, no, hm, odd = work.PullApproved, work.PullChangesRequested, work.PullCommented, work.PullVerdictUnknown
	for _, tt := range []struct {
		name    string
		reviews []work.PullReview
		want    work.PullVerdict
		count   int
		ignored int
	}{
		{"none", nil, hm, 0, 0},
		{"approved", []work.PullReview{r("a", yes, "h")}, yes, 1, 0},
		{"a comment after it", []work.PullReview{r("a", yes, "h"), r("a", hm, "h")}, yes, 1, 0},
		{"the latest counts", []work.PullReview{r("a", no, "h"), r("A", yes, "h")}, yes, 1, 1},
		{"in any order", []work.PullReview{r("a", yes, "h"), r("a", no, "h")}, no, 1, 1},
		{"two disagree", []work.PullReview{r("a", no, "h"), r("b", yes, "h")}, no, 2, 0},
		{"an old approval", []work.PullReview{r("a", yes, "old")}, hm, 0, 1},
		{"an approval of nothing", []work.PullReview{r("a", yes, "")}, hm, 0, 1},
		{"an approval that the host calls old", []work.PullReview{r("a", yes, "h", func(r *work.PullReview) { r.Stale = true })}, hm, 0, 1},
		{"an old request", []work.PullReview{r("a", no, "old")}, no, 1, 0},
		{"dismissed", []work.PullReview{r("a", no, "h", dismissed), r("b", yes, "h")}, yes, 1, 1},
		{"dismissed, and not what came before", []work.PullReview{r("a", yes, "h"), r("a", no, "h", dismissed)}, hm, 0, 2},
		{"Forge's own", []work.PullReview{r("forge", yes, "h", own)}, hm, 0, 1},
		{"a reader", []work.PullReview{r("e", yes, "h", reader), r("e", no, "h", reader)}, hm, 0, 2},
		{"nobody", []work.PullReview{r("", yes, "h")}, hm, 0, 1},
		{"an unknown word holds", []work.PullReview{r("a", odd, "h"), r("b", yes, "h")}, no, 2, 0},
	} {
		slices.Reverse(tt.reviews)
		got := Stand(tt.reviews, "h")
		if got.Verdict != tt.want || len(got.Counting) != tt.count || len(got.Ignored) != tt.ignored {
			t.Errorf("%s: %+v, want %s of %d, %d ignored", tt.name, got, tt.want, tt.count, tt.ignored)
		}
		for _, i := range got.Ignored {
			if i.Why == "" {
				t.Errorf("%s: nothing says why", tt.name)
			}
		}
	}
}

func TestMarks(t *testing.T) {
	p := work.PullProposal{Marker: "run --> 1/5.1", Body: text.Own("text\n\n")}
	body := Body(p)
	if !Marked(body, p.Marker) || MarkerIn(body) != MarkerOf(p.Marker) || Marked(body, "run --> 1/5") || strings.Contains(body, "run -->") {
		t.Errorf("body %q", body)
	}
	if MarkerIn(body+body) != "" {
		t.Error("a body with two marks has one")
	}
	said := Said("key", "17", text.Own("text"))
	if !SaidAlready(said, "key") || SaidAlready(said, "other") || Answers(said) != "17" || Answers(Said("key", "", text.Own("x"))) != "" || Answers("x") != "" {
		t.Errorf("said %q", said)
	}
}

func TestClip(t *testing.T) {
	if s, cut := Clip("short"); s != "short" || cut {
		t.Errorf("%q %v", s, cut)
	}
	s, cut := Clip(strings.Repeat("a", work.MaxCommentBytes-1) + "ü!")
	if !cut || len(s) != work.MaxCommentBytes-1 || !utf8.ValidString(s) {
		t.Errorf("%d bytes, %v", len(s), cut)
	}
	if s, _ := Clip(strings.Repeat("\xff", work.MaxCommentBytes+1)); len(s) > work.MaxCommentBytes {
		t.Errorf("%d bytes", len(s))
	}
}

func sign(body, secret string) http.Header {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(body))
	return http.Header{"X-Hub-Signature-256": {"sha256=" + hex.EncodeToString(mac.Sum(nil))}}
}

func TestReadHook(t *testing.T) {
	const secret = "of both"
	for _, tt := range []struct {
		body string
		want Hint
	}{
		{`{"number":3,"pull_request":{"number":3},"repository":{"full_name":"o/r"}}`, Hint{Repo: "o/r", Number: 3}},
		{`{"number":3,"pull_request":{"id":9}}`, Hint{Number: 3}},
		{`{"issue":{"number":4,"pull_request":{"merged":false}}}`, Hint{Number: 4}},
		{`{"issue":{"number":4,"pull_request":null}}`, Hint{}},
		{`{"issue":{"number":4}}`, Hint{}},
		{`{"ref":"refs/heads/forge/x"}`, Hint{Branch: "forge/x"}},
		{`{"ref":"forge/x","ref_type":"branch"}`, Hint{Branch: "forge/x"}},
		{`{"ref":"refs/tags/v1"}`, Hint{}},
		{`{"zen":"Design for failure."}`, Hint{Ping: true}},
		{`{"object_kind":"merge_request","project":{"path_with_namespace":"g/s/r"},"object_attributes":{"iid":5}}`, Hint{Repo: "g/s/r", Number: 5}},
		{`{"object_kind":"note","project":{"path_with_namespace":"g/r"},"object_attributes":{"id":9},"merge_request":{"iid":6}}`, Hint{Repo: "g/r", Number: 6}},
		{`{"object_kind":"note","object_attributes":{"id":9},"issue":{"iid":6}}`, Hint{}},
		{`{"object_kind":"pipeline","merge_request":null}`, Hint{}},
		{`{"object_kind":"push","ref":"refs/heads/forge/y","project":{"path_with_namespace":"g/r"}}`, Hint{Repo: "g/r", Branch: "forge/y"}},
	} {
		h := sign(tt.body, secret)
		h.Set("X-Gitea-Event", "e")
		h.Set("X-Gitea-Delivery", "d")
		sum := sha256.Sum256([]byte(tt.body))
		tt.want.Event, tt.want.Known = "e", []string{"body " + hex.EncodeToString(sum[:]), "id d"}
		got, err := ReadHook(secret, h, []byte(tt.body))
		if err != nil || !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s: %+v %v, want %+v", tt.body, got, err, tt.want)
		}
		if _, err := ReadHook("another", h, []byte(tt.body)); !errors.Is(err, ErrHookUnsigned) {
			t.Errorf("another secret: %v", err)
		}
		if _, err := ReadHook(secret, h, []byte(tt.body+" ")); !errors.Is(err, ErrHookUnsigned) {
			t.Errorf("another body: %v", err)
		}
	}
	older := http.Header{"X-Gitea-Signature": {strings.TrimPrefix(sign("{}", secret).Get("X-Hub-Signature-256"), "sha256=")}}
	if _, err := ReadHook(secret, older, []byte("{}")); err != nil {
		t.Errorf("the header of an older Gitea: %v", err)
	}
	if _, err := ReadHook("another", older, []byte("{}")); !errors.Is(err, ErrHookUnsigned) {
		t.Errorf("the header of an older Gitea, another secret: %v", err)
	}
	sum := strings.TrimPrefix(sign("{}", secret).Get("X-Hub-Signature-256"), "sha256=")
	for name, h := range map[string]http.Header{
		"Jira": {"X-Hub-Signature": {"sha256=" + sum}}, "Linear": {"Linear-Signature": {sum}, "Linear-Delivery": {"d"}}, "GitLab": {"X-Gitlab-Token": {secret}},
	} {
		if _, err := ReadHook(secret, h, []byte("{}")); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for _, other := range []string{"another", ""} {
			if _, err := ReadHook(other, h, []byte("{}")); !errors.Is(err, ErrHookUnsigned) {
				t.Errorf("%s, with the secret %q: %v", name, other, err)
			}
		}
	}
	if hint, err := ReadHook(secret, http.Header{"X-Gitlab-Token": {"of  both"}, "X-Hub-Signature-256": {"sha256=" + sum}}, []byte("{}")); err == nil {
		t.Errorf("a wrong token beside a signature: %+v", hint)
	}
	if _, err := ReadHook("", sign("{}", ""), []byte("{}")); !errors.Is(err, ErrHookUnsigned) {
		t.Errorf("without a secret: %v", err)
	}
	if _, err := ReadHook(secret, http.Header{}, []byte("{}")); !errors.Is(err, ErrHookUnsigned) {
		t.Errorf("without a signature: %v", err)
	}
	if _, err := ReadHook(secret, sign("[", secret), []byte("[")); !errors.Is(err, ErrHookUnread) {
		t.Errorf("no JSON: %v", err)
	}
	one, _ := ReadHook(secret, sign("{}", secret), []byte("{}"))
	two, _ := ReadHook(secret, sign("{} ", secret), []byte("{} "))
	if len(one.Known) != 1 || len(two.Known) != 1 || one.Known[0] == two.Known[0] {
		t.Errorf("known without an id by %q and %q", one.Known, two.Known)
	}
}

// Whatever is signed, reading ends, and only a hint comes out; what is not
// signed is never read.
func FuzzReadHook(f *testing.F) {
	f.Add(`{"number":3,"pull_request":{"number":3}}`, "d", "")
	f.Add(`{"issue":{"number":-4,"pull_request":{}}}`, "", "sha256=00")
	f.Add(`{"ref":"refs/heads/"}`, strings.Repeat("x", 200), "zz")
	f.Fuzz(func(t *testing.T, body, delivery, signature string) {
		h := sign(body, "s")
		h.Set("X-Gitea-Delivery", delivery)
		hint, err := ReadHook("s", h, []byte(body))
		if err == nil && (len(hint.Known) == 0 || hint.Number < 0 || len(strings.Join(hint.Known, "")) > 200) || errors.Is(err, ErrHookUnsigned) {
			t.Errorf("%+v %v", hint, err)
		}
		good := h.Get("X-Hub-Signature-256")
		h.Set("X-Hub-Signature-256", signature)
		if _, err := ReadHook("s", h, []byte(body)); !errors.Is(err, ErrHookUnsigned) && !strings.EqualFold(signature, good) {
			t.Errorf("signature %q was taken: %v", signature, err)
		}
	})
}

// What may be asked twice is asked again, what may not is not, and no answer
// shows the token.
func TestClient(t *testing.T) {
	const token = "token-of-the-tests"
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		asked++
		switch req.URL.Path {
		case "/flaky":
			if asked < 3 {
				http.Error(w, "bad gateway", http.StatusBadGateway)
				return
			}
		case "/down":
			http.Error(w, "down", http.StatusBadGateway)
			return
		case "/away":
			http.Redirect(w, req, "http://elsewhere.invalid/", http.StatusFound)
			return
		case "/limited":
			w.Header().Set("Retry-After", "7")
			w.WriteHeader(http.StatusTooManyRequests)
			return
		case "/echo":
			w.WriteHeader(http.StatusForbidden)
			_, _ = io.WriteString(w, `{"message":"no right for `+req.Header.Get("Authorization")+`"}`)
			return
		}
		_, _ = io.WriteString(w, "{}")
	}))
	defer server.Close()
	c := NewClient(strings.TrimPrefix(server.URL, "http://"), nil, token)
	c.wait = func(context.Context, time.Duration) error { return nil }
	ask := func(method, path string) (Answer, *work.HostTrouble, int) {
		asked = 0
		a, err := c.Ask(t.Context(), method, server.URL+path, http.Header{"Authorization": {"token " + token}}, nil)
		return a, c.Trouble("do", a.Status, a.Header, a.Message(), err), asked
	}
	if a, _, n := ask("GET", "/flaky"); a.Status != 200 || n != 3 {
		t.Errorf("flaky: %d after %d", a.Status, n)
	}
	if _, tr, n := ask("GET", "/down"); tr.Kind != work.HostUnreachable || !tr.Passes() || n != 3 {
		t.Errorf("down: %v after %d", tr, n)
	}
	if _, tr, n := ask("POST", "/down"); tr.Kind != work.HostUnreachable || n != 1 {
		t.Errorf("down, by POST: %v after %d", tr, n)
	}
	if _, tr, _ := ask("GET", "/away"); tr.Kind != work.HostWrong {
		t.Errorf("elsewhere: %q %v", tr.Kind, tr)
	}
	if _, tr, _ := ask("GET", "/limited"); tr.Kind != work.HostRateLimited || tr.After != 7*time.Second {
		t.Errorf("limited: %+v", tr)
	}
	if _, tr, _ := ask("GET", "/echo"); tr.Kind != work.HostForbidden || strings.Contains(tr.Error(), token) {
		t.Errorf("echo: %v", tr)
	}
	for _, text := range []string{token, base64.StdEncoding.EncodeToString([]byte("x-access-token:" + token)), base64.StdEncoding.EncodeToString([]byte(token + ":x-oauth-basic"))} {
		tr := c.Trouble("do", http.StatusBadRequest, nil, "what is "+text+"?", nil)
		if strings.Contains(tr.Error(), text) || !strings.Contains(tr.Error(), "what is") {
			t.Errorf("%q is shown: %v", text, tr)
		}
		if tr = c.Trouble("do", 0, nil, "", errors.New("connect by "+text)); strings.Contains(tr.Error(), text) {
			t.Errorf("%q is shown: %v", text, tr)
		}
	}
	if tr := c.Trouble("do", http.StatusForbidden, http.Header{"X-Ratelimit-Remaining": {"0"}}, "no", nil); tr.Kind != work.HostRateLimited || !tr.Passes() {
		t.Errorf("no right, as the limit is used up: %+v", tr)
	}
	server.Close()
	if _, tr, _ := ask("GET", "/"); tr.Kind != work.HostUnreachable {
		t.Errorf("nobody there: %v", tr)
	}
}
