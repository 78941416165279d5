package slack

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"forge/internal/text"
)

const (
	// callWait is how long one call may take.
	callWait = 20 * time.Second
	// mostAnswer is how much of an answer is read, in bytes.
	mostAnswer = 4 << 20
	// mostAfter is the longest that Slack is believed when it asks for silence.
	mostAfter = 10 * time.Minute
)

// Client calls Slack's Web API. Its methods may be called by many goroutines.
type Client struct {
	URL                string // of the API
	AppToken, BotToken string
	HTTP               *http.Client // follows no redirect

	mu  sync.Mutex
	bot string // its id; "" = not asked yet
}

// NewClient is a client for the API at an address.
func NewClient(at, appToken, botToken string) *Client {
	// A redirect would carry a token to where nobody said it may go.
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Client{URL: at, AppToken: appToken, BotToken: botToken, HTTP: &http.Client{CheckRedirect: stay}}
}

// Trouble is a call that Slack did not carry out, or of which nobody knows whether
// it did.
type Trouble struct {
	Method string
	Code   string        // Slack's own word for it, "" = it said none
	Says   string        // what Slack said beside that
	After  time.Duration // when it may be tried again at the earliest; 0 = Slack did not say
	Needed string        // the scope that is missing
	Unsure bool          // it may have been carried out
	Err    error         // what failed on the way
}

func (t *Trouble) Error() string {
	switch {
	case t.Needed != "":
		return fmt.Sprintf("slack %s: the bot's token lacks the scope %s", t.Method, t.Needed)
	case t.Err != nil:
		return fmt.Sprintf("slack %s: %v", t.Method, t.Err)
	}
	if t.Says != "" {
		return fmt.Sprintf("slack %s: %s (%s)", t.Method, t.Code, t.Says)
	}
	return fmt.Sprintf("slack %s: %s", t.Method, t.Code)
}

func (t *Trouble) Unwrap() error { return t.Err }

// Passes says that it may be otherwise in a while without anybody doing anything.
func (t *Trouble) Passes() bool {
	return t.Err != nil || slices.Contains([]string{"ratelimited", "rate_limited", "internal_error", "fatal_error", "service_unavailable", "team_added_to_org", "request_timeout"}, t.Code)
}

// ofAll are the words by which Slack refuses whatever is asked in a channel, until
// somebody mends the app or the channel.
var ofAll = []string{
	"invalid_auth", "not_authed", "account_inactive", "token_revoked", "token_expired", "no_permission", "missing_scope", "not_allowed_token_type",
	"org_login_required", "ekm_access_denied", "team_access_not_granted", "enterprise_is_restricted", "access_denied",
	"not_a_bot", "channel_not_found", "not_in_channel", "is_archived", "restricted_action", "accesslimited", "two_factor_setup_required",
}

// OfAll says that every call in the channel would go the same way.
func (t *Trouble) OfAll() bool { return t.Passes() || slices.Contains(ofAll, t.Code) }

// reply is what all answers have in common.
type reply struct {
	OK       bool   `json:"ok"`
	Error    string `json:"error"`
	Needed   string `json:"needed"`
	Metadata struct {
		Messages []string `json:"messages"`
		Next     string   `json:"next_cursor"`
	} `json:"response_metadata"`
}

// call calls a method with the bot's token and reads its answer into out.
func (c *Client) call(ctx context.Context, method string, in map[string]any, out any) (http.Header, error) {
	return c.callWith(ctx, c.BotToken, method, in, out)
}

func (c *Client) callWith(ctx context.Context, token, method string, in map[string]any, out any) (http.Header, error) {
	ctx, cancel := context.WithTimeout(ctx, callWait)
	defer cancel()
	// A form: some methods take nothing else. Lists and the like are JSON in it.
	form := url.Values{}
	for key, value := range in {
		if words, ok := value.(string); ok {
			form.Set(key, words)
			continue
		}
		var b bytes.Buffer
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(value); err != nil {
			return nil, fmt.Errorf("write %s of %s: %w", key, method, err)
		}
		form.Set(key, strings.TrimSpace(b.String()))
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.URL+"/"+method, strings.NewReader(form.Encode()))
	if err != nil {
		return nil, &Trouble{Method: method, Err: errors.New("its address cannot be used")}
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Authorization", "Bearer "+token)
	res, err := c.HTTP.Do(req)
	if err != nil {
		return nil, &Trouble{Method: method, Unsure: true, Err: withoutAddress(err)}
	}
	defer res.Body.Close()
	return res.Header, read(method, res, out)
}

// read reads an answer.
func read(method string, res *http.Response, out any) error {
	body, err := io.ReadAll(io.LimitReader(res.Body, mostAnswer))
	switch {
	case res.StatusCode == http.StatusTooManyRequests:
		return &Trouble{Method: method, Code: "ratelimited", After: after(res.Header.Get("Retry-After"))}
	case res.StatusCode != http.StatusOK:
		return &Trouble{Method: method, Unsure: res.StatusCode >= 500, Err: fmt.Errorf("it answered %s", res.Status)}
	case err != nil:
		return &Trouble{Method: method, Unsure: true, Err: err}
	}
	var r reply
	if err := json.Unmarshal(body, &r); err != nil {
		return &Trouble{Method: method, Unsure: true, Err: errors.New("its answer is no JSON")}
	}
	if !r.OK {
		t := &Trouble{Method: method, Code: text.OneLine(r.Error, 100)}
		if t.Code == "" {
			t.Code = "it did not say why"
		}
		if t.Code == "missing_scope" {
			t.Needed = text.OneLine(r.Needed, 100)
		}
		if len(r.Metadata.Messages) > 0 {
			t.Says = text.OneLine(strings.Join(r.Metadata.Messages, "; "), 200)
		}
		return t
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(body, out); err != nil {
		return &Trouble{Method: method, Unsure: true, Err: errors.New("its answer is not what was asked for")}
	}
	return nil
}

// after is how long Slack wants to be left alone.
func after(seconds string) time.Duration {
	n, err := strconv.Atoi(strings.TrimSpace(seconds))
	if err != nil || n < 1 {
		n = 1
	}
	return min(time.Duration(n)*time.Second, mostAfter)
}

// withoutAddress is err without the address, which holds a secret where it is that
// of a socket.
func withoutAddress(err error) error {
	var at *url.Error
	if errors.As(err, &at) {
		return at.Err
	}
	return err
}

// Account is who the bot's token is of, and what it may do.
type Account struct {
	Team   string `json:"team"`
	User   string `json:"user"`
	UserID string `json:"user_id"`
	BotID  string `json:"bot_id"`
	Scopes []string
}

// Account asks who the bot's token is of.
func (c *Client) Account(ctx context.Context) (Account, error) {
	var a Account
	head, err := c.call(ctx, "auth.test", nil, &a)
	for scope := range strings.SplitSeq(head.Get("X-OAuth-Scopes"), ",") {
		if scope = strings.TrimSpace(scope); scope != "" {
			a.Scopes = append(a.Scopes, scope)
		}
	}
	a.Team, a.User = text.OneLine(a.Team, 100), text.OneLine(a.User, 100)
	return a, err
}

// botID is by which the bot's messages are known.
func (c *Client) botID(ctx context.Context) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.bot != "" {
		return c.bot, nil
	}
	a, err := c.Account(ctx)
	if err == nil && a.BotID == "" {
		err = &Trouble{Method: "auth.test", Code: "not_a_bot", Says: "the token is not a bot's"}
	}
	if err != nil {
		return "", err
	}
	c.bot = a.BotID
	return c.bot, nil
}

// MissingScopes are those that the bot's token lacks. Where Slack does not say
// what it has, none are missing until a call says so.
func (a Account) MissingScopes() (missing []string) {
	if len(a.Scopes) == 0 {
		return nil
	}
	if !slices.Contains(a.Scopes, "chat:write") {
		missing = append(missing, "chat:write")
	}
	if !slices.Contains(a.Scopes, "channels:history") && !slices.Contains(a.Scopes, "groups:history") {
		missing = append(missing, "channels:history (groups:history for a private channel)")
	}
	return missing
}

// socketAddress asks for the address of a new connection, which works once.
func (c *Client) socketAddress(ctx context.Context) (string, error) {
	var out struct {
		URL string `json:"url"`
	}
	_, err := c.callWith(ctx, c.AppToken, "apps.connections.open", nil, &out)
	return out.URL, err
}

// CheckSocket says whether a connection could be opened.
func (c *Client) CheckSocket(ctx context.Context) error {
	_, err := c.socketAddress(ctx)
	return err
}

// message is one that stands in a channel.
type message struct {
	TS     string `json:"ts"`
	BotID  string `json:"bot_id"`
	Blocks []struct {
		ID string `json:"block_id"`
	} `json:"blocks"`
}

// post posts a message and returns its ts.
func (c *Client) post(ctx context.Context, in map[string]any) (string, error) {
	var out message
	_, err := c.call(ctx, "chat.postMessage", in, &out)
	if err == nil && out.TS == "" {
		err = &Trouble{Method: "chat.postMessage", Unsure: true, Err: errors.New("it does not say what it posted")}
	}
	return out.TS, err
}

// history returns a page of a channel, the newest first, and where the next one
// begins, "" = there is none.
func (c *Client) history(ctx context.Context, channel string, oldest time.Time, limit int, cursor string) ([]message, string, error) {
	in := map[string]any{"channel": channel, "limit": strconv.Itoa(limit)}
	if !oldest.IsZero() {
		in["oldest"] = fmt.Sprintf("%d.000000", oldest.Unix())
	}
	if cursor != "" {
		in["cursor"] = cursor
	}
	var out struct {
		reply
		Messages []message `json:"messages"`
	}
	_, err := c.call(ctx, "conversations.history", in, &out)
	return out.Messages, out.Metadata.Next, err
}

// CheckChannel says whether the bot can read a channel.
func (c *Client) CheckChannel(ctx context.Context, channel string) error {
	_, _, err := c.history(ctx, channel, time.Time{}, 1, "")
	return err
}
