package host

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"forge/internal/redact"
	"forge/internal/text"
	"forge/internal/work"
)

const (
	// maxAnswerBytes bounds one answer of a host.
	maxAnswerBytes = 64 << 20
	maxTries       = 3
	firstWait      = 200 * time.Millisecond
	silence        = 30 * time.Second
	tokenFix       = "make a new token on the host and put it into the variable that host.token_env names"
)

// Client speaks HTTP with one host for one token: what may be asked twice is asked
// again after a failure that passes. It may be used by several goroutines.
//
// There is no library of a host's own above it: a template that looks methods up
// by name keeps all methods of all their types, which were 5 MB of the program.
type Client struct {
	next  http.RoundTripper
	words *redact.Redactor
	host  string
	wait  func(context.Context, time.Duration) error
}

// NewClient speaks with the host (host:port) alone; next nil is Go's own
// transport. Secrets are taken out of everything it says.
func NewClient(host string, next http.RoundTripper, secrets ...string) *Client {
	if next == nil {
		t := http.DefaultTransport.(*http.Transport).Clone()
		t.ResponseHeaderTimeout = silence
		next = t
	}
	all := secrets
	for _, s := range secrets {
		for _, pair := range []string{s + ":x-oauth-basic", "x-access-token:" + s} {
			all = append(all[:len(all):len(all)], base64.StdEncoding.EncodeToString([]byte(pair)))
		}
	}
	return &Client{next: next, words: redact.New(all), host: host, wait: sleep}
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-t.C:
		return nil
	}
}

// HTTP is an http.Client over c, which follows no redirect to another host.
func (c *Client) HTTP() *http.Client {
	return &http.Client{Transport: c, CheckRedirect: func(req *http.Request, via []*http.Request) error {
		if req.URL.Host != c.host || len(via) > 3 || req.Method != via[0].Method {
			return errElsewhere
		}
		return nil
	}}
}

var errElsewhere = errors.New("the host sends Forge to another address")

// clean is one line without secrets and what nobody sees.
func (c *Client) clean(s string) string {
	return text.ClipLine(c.words.String(s), 500)
}

// RoundTrip is one request; those that change nothing are sent again after a
// failure that passes.
func (c *Client) RoundTrip(req *http.Request) (*http.Response, error) {
	for try := 1; ; try++ {
		res, err := c.next.RoundTrip(req)
		safe := req.Method == http.MethodGet || req.Method == http.MethodHead
		if try == maxTries || !safe || req.Context().Err() != nil || err == nil && res.StatusCode < 500 {
			return c.bound(res), err
		}
		if res != nil {
			_, _ = io.Copy(io.Discard, io.LimitReader(res.Body, 1<<20)) // so that the connection can be used again
			_ = res.Body.Close()
		}
		if werr := c.wait(req.Context(), firstWait<<(try-1)); werr != nil {
			return nil, werr
		}
	}
}

func (c *Client) bound(res *http.Response) *http.Response {
	if res != nil && res.Body != nil {
		res.Body = &bounded{ReadCloser: res.Body, left: maxAnswerBytes}
	}
	return res
}

var errTooLarge = fmt.Errorf("the answer is over %d MB", maxAnswerBytes>>20)

type bounded struct {
	io.ReadCloser
	left int64
}

func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return 0, errTooLarge
	}
	return n, err
}

// Answer is what a host said to one request.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
}

// Message is what an answer says in words.
func (a Answer) Message() string {
	var said struct {
		Message string `json:"message"`
		Errors  []any  `json:"errors"`
	}
	if json.Unmarshal(a.Body, &said) != nil || said.Message == "" {
		return strings.TrimSpace(text.Cut(string(a.Body), 300))
	}
	for _, e := range said.Errors {
		switch e := e.(type) {
		case string:
			said.Message += "; " + e
		case map[string]any:
			for i, name := range []string{"message", "field", "code"} {
				if m, ok := e[name].(string); ok && m != "" {
					said.Message += []string{"; ", " ", " "}[i] + m
				}
			}
		}
	}
	return said.Message
}

// File is a body that is no JSON: one file, as a form sends it.
type File struct {
	Field, Name string
	Data        []byte
}

// form is f as a form, with the type that it is announced with.
func (f File) form() (data []byte, kind string, err error) {
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	part, err := w.CreateFormFile(f.Field, f.Name)
	if err == nil {
		_, err = part.Write(f.Data)
	}
	err = errors.Join(err, w.Close()) // which writes the end
	return b.Bytes(), w.FormDataContentType(), err
}

// encoded is a body as it is sent: a File as a form, anything else as JSON.
func encoded(body any) (data []byte, kind string, err error) {
	if f, ok := body.(File); ok {
		return f.form()
	}
	data, err = json.Marshal(body)
	return data, "application/json", err
}

// Ask sends one request with a body (JSON, or a File; nil = none) and reads the
// answer, whatever its status.
func (c *Client) Ask(ctx context.Context, method, address string, header http.Header, body any) (Answer, error) {
	return ask(ctx, c.HTTP(), method, address, header, body)
}

// AskWhere is a GET as of Ask that goes nowhere else: an address that the host
// sends to is the answer's Location, and gets no token.
func (c *Client) AskWhere(ctx context.Context, address string, header http.Header) (Answer, error) {
	stays := &http.Client{Transport: c, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return ask(ctx, stays, http.MethodGet, address, header, nil)
}

func ask(ctx context.Context, client *http.Client, method, address string, header http.Header, body any) (Answer, error) {
	var in io.Reader
	kind := ""
	if body != nil {
		data, is, err := encoded(body)
		if err != nil {
			return Answer{}, err
		}
		in, kind = bytes.NewReader(data), is
	}
	req, err := http.NewRequestWithContext(ctx, method, address, in)
	if err != nil {
		return Answer{}, err
	}
	for k, v := range header {
		req.Header[k] = v
	}
	if body != nil {
		req.Header.Set("Content-Type", kind)
	}
	res, err := client.Do(req)
	if err != nil {
		return Answer{}, err
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	return Answer{Status: res.StatusCode, Header: res.Header, Body: data}, err
}

// Trouble says what a request without a usable answer means, as far as hosts
// agree. status 0 is no answer; err may be nil.
func (c *Client) Trouble(do string, status int, header http.Header, message string, err error) *work.HostTrouble {
	t := &work.HostTrouble{Do: do, Status: status}
	said := c.clean(message)
	what := func(format string, args ...any) {
		if t.What = fmt.Sprintf(format, args...); said != "" {
			t.What += ": " + said
		}
	}
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		t.Kind, t.Err, t.What = work.HostUnreachable, err, "the time was up"
		if errors.Is(err, context.Canceled) {
			t.What = "it was cancelled"
		}
	case errors.Is(err, errElsewhere), status >= 300 && status < 400:
		t.Kind, t.What, t.Fix = work.HostWrong, errElsewhere.Error(), "write the address that answers itself as host.url"
	case errors.Is(err, errTooLarge):
		t.Kind, t.What, t.Fix = work.HostTooLarge, errTooLarge.Error(), "answer at the terminal (forge approve) instead"
	case status == 0 || err != nil && status < 300:
		t.Kind, t.Fix = work.HostUnreachable, "check host.url and that the host runs"
		var dns *net.DNSError
		if errors.As(err, &dns) && dns.IsNotFound {
			t.Kind = work.HostWrong
		}
		if t.What = "no answer"; err != nil {
			t.What += ": " + c.clean(rootCause(err))
		}
	case status == http.StatusUnauthorized:
		t.Kind, t.Fix = work.HostUnauthorized, tokenFix
		what("the host does not accept the token")
	case status == http.StatusTooManyRequests, status == http.StatusForbidden && limited(header, message):
		t.Kind, t.After = work.HostRateLimited, retryAfter(header)
		what("the host asks to wait")
	case status == http.StatusLocked, strings.Contains(strings.ToLower(message), "archived"):
		t.Kind, t.Fix = work.HostArchived, "unarchive the repository"
		what("the repository is archived")
	case status == http.StatusForbidden:
		t.Kind, t.Fix = work.HostForbidden, "give the account of the token the right to do this"
		what("the account of the token may not do this")
	case status == http.StatusNotFound:
		t.Kind = work.HostNoRepository
		t.Fix = "check host.url and host.repo, that the token may see the repository, and that pull requests are switched on there"
		what("it does not exist, or is hidden from the token")
	case status >= 500:
		t.Kind = work.HostUnreachable
		what("the host answers %d", status)
	default:
		t.Kind = work.HostRefused
		what("the host refuses (%d)", status)
	}
	return t
}

func rootCause(err error) string {
	for {
		next := errors.Unwrap(err)
		if next == nil {
			return err.Error()
		}
		err = next
	}
}

func limited(h http.Header, message string) bool {
	return h.Get("Retry-After") != "" || h.Get("X-RateLimit-Remaining") == "0" || strings.Contains(strings.ToLower(message), "rate limit")
}

// retryAfter is how long a host asks to wait; a minute where it does not say.
func retryAfter(h http.Header) time.Duration {
	if secs, err := strconv.Atoi(h.Get("Retry-After")); err == nil && secs >= 0 {
		return min(time.Duration(secs)*time.Second, time.Hour)
	}
	if at, err := strconv.ParseInt(h.Get("X-RateLimit-Reset"), 10, 64); err == nil && at > 0 {
		if now, err := http.ParseTime(h.Get("Date")); err == nil {
			return min(max(time.Unix(at, 0).Sub(now), time.Second), time.Hour)
		}
	}
	return time.Minute
}
