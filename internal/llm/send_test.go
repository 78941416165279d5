package llm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// times asks a service that answers by steps, on a clock of the test's own,
// and returns when each request came.
func times(t *testing.T, cfg Config, steps ...step) (at []time.Duration, rep Reply, trouble *Trouble) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		cfg.BaseURL, cfg.Model = "http://service.invalid/v1", "m"
		cfg.Transport = network(func(*http.Request) (*http.Response, error) {
			at = append(at, time.Since(begun))
			s := steps[min(len(at), len(steps))-1]
			if s.err != nil {
				return nil, s.err
			}
			res := answered(s.status, s.body, s.header...)
			if s.slow != nil {
				res.Body = s.slow
			}
			return res, nil
		})
		c, err := New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		c.random = func() float64 { return 0.5 }
		rep, err = c.Ask(t.Context(), verdictQuestion())
		trouble = troubleOf(t, err)
	})
	return at, rep, trouble
}

// step is one answer of such a service.
type step struct {
	status int
	body   string
	header []string
	slow   io.ReadCloser // instead of body
	err    error         // no answer
}

func good() step { return step{status: 200, body: envelope(goodAnswer)} }

func ms(list ...int) []time.Duration {
	var out []time.Duration
	for _, n := range list {
		out = append(out, time.Duration(n)*time.Millisecond)
	}
	return out
}

func TestTriesWaitLongerEachTime(t *testing.T) {
	broken := step{err: errors.New("connection refused")}
	at, rep, trouble := times(t, Config{}, step{status: 500}, step{status: 429}, broken, good())
	if trouble != nil || rep.Tries != 4 || !slices.Equal(at, ms(0, 500, 1500, 3500)) {
		t.Errorf("requests at %v, %v", at, trouble)
	}
	if at, _, trouble = times(t, Config{}, step{status: 502}); trouble == nil || len(at) != maxTries {
		t.Errorf("requests at %v, %v", at, trouble)
	}
}

// The service's own word on when to come back counts, in both forms, up to a
// bound; a little chance is added, never taken off.
func TestRetryAfter(t *testing.T) {
	start := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC) // where the clock of synctest begins
	for _, tc := range []struct {
		header string
		want   []time.Duration
	}{
		{"20", ms(0, 20_250)},
		{start.Add(45 * time.Second).Format(http.TimeFormat), ms(0, 45_250)},
		{start.Add(-time.Hour).Format(http.TimeFormat), ms(0, 500)},
		{"120", ms(0, 120_250)},
		{"121", ms(0)},
		{"9223372036854775807", ms(0)},
		{"-5", ms(0, 500)},
		{"soon", ms(0, 500)},
		{"1.5", ms(0, 500)},
	} {
		at, _, trouble := times(t, Config{}, step{status: 429, header: []string{"Retry-After", tc.header}}, good())
		if !slices.Equal(at, tc.want) || (trouble == nil) != (len(tc.want) == 2) {
			t.Errorf("Retry-After %q: requests at %v, want %v (%v)", tc.header, at, tc.want, trouble)
		}
		if trouble != nil && trouble.After <= mostWait {
			t.Errorf("Retry-After %q: the trouble says %v", tc.header, trouble.After)
		}
	}
}

// Questions that run beside each other do not come back at one moment.
func TestPausesAreSpread(t *testing.T) {
	c, _ := client(t, Config{BaseURL: "http://service.invalid"})
	for _, asked := range []time.Duration{0, 10 * time.Second} {
		for _, x := range []float64{0, 0.25, 0.999} {
			c.random = func() float64 { return x }
			for try := 1; try < maxTries; try++ {
				step := firstWait << (try - 1)
				low, high := step/2, step/2+step
				if asked > 0 {
					low, high = asked, asked+firstWait
				}
				if got := c.pause(try, asked); got < low || got >= high {
					t.Errorf("try %d after %v with chance %v: %v, want %v to %v", try, asked, x, got, low, high)
				}
			}
		}
	}
	c.random = func() float64 { return 0.1 }
	first := c.pause(2, 0)
	c.random = func() float64 { return 0.9 }
	if c.pause(2, 0) == first {
		t.Error("chance changes nothing")
	}
}

// slowly gives its parts with a pause before each.
type slowly struct {
	parts []string
	pause time.Duration
}

func (s *slowly) Read(p []byte) (int, error) {
	if len(s.parts) == 0 {
		return 0, io.EOF
	}
	time.Sleep(s.pause)
	n := copy(p, s.parts[0])
	s.parts = s.parts[1:]
	return n, nil
}

func (s *slowly) Close() error { return nil }

// Silence is what ends an answer, not length: one that keeps coming may take
// longer than the limit as a whole.
func TestSilence(t *testing.T) {
	whole := envelope(goodAnswer)
	parts := []string{whole[:10], whole[10:20], whole[20:40], whole[40:]}
	if _, _, trouble := times(t, Config{Timeout: 30 * time.Second}, step{status: 200, slow: &slowly{parts: parts, pause: 29 * time.Second}}); trouble != nil {
		t.Errorf("an answer that keeps coming: %v", trouble)
	}
}

// A silent service is left after the limit, before and within its answer.
func TestSilenceEndsTheRequest(t *testing.T) {
	for _, begins := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			begun := time.Now()
			c, err := New(Config{BaseURL: "http://service.invalid/v1", Model: "m", Timeout: 30 * time.Second, Transport: network(func(req *http.Request) (*http.Response, error) {
				if !begins {
					<-req.Context().Done()
					return nil, req.Context().Err()
				}
				res := answered(200, "")
				res.Body = io.NopCloser(io.MultiReader(strings.NewReader(`{"choices":`), stuck{req}))
				return res, nil
			})})
			if err != nil {
				t.Fatal(err)
			}
			rep, err := c.Ask(t.Context(), verdictQuestion())
			if KindOf(err) != Timeout || time.Since(begun) != 30*time.Second || rep.Tries != 1 {
				t.Errorf("begins %v: %v after %v", begins, err, time.Since(begun))
			}
		})
	}
}

// stuck gives nothing until its request is given up.
type stuck struct{ req *http.Request }

func (s stuck) Read([]byte) (int, error) {
	<-s.req.Context().Done()
	return 0, s.req.Context().Err()
}

// The context bounds everything, waits included.
func TestTheContextBoundsTheWhole(t *testing.T) {
	c, _ := client(t, Config{BaseURL: "http://service.invalid/v1", Transport: network(func(*http.Request) (*http.Response, error) {
		return answered(500, `{"error":{"message":"down"}}`), nil
	})})
	c.wait = wait
	ctx, cancel := context.WithTimeout(t.Context(), time.Nanosecond)
	defer cancel()
	<-ctx.Done()
	if rep, err := c.Ask(ctx, verdictQuestion()); KindOf(err) != Timeout || rep.Tries != 0 {
		t.Errorf("a context that is over: %v after %d tries", err, rep.Tries)
	}
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 700*time.Millisecond)
		defer cancel()
		_, err := c.Ask(ctx, verdictQuestion())
		if KindOf(err) != Timeout || time.Since(begun) != 700*time.Millisecond || !strings.Contains(err.Error(), "down") {
			t.Errorf("%v after %v", err, time.Since(begun))
		}
	})
}

// Only the first of several choices counts.
func TestSeveralChoices(t *testing.T) {
	choice := func(content string) string {
		return fmt.Sprintf(`{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":%q}}`, content)
	}
	_, rep, trouble := times(t, Config{}, step{status: 200, body: `{"choices":[` + choice(goodAnswer) + `,` + choice(`{"verdict":"pass","findings":[]}`) + `]}`})
	if trouble != nil || string(rep.JSON) != goodAnswer {
		t.Errorf("got %s, %v", rep.JSON, trouble)
	}
	if _, _, trouble = times(t, Config{}, step{status: 200, body: `{"choices":[` + choice("") + `,` + choice(goodAnswer) + `]}`}); trouble == nil || trouble.Kind != Empty {
		t.Errorf("the second choice took the place of the first: %v", trouble)
	}
}

// A client may be asked by several at once.
func TestAtOnce(t *testing.T) {
	c, _ := client(t, Config{BaseURL: "http://service.invalid/v1", Transport: network(func(req *http.Request) (*http.Response, error) {
		body, err := io.ReadAll(req.Body)
		if err != nil {
			return nil, err
		}
		if strings.Contains(string(body), "json_schema") {
			return answered(400, `{"error":{"message":"no response_format here"}}`), nil
		}
		return answered(200, envelope(goodAnswer)), nil
	})})
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if _, err := c.Ask(t.Context(), verdictQuestion()); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if got := c.dialectOf("m-large").format; got != formatObject {
		t.Errorf("remembered format %d", got)
	}
}
