package machine

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"

	"forge/cmd/forge-temporal/internal/temporal"
	"forge/internal/config"
	"forge/internal/refusal"
	"forge/internal/runs"
)

// oldest is the oldest server that what is used here works with: updates that are
// accepted leave one event, and a rejected one none.
var oldest = [2]int{1, 25}

// connectFor is how long a server may take to answer at the start.
const connectFor = 10 * time.Second

// Connect reaches the server that is configured. What keeps it from that is one error
// that a person can mend.
func Connect(ctx context.Context, set config.EngineSettings, blobs temporal.Blobs) (client.Client, error) {
	o := client.Options{
		HostPort: set.Address, Namespace: set.Namespace,
		Logger: log.NewStructuredLogger(slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))),
	}
	var err error
	if o.DataConverter, o.FailureConverter, err = temporal.Converters(blobs, set.PayloadKey.Value); err != nil {
		return nil, refusal.New("write another into "+set.PayloadKey.Name, "engine.payload_key_env: %v", err)
	}
	if set.TLS {
		if o.ConnectionOptions.TLS, err = tlsOf(set, time.Now()); err != nil {
			return nil, err
		}
	}
	if set.APIKey.Value != "" {
		o.Credentials = client.NewAPIKeyStaticCredentials(set.APIKey.Value)
	}
	ctx, cancel := context.WithTimeout(ctx, connectFor)
	defer cancel()
	c, err := client.DialContext(ctx, o)
	if err != nil {
		return nil, unreachable(set, err)
	}
	return c, nil
}

// unreachable says why a server was not reached.
func unreachable(set config.EngineSettings, err error) error {
	var expired x509.CertificateInvalidError
	switch text := err.Error(); {
	case errors.As(err, &expired) && expired.Reason == x509.Expired, strings.Contains(text, "certificate has expired"):
		return refusal.New("renew it, or set the clock of this machine", "the certificate of the Temporal server %s has expired", set.Address)
	case strings.Contains(text, "certificate"), strings.Contains(text, "tls:"), strings.Contains(text, "first record does not look like"):
		return refusal.New("look at engine.tls, tls_ca and tls_cert", "the Temporal server %s and this machine do not agree on TLS: %v", set.Address, err)
	case errors.As(err, new(*serviceerror.PermissionDenied)):
		return refusal.New("look at the key in "+set.APIKey.Name, "the Temporal server %s lets nobody in with this key: %v", set.Address, err)
	}
	return &runs.AwayError{Err: refusal.New("start it, or correct engine.address", "the Temporal server %s is not reached: %v", set.Address, err)}
}

func tlsOf(set config.EngineSettings, now time.Time) (*tls.Config, error) {
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if set.TLSCA != "" {
		data, err := os.ReadFile(set.TLSCA)
		if err != nil {
			return nil, refusal.New("correct engine.tls_ca", "read the certificate: %v", err)
		}
		if c.RootCAs = x509.NewCertPool(); !c.RootCAs.AppendCertsFromPEM(data) {
			return nil, refusal.New("correct engine.tls_ca", "%s holds no certificate", set.TLSCA)
		}
	}
	if set.TLSCert != "" {
		own, err := tls.LoadX509KeyPair(set.TLSCert, set.TLSKey)
		if err != nil {
			return nil, refusal.New("correct engine.tls_cert and engine.tls_key", "read this machine's certificate: %v", err)
		}
		if own.Leaf != nil && now.After(own.Leaf.NotAfter) {
			return nil, refusal.New("renew it", "the certificate in %s expired on %s", set.TLSCert, own.Leaf.NotAfter.UTC().Format(time.DateOnly))
		}
		c.Certificates = []tls.Certificate{own}
	}
	return c, nil
}

// Check says what a server lacks that this engine needs: it is too old, it has no
// such namespace, or that lacks a search attribute.
func Check(ctx context.Context, c client.Client, set config.EngineSettings) error {
	ctx, cancel := context.WithTimeout(ctx, connectFor)
	defer cancel()
	info, err := c.WorkflowService().GetSystemInfo(ctx, &workflowservice.GetSystemInfoRequest{})
	if err != nil {
		return unreachable(set, err)
	}
	var major, minor int
	if n, _ := fmt.Sscanf(info.GetServerVersion(), "%d.%d", &major, &minor); n < 2 || major < oldest[0] || major == oldest[0] && minor < oldest[1] {
		return refusal.New(fmt.Sprintf("install %d.%d or newer", oldest[0], oldest[1]), "the Temporal server %s has version %q", set.Address, info.GetServerVersion())
	}
	_, err = c.WorkflowService().DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: set.Namespace})
	switch {
	case errors.As(err, new(*serviceerror.NamespaceNotFound)):
		return refusal.New("forge-temporal setup makes it; or correct engine.namespace", "the Temporal server %s has no namespace %q", set.Address, set.Namespace)
	case err != nil:
		return unreachable(set, err)
	}
	missing, err := lacking(ctx, c, set)
	if err != nil {
		return err
	}
	if len(missing) > 0 {
		return refusal.New("forge-temporal setup adds what is missing", "namespace %q has no search attribute %s", set.Namespace, strings.Join(missing, ", "))
	}
	return nil
}

// hostID is the id of this host, which is kept in the state folder so that a worker
// finds its folders again.
func hostID(state string) (string, error) {
	file := filepath.Join(state, "temporal-host")
	if data, err := os.ReadFile(file); err == nil && len(strings.TrimSpace(string(data))) > 0 {
		return strings.TrimSpace(string(data)), nil
	}
	id := strings.ToLower(temporal.NewID())
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, os.ErrExist) {
		data, err := os.ReadFile(file) // another worker was quicker
		return strings.TrimSpace(string(data)), err
	}
	if err != nil {
		return "", fmt.Errorf("keep the id of this host: %w", err)
	}
	_, err = f.WriteString(id + "\n")
	return id, errors.Join(err, f.Close())
}
