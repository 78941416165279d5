package llm

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	openai "github.com/sashabaranov/go-openai"
)

const modelFix = "write a model that the service has in [llm]"

// How often and how soon a question is sent again.
const (
	maxTries  = 4
	firstWait = 500 * time.Millisecond
	// mostWait bounds what a service may ask to wait: beyond it the caller is
	// told at once, which knows whether the work can wait.
	mostWait = 2 * time.Minute
)

// conversation is one question on its way, with what it cost so far.
type conversation struct {
	client *Client
	spent  tokens
	tries  int
	last   *exchange
	stream func() *stream // how each try asks for an answer in parts; nil = in one
}

// send asks a chat service until there is an answer.
func (v *conversation) send(ctx context.Context, req openai.ChatCompletionRequest) (openai.ChatCompletionResponse, *Trouble) {
	return again(ctx, v.client, func() (res openai.ChatCompletionResponse, _ *Trouble) {
		trouble := v.exchange(ctx, req.Model, func(api *openai.Client) (given bool, err error) {
			res, err = api.CreateChatCompletion(ctx, req)
			return len(res.Choices) > 0, err
		})
		return res, trouble
	})
}

// again asks until there is an answer, a trouble that stays, or no try left:
// after connection errors, broken answers, 429 and 5xx it waits, longer each
// time, or as long as the service says.
func again[T any](ctx context.Context, c *Client, once func() (T, *Trouble)) (T, *Trouble) {
	for try := 1; ; try++ {
		res, trouble := once()
		if trouble == nil {
			return res, nil
		}
		if !trouble.Passes() || try == maxTries || trouble.After > mostWait {
			return res, trouble
		}
		if c.wait(ctx, c.pause(try, trouble.After)) != nil {
			end := ended(ctx)
			end.What += " while waiting to ask again: " + trouble.What
			return res, end
		}
	}
}

// pause is how long to wait after a try. Callers that run beside each other
// must not come back at the same moment.
func (c *Client) pause(try int, asked time.Duration) time.Duration {
	step := firstWait << (try - 1)
	if asked > 0 {
		return asked + time.Duration(c.random()*float64(firstWait))
	}
	return step/2 + time.Duration(c.random()*float64(step))
}

// exchange has do send one request and read its answer; given says that there was
// one beside what a gateway says of an error.
func (v *conversation) exchange(ctx context.Context, model string, do func(*openai.Client) (given bool, err error)) *Trouble {
	if ctx.Err() != nil {
		return ended(ctx)
	}
	c := v.client
	x := &exchange{http: c.http, silence: c.cfg.Timeout}
	if v.stream != nil {
		x.stream = v.stream()
	}
	conf := openai.DefaultConfig(c.cfg.Key)
	conf.BaseURL, conf.HTTPClient = c.cfg.BaseURL, x
	given, err := do(openai.NewClientWithConfig(conf))
	if x.sent != nil { // else the library itself refused the request
		v.tries++
		v.last = x
		v.spent = v.spent.plus(x.usage)
	}
	if err == nil && x.fault != nil && !given {
		return c.fault(x)
	}
	if err == nil && x.status < 300 {
		return nil
	}
	return c.trouble(ctx, x, model, err)
}

// trouble says what an exchange without an answer means.
func (c *Client) trouble(ctx context.Context, x *exchange, model string, err error) *Trouble {
	switch {
	case ctx.Err() != nil:
		return ended(ctx)
	case errors.Is(err, errSilent):
		return &Trouble{Kind: Timeout, What: "the service was silent for " + c.cfg.Timeout.String(), Fix: "raise llm.timeout_secs if the model is slow", err: err}
	case errors.Is(err, errTooLarge):
		return &Trouble{Kind: TooLarge, What: err.Error(), Status: x.status}
	case errors.Is(err, errNotJSON) && x.status < 300:
		return &Trouble{Kind: BadAnswer, What: err.Error() + c.beginning(x.got), Status: x.status, Fix: "check that llm.base_url is the address of an OpenAI-compatible service; most end in /v1"}
	case x.sent == nil:
		return &Trouble{Kind: Rejected, What: c.clean(err.Error()), words: err.Error(), err: err}
	case x.status == 0 && x.usage == unknownTokens:
		return &Trouble{Kind: Server, What: "the connection broke off before an answer: " + c.clean(rootCause(err))}
	case x.status == 0:
		return &Trouble{Kind: Unreachable, What: c.clean(rootCause(err)), Fix: "check llm.base_url and that the service runs"}
	case x.status >= 400:
		return c.refusal(x, model, errorWords(x.got, err))
	case x.status >= 300:
		return &Trouble{Kind: Unreachable, Status: x.status, What: "the service sends Forge elsewhere" + c.elsewhere(x.header), Fix: "write the address that answers itself as llm.base_url"}
	case errors.As(err, new(*json.SyntaxError)) || errors.As(err, new(*json.UnmarshalTypeError)):
		return &Trouble{Kind: BadAnswer, What: "the answer is not that of a chat service: " + c.clean(err.Error()), Status: x.status}
	}
	return &Trouble{Kind: Server, What: "the answer broke off: " + c.clean(rootCause(err)), Status: x.status}
}

// refusal says what an HTTP error means.
func (c *Client) refusal(x *exchange, model, words string) *Trouble {
	t := &Trouble{Status: x.status, What: "the service answers " + strconv.Itoa(x.status) + said(c.clean(words)), words: words}
	lower := strings.ToLower(words)
	switch {
	case strings.Contains(lower, "model_not_found"):
		t.Kind, t.Fix = UnknownModel, modelFix
	case x.status == http.StatusUnauthorized || x.status == http.StatusForbidden:
		t.Kind, t.Fix = Unauthorized, c.keyFix()
	case x.status == http.StatusTooManyRequests && strings.Contains(lower, "insufficient_quota"), x.status == http.StatusPaymentRequired:
		t.Kind, t.spent, t.Fix = RateLimited, true, "the account has no quota left"
	case x.status == http.StatusTooManyRequests:
		t.Kind, t.After = RateLimited, retryAfter(x.header, c.now())
	case x.status == http.StatusRequestTimeout || x.status >= 500:
		t.Kind, t.After = Server, retryAfter(x.header, c.now())
	case x.status == http.StatusBadRequest && (strings.Contains(lower, "api key") || strings.Contains(lower, "api_key")):
		t.Kind, t.Fix = Unauthorized, c.keyFix()
	case aboutModel(lower, model):
		t.Kind, t.Fix = UnknownModel, modelFix
	case x.status == http.StatusNotFound || x.status == http.StatusMethodNotAllowed:
		t.Kind, t.Fix = Unreachable, "check llm.base_url; most end in /v1"
	case x.status == http.StatusRequestEntityTooLarge || strings.Contains(lower, "context_length") || strings.Contains(lower, "context length"):
		t.Kind, t.Fix = Rejected, "lower llm.context_tokens to what the model can read"
	default:
		t.Kind = Rejected
	}
	return t
}

// fault is an error that came with a good status, as gateways send it.
func (c *Client) fault(x *exchange) *Trouble {
	status, err := strconv.Atoi(strings.Trim(string(x.fault.Code), `"`))
	if err != nil || status < 400 || status > 599 {
		status = http.StatusBadGateway
	}
	inner := *x
	inner.status = status
	return c.refusal(&inner, "", x.fault.Message+" "+string(x.fault.Code))
}

func (c *Client) keyFix() string {
	if c.cfg.KeyEnv == "" {
		return "name the variable of the key in llm.api_key_env"
	}
	return "check the key in " + c.cfg.KeyEnv
}

// aboutModel says that words complain of the model.
func aboutModel(lower, model string) bool {
	if !strings.Contains(lower, "model") && (model == "" || !strings.Contains(lower, strings.ToLower(model))) {
		return false
	}
	for _, w := range []string{"not found", "not_found", "not exist", "unknown model", "invalid model", "no such model", "not a valid model", "not available", "no access"} {
		if strings.Contains(lower, w) {
			return true
		}
	}
	return false
}

// retryAfter reads the header in either form; 0 = it says nothing usable.
func retryAfter(h http.Header, now time.Time) time.Duration {
	text := strings.TrimSpace(h.Get("Retry-After"))
	if secs, err := strconv.ParseInt(text, 10, 64); err == nil {
		const day = 24 * 60 * 60
		return time.Duration(min(max(secs, 0), day)) * time.Second
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(at.Sub(now), 0)
	}
	return 0
}
