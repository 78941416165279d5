package notify

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"forge/internal/proc"
)

// Sender is where notices go. Without command and webhook they go nowhere.
type Sender struct {
	Command []string // program and arguments, without a shell; a name is looked up in Environ's PATH
	Webhook string
	Timeout time.Duration // of each way; both go at the same time
	Environ []string      // of the command, in full
	Dir     string        // of the command
}

// grace is how long a command that took too long may take to end.
const grace = time.Second

// Send tells n by every way and returns what failed, one error for each. It
// returns after Timeout and a moment, whatever the receivers do: a command is
// ended with all that it started. Errors name no address, since that may be a
// secret, and are for the user's log alone.
func (s Sender) Send(ctx context.Context, n Notice) []error {
	body, err := json.Marshal(n)
	if err != nil {
		return []error{fmt.Errorf("write the notice: %w", err)}
	}
	body = append(body, '\n')
	ways := []func() error{
		func() error { return s.run(ctx, n, body) },
		func() error { return s.post(ctx, body) },
	}
	failed := make([]error, len(ways))
	var all sync.WaitGroup
	for i, tell := range ways {
		all.Go(func() { failed[i] = tell() })
	}
	all.Wait()
	var out []error
	for _, err := range failed {
		if err != nil {
			out = append(out, err)
		}
	}
	return out
}

func (s Sender) run(ctx context.Context, n Notice, body []byte) error {
	if len(s.Command) == 0 {
		return nil
	}
	said := proc.NewTail(0, 500)
	res, err := proc.Run(ctx, proc.Spec{
		Path: s.Command[0], Args: s.Command[1:], Dir: s.Dir,
		Env:   append(append([]string{}, s.Environ...), "FORGE_EVENT="+n.Event, "FORGE_RUN="+n.Run),
		Stdin: bytes.NewReader(body), Stdout: io.Discard, Stderr: said,
		Limits: proc.Limits{Total: s.Timeout, Drain: grace, Grace: grace},
	})
	switch {
	case err != nil:
		return fmt.Errorf("start %s: %w", s.Command[0], err)
	case res.End == proc.EndTotal:
		return fmt.Errorf("%s took longer than %v and was ended", s.Command[0], s.Timeout)
	case res.ExitCode == nil || *res.ExitCode != 0:
		return fmt.Errorf("%s failed: %s", s.Command[0], how(res, said.String()))
	}
	return nil
}

func how(res proc.Result, said string) string {
	text := "signal " + res.Signal
	if res.ExitCode != nil {
		text = fmt.Sprintf("exit code %d", *res.ExitCode)
	}
	if said = strings.Join(strings.Fields(said), " "); said != "" {
		text += ": " + said
	}
	return text
}

func (s Sender) post(ctx context.Context, body []byte) error {
	if s.Webhook == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, s.Timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.Webhook, bytes.NewReader(body))
	if err != nil {
		return errors.New("post to the webhook: its address cannot be used")
	}
	req.Header.Set("Content-Type", "application/json")
	// A redirect would carry the notice to where nobody said it may go.
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := client.Do(req)
	if err != nil {
		var at *url.Error // its text holds the address
		if errors.As(err, &at) {
			err = at.Err
		}
		return fmt.Errorf("post to %s: %w", req.URL.Host, err)
	}
	defer res.Body.Close()
	if res.StatusCode < 200 || res.StatusCode > 299 {
		return fmt.Errorf("post to %s: it answered %s", req.URL.Host, res.Status)
	}
	return nil
}
