package server

import (
	"errors"
	"log/slog"
	"net"
	"net/http"

	"forge/internal/config"
	"forge/internal/project"
	"forge/internal/refusal"
)

// HookListen is where webhooks are taken when nobody says where.
const HookListen = "127.0.0.1:8787"

// TakeWebhooks serves hooks, which take the webhooks of a code host, until shut is
// called: at listen, "" = at HookListen where the host is told of this machine.
func TakeWebhooks(env project.Env, listen string, set config.CodeHost, hooks http.Handler) (shut func(), err error) {
	chosen := listen != ""
	switch {
	case listen == config.ListenOff, !chosen && (set.WebhookURL == "" || set.WebhookSecret.Value == ""):
		if !chosen && set.WebhookURL != "" {
			env.Log.Warn("webhooks are not taken: what they are signed with is not set", "variable", set.WebhookSecret.Name)
		}
		return func() {}, nil
	case set.WebhookSecret.Value == "":
		return nil, refusal.New("set it to a long random text", "%s, which webhooks are signed with, is not set", set.WebhookSecret.Name)
	case !chosen:
		listen = HookListen
	}
	in, err := net.Listen("tcp", listen)
	if err != nil && chosen {
		return nil, refusal.New("name another one by --listen, or off", "listen on %s for webhooks: %v", listen, err)
	}
	if err != nil {
		env.Log.Warn("webhooks are not taken; the host is asked instead", "err", err, "set", "--listen")
		return func() {}, nil
	}
	serving := Limited(hooks, slog.New(env.Log))
	served := make(chan struct{})
	go func() {
		defer close(served)
		if err := serving.Serve(in); !errors.Is(err, http.ErrServerClosed) {
			env.Log.Error("webhooks are not taken any more", "err", err)
		}
	}()
	env.Log.Info("taking webhooks", "at", "http://"+ShownAddr(in.Addr().String()), "host sends them to", set.WebhookURL)
	return func() {
		_ = serving.Close() // a hint that is cut off is lost as any other
		<-served
	}, nil
}
