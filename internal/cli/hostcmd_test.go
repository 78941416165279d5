package cli

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"

	"forge/internal/host/hosttest"
)

// forge host against a GitHub of Forge's own: what is missing is said, with the
// way out, and no token is ever shown.
func TestHostCommands(t *testing.T) {
	g := hosttest.StartGitHub(t)
	w := newWorld(t, "")
	section := fmt.Sprintf("[host]\nkind = \"github\"\nurl = %q\nrepo = \"octo/repo\"\n", g.URL)
	said := func(want int, token string, args ...string) string {
		t.Helper()
		env := w.env
		if token != "" {
			w.env = append(w.env[:len(w.env):len(w.env)], "GITHUB_TOKEN="+token)
		}
		end := w.forge(args...)
		w.env = env
		code, out, stderr := end.code, end.stdout, end.stderr
		if code != want {
			t.Fatalf("forge %s: exit code %d, want %d\n%s\n%s", strings.Join(args, " "), code, want, out, stderr)
		}
		if token != "" && strings.Contains(out+stderr, token) {
			t.Errorf("forge %s shows the token:\n%s\n%s", strings.Join(args, " "), out, stderr)
		}
		return out + stderr
	}
	holds := func(text string, want ...string) {
		t.Helper()
		for _, s := range want {
			if !strings.Contains(text, s) {
				t.Errorf("%q is not in\n%s", s, text)
			}
		}
	}
	holds(said(0, "", "host", "status"), "No code host")
	holds(said(0, "", "host", "doctor"), "no code host")
	holds(said(0, "", "host", "setup"), "kind = \"gitea\"", "write:repository")
	holds(said(2, "", "host", "nonsense"), "unknown command")

	w.configure(section)
	holds(said(2, "", "host", "status"), "GITHUB_TOKEN, which [host] takes the token from, is not set", "make a token on the host with repo")
	holds(said(2, "wrong-token-of-tests", "host", "status"), "does not accept the token", "make a new token")
	// The host has no branch yet.
	holds(said(2, hosttest.GitHubToken, "host", "doctor"), "no branch main", "1 problem")
	w.git("push", "--quiet", strings.Replace(g.Clone, "http://", "http://x-access-token:"+hosttest.GitHubToken+"@", 1), "main")
	holds(said(0, hosttest.GitHubToken, "host", "status"), "octo/repo on "+g.URL, "as       forge, by GITHUB_TOKEN", "issues   land in main, not protected", "may      push", "every 30s")
	holds(said(0, hosttest.GitHubToken, "host", "doctor"), "every scope that is needed", "with the right to push", "no webhook")
	holds(said(2, hosttest.GitHubNarrow, "host", "doctor"), "lacks repo")
	if text := said(0, hosttest.GitHubNarrow, "host", "status"); !strings.Contains(text, "lacks    repo") || strings.Contains(text, "may ") {
		t.Errorf("a token that lacks a scope is said to be enough:\n%s", text)
	}
	// Runs have branches of their own there: what is checked out need not be there.
	w.git("checkout", "--quiet", "-b", "only-here")
	holds(said(0, hosttest.GitHubToken, "host", "doctor"), "results of issues land in main")
	w.git("checkout", "--quiet", "--detach")
	holds(said(0, hosttest.GitHubToken, "host", "doctor"), "results of issues land in main")
	w.git("checkout", "--quiet", "main")
	w.configure(section + "[factory]\ntarget = \"release\"\n")
	holds(said(2, hosttest.GitHubToken, "host", "doctor"), "no branch release")
	// The tokens of the others are looked at too.
	for token, want := range map[string]string{
		"wrong-token-of-tests": "does not accept the token in MERGE_TOKEN", hosttest.GitHubNarrow: "the token in MERGE_TOKEN lacks repo",
	} {
		w.configure(section + "merger_token_env = \"MERGE_TOKEN\"\n")
		w.env = append(w.env, "MERGE_TOKEN="+token)
		holds(said(2, hosttest.GitHubToken, "host", "doctor"), want, "1 problem")
		w.env = w.env[:len(w.env)-1]
	}
	w.configure(section)
	holds(said(2, hosttest.GitHubToken, "host", "setup", "--webhook"), "host.webhook_url is not set")

	w.configure(section + "webhook_url = \"http://127.0.0.1:1/hook\"\n")
	holds(said(2, hosttest.GitHubToken, "host", "setup", "--webhook"), "WEBHOOK_SECRET, which webhooks are signed with, is not set")
	w.env = append(w.env, "WEBHOOK_SECRET=a-long-random-text")
	one := said(0, hosttest.GitHubToken, "host", "setup", "--webhook")
	holds(one, "octo/repo tells http://127.0.0.1:1/hook")
	if two := said(0, hosttest.GitHubToken, "host", "setup", "--webhook"); two != one {
		t.Errorf("a second webhook was made: %q, %q", one, two)
	}
	// Nobody takes it at that address.
	holds(said(2, hosttest.GitHubToken, "host", "doctor", "--webhook", "--listen", "127.0.0.1:0", "--wait", "50ms"), "no webhook arrived within 50ms", "ALLOWED_HOST_LIST")
	port := freePort(t)
	w.configure(section + "webhook_url = \"http://" + port + "/hook\"\n")
	holds(said(0, hosttest.GitHubToken, "host", "doctor", "--webhook", "--listen", port), "a webhook arrived, signed")
	// What is signed by somebody else, or comes to nobody.
	forged := hosttest.Listen(t, func(rw http.ResponseWriter, req *http.Request) {
		req.Header.Set("X-Hub-Signature-256", "sha256="+strings.Repeat("0", 64))
		httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: port}).ServeHTTP(rw, req)
	})
	w.configure(section + "webhook_url = \"" + forged + "/hook\"\n")
	holds(said(2, hosttest.GitHubToken, "host", "doctor", "--webhook", "--listen", port), "a webhook arrived: the webhook is not signed", "sets the secret anew")
	holds(said(2, hosttest.GitHubToken, "host", "doctor", "--webhook", "--listen", "nonsense"), "nothing can wait for the webhook", "--listen")
	g.People().Archive(t)
	holds(said(2, hosttest.GitHubToken, "host", "doctor"), "is archived")

	w.configure("[host]\nkind = \"gitea\"\nurl = \"https://elsewhere.invalid\"\nrepo = \"o/r\"\n")
	holds(said(2, "", "host", "status"), "host sends GITEA_TOKEN to elsewhere.invalid", "forge trust elsewhere.invalid")
}

// freePort is an address on loopback where nobody listens.
func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return l.Addr().String()
}
