package workflow

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"forge/internal/text"
)

// answerWithin is how long the state may take to be read.
const answerWithin = 5 * time.Second

// Handler serves the state as Symphony does, to whoever is on this machine: what it
// says can be read, and nothing be done by it but to look at the tracker at once. A
// page of another address that a browser here has open gets nothing.
func (r *Runner) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/api/v1/state", only(http.MethodGet, func(w http.ResponseWriter, q *http.Request) {
		ctx, cancel := context.WithTimeout(q.Context(), answerWithin)
		defer cancel()
		s, err := r.State(ctx)
		if err != nil {
			unavailable(w, ctx, r.clean(err.Error()))
			return
		}
		answer(w, http.StatusOK, s)
	}))
	mux.HandleFunc("/api/v1/refresh", only(http.MethodPost, func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusAccepted, map[string]any{
			"queued": true, "coalesced": r.Refresh(), "requested_at": r.Board.Checkout.Now().UTC(), "operations": []string{"poll", "reconcile"},
		})
	}))
	mux.HandleFunc("/api/v1/{identifier}", only(http.MethodGet, func(w http.ResponseWriter, q *http.Request) {
		ctx, cancel := context.WithTimeout(q.Context(), answerWithin)
		defer cancel()
		name := q.PathValue("identifier")
		s, ok, err := r.Issue(ctx, name)
		switch {
		case err != nil:
			unavailable(w, ctx, r.clean(err.Error()))
		case !ok:
			refuse(w, http.StatusNotFound, "issue_not_found", "no issue "+text.OneLine(name, 60)+" is known here")
		default:
			answer(w, http.StatusOK, s)
		}
	}))
	mux.HandleFunc("/{$}", only(http.MethodGet, r.page))
	return local(mux)
}

// local lets nobody in who came by another name than this machine's own, and no
// browser for another page.
func local(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		name, _, err := net.SplitHostPort(q.Host)
		if err != nil {
			name = q.Host
		}
		origin := q.Header.Get("Origin")
		if name != "localhost" && name != "127.0.0.1" && name != "::1" || origin != "" && origin != "http://"+q.Host {
			refuse(w, http.StatusForbidden, "not_local", "this is for programs on this machine")
			return
		}
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Content-Security-Policy", "default-src 'none'")
		w.Header().Set("Cache-Control", "no-store")
		next.ServeHTTP(w, q)
	})
}

func only(method string, do http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, q *http.Request) {
		if q.Method != method && (method != http.MethodGet || q.Method != http.MethodHead) {
			w.Header().Set("Allow", method)
			refuse(w, http.StatusMethodNotAllowed, "method_not_allowed", "use "+method)
			return
		}
		do(w, q)
	}
}

func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}

func refuse(w http.ResponseWriter, status int, code, message string) {
	answer(w, status, map[string]any{"error": map[string]string{"code": code, "message": message}})
}

// unavailable says that the state cannot be read, or not in time.
func unavailable(w http.ResponseWriter, ctx context.Context, why string) {
	if ctx.Err() != nil {
		refuse(w, http.StatusGatewayTimeout, "timeout", "the state was not read in time")
		return
	}
	refuse(w, http.StatusServiceUnavailable, "unavailable", text.OneLine(why, 300))
}

// page shows the state to people: it is plain text, and does nothing.
func (r *Runner) page(w http.ResponseWriter, q *http.Request) {
	s, err := r.State(q.Context())
	if err != nil {
		unavailable(w, q.Context(), r.clean(err.Error()))
		return
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %d running, %d tried again later, %s tokens\n", s.Workflow.File, s.Counts.Running, s.Counts.Retrying, text.Count(s.Totals.Total))
	if s.Workflow.Error != "" {
		fmt.Fprintf(&b, "\nThe file is wrong, and the last good one holds:\n%s\n", s.Workflow.Error)
	}
	for _, row := range s.Running {
		fmt.Fprintf(&b, "\n%s  %s  turn %d  %s  %s tokens", row.Identifier, row.State, row.Turns, row.Last, text.Count(row.Tokens.Total))
	}
	for _, row := range s.Retrying {
		fmt.Fprintf(&b, "\n%s  attempt %d at %s: %s", row.Identifier, row.Attempt, row.Due.Format(time.RFC3339), row.Error)
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = w.Write([]byte(text.Harmless(b.String()) + "\n"))
}

// Serve serves the state on loopback until ctx ends; port 0 is whichever is free. The
// address is returned once it answers.
func (r *Runner) Serve(ctx context.Context, port int) (address string, err error) {
	var l net.ListenConfig
	on, err := l.Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return "", fmt.Errorf("serve the state of %s: %w", r.Kept.Name(), err)
	}
	srv := &http.Server{Handler: r.Handler(), ReadHeaderTimeout: answerWithin, ReadTimeout: answerWithin, WriteTimeout: 2 * answerWithin}
	go func() { _ = srv.Serve(on) }()
	context.AfterFunc(ctx, func() { _ = srv.Close() })
	return on.Addr().String(), nil
}
