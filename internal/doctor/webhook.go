package doctor

import (
	"context"
	"io"
	"net"
	"net/http"
	"time"

	"forge/internal/config"
	"forge/internal/host"
)

// HookTry is how webhooks are tried.
type HookTry struct {
	Listen string        // where one must arrive; a tunnel or a proxy in between is the user's
	Wait   time.Duration // how long the host may take
}

// webhook lets the host send one, and waits for it.
func (d *Doctor) webhook(ctx context.Context, h host.Host, set config.CodeHost, try HookTry) {
	if set.WebhookURL == "" || set.WebhookSecret.Value == "" {
		d.poor("set host.webhook_url and its secret", "the webhook cannot be tried")
		return
	}
	l, err := net.Listen("tcp", try.Listen)
	if err != nil {
		d.poor("end what listens there (forge host watch) for the test, or name by --listen another address that host.webhook_url leads to", "nothing can wait for the webhook: %v", err)
		return
	}
	arrived := make(chan error, 100)
	server := &http.Server{ReadHeaderTimeout: 5 * time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, req.Body, host.MaxHookBytes))
		if err == nil {
			_, err = host.ReadHook(set.WebhookSecret.Value, req.Header, body)
		}
		if err != nil {
			w.WriteHeader(http.StatusForbidden)
		}
		select {
		case arrived <- err:
		default:
		}
	})}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.Serve(l) // ends by Close below
	}()
	defer func() {
		_ = server.Close()
		<-served
	}()
	d.good("waiting at %s for what %s hands on", l.Addr(), set.WebhookURL)
	id, err := h.EnsureHook(ctx, set.WebhookURL, set.WebhookSecret.Value)
	began := time.Now()
	if err == nil {
		err = h.TestHook(ctx, id)
	}
	if err != nil {
		d.trouble(err)
		return
	}
	wait, cancel := context.WithTimeout(ctx, try.Wait)
	defer cancel()
	select {
	case err := <-arrived:
		if err != nil {
			d.poor("forge host setup --webhook sets the secret anew", "a webhook arrived: %v", err)
			return
		}
		d.good("a webhook arrived, signed, after %s", time.Since(began).Round(10*time.Millisecond))
	case <-wait.Done():
		d.poor("check that the host may call that address (Gitea: [webhook] ALLOWED_HOST_LIST), and that it leads to --listen",
			"no webhook arrived within %s; without one the host is asked every %s", try.Wait, set.Poll)
	}
}
