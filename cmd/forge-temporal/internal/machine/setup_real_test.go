//go:build real

package machine

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	common "go.temporal.io/api/common/v1"
	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/durationpb"

	"forge/cmd/forge-temporal/internal/temporal"
	"forge/internal/pace"
)

// What is wrong with a server or its namespace is one error with the way out, before
// anything begins; setup makes what is missing, and may be called again.
func TestRealTemporalSetup(t *testing.T) {
	pace.Slow(t, "a server is started, and learns of a namespace after a while")
	s := server(t)
	f := newFactory(t, s, "")
	refused := func(words string, args ...string) {
		t.Helper()
		if out, code := f.says(args...); code != exitMend || !strings.Contains(out, words) || strings.Count(out, "\n") != 1 {
			t.Errorf("%v: exit code %d, want %d and %q:\n%s", args, code, exitMend, words, out)
		}
	}
	refused(`no namespace "tests"`, "doctor")
	refused(`no namespace "tests"`, "worker")

	f.configure("address = \"" + s.FrontendHostPort() + "\"\n")
	for _, want := range []string{"made namespace tests", "is ready"} {
		if out, code := f.says("setup"); code != 0 || !strings.Contains(out, want) {
			t.Fatalf("setup: exit code %d, want %q:\n%s", code, want, out)
		}
	}
	if out, code := f.says("doctor"); code != 0 || !strings.Contains(out, "is ready") {
		t.Errorf("doctor: exit code %d\n%s", code, out)
	}
	// One that was made by hand lacks the attributes.
	if _, err := s.Client().WorkflowService().RegisterNamespace(t.Context(), &workflowservice.RegisterNamespaceRequest{Namespace: "bare", WorkflowExecutionRetentionPeriod: durationpb.New(24 * time.Hour)}); err != nil {
		t.Fatal(err)
	}
	f.configure("address = \"" + s.FrontendHostPort() + "\"\nnamespace = \"bare\"\n")
	for range 100 {
		if out, _ := f.says("doctor"); !strings.Contains(out, "no namespace") {
			break
		}
	}
	refused("no search attribute ForgeProject, ForgeRun", "doctor")

	f.configure("address = \"127.0.0.1:1\"\n")
	refused("is not reached", "doctor")
	f.configure("address = \"" + s.FrontendHostPort() + "\"\ntls = true\n")
	refused("do not agree on TLS", "doctor")
	f.configure("address = \"" + old(t) + "\"\n")
	refused(`has version "1.20.0"`, "doctor")
	cert, key := expired(t)
	f.configure(fmt.Sprintf("address = %q\ntls_cert = %q\ntls_key = %q\n", s.FrontendHostPort(), cert, key))
	refused("expired on", "doctor")
	f.configure("payload_key_env = \"MY_SECRET_KEY\"\n")
	refused("names MY_SECRET_KEY, which is not set", "doctor")
	f.env.Environ = append(f.env.Environ, "MY_SECRET_KEY=short")
	f.configure("address = \"" + s.FrontendHostPort() + "\"\npayload_key_env = \"MY_SECRET_KEY\"\n")
	refused("is not 32 bytes", "doctor")
}

// old is a server that says of itself that it is of an old version.
func old(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := grpc.NewServer()
	workflowservice.RegisterWorkflowServiceServer(s, aged{})
	go func() { _ = s.Serve(l) }()
	t.Cleanup(s.Stop)
	return l.Addr().String()
}

type aged struct {
	workflowservice.UnimplementedWorkflowServiceServer
}

func (aged) GetSystemInfo(context.Context, *workflowservice.GetSystemInfoRequest) (*workflowservice.GetSystemInfoResponse, error) {
	return &workflowservice.GetSystemInfoResponse{ServerVersion: "1.20.0", Capabilities: &workflowservice.GetSystemInfoResponse_Capabilities{}}, nil
}

// expired is a certificate of yesterday, with its key.
func expired(t *testing.T) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	about := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, NotBefore: time.Now().Add(-48 * time.Hour), NotAfter: time.Now().Add(-24 * time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, about, about, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for file, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "PRIVATE KEY", Bytes: raw}} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return cert, key
}

// No secret stands in a history, also where an agent prints its environment; no
// payload is larger than it may be; and with a key nothing that a run is about can be
// read there.
func TestRealTemporalHistoriesHoldNoSecrets(t *testing.T) {
	pace.Slow(t, "two runs with real workers")
	s := server(t)
	for _, key := range []string{"", strings.Repeat("0a", 32)} {
		more := ""
		if key != "" {
			more = "payload_key_env = \"MY_SECRET_KEY\"\n"
		}
		f := newFactory(t, s, more)
		f.env.Environ = append(f.env.Environ, "MY_SECRET_KEY="+key)
		if out, code := f.says("setup"); code != 0 {
			t.Fatalf("setup: exit code %d\n%s", code, out)
		}
		f.worker()
		_, state, end, err := f.run(nil)
		if err != nil || end.Outcome != "completed" {
			t.Fatalf("the run ended %+v: %v", end, err)
		}
		c, err := client.Dial(client.Options{HostPort: s.FrontendHostPort(), Namespace: "tests"})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		var events, payloads int
		all := &bytes.Buffer{}
		for it := c.GetWorkflowHistory(t.Context(), state.Run, "", false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT); it.HasNext(); {
			e, err := it.Next()
			if err != nil {
				t.Fatal(err)
			}
			events++
			text, err := protojson.Marshal(e)
			if err != nil {
				t.Fatal(err)
			}
			all.Write(text)
			each(e.ProtoReflect(), func(p *common.Payload) {
				payloads++
				if n := proto.Size(p); n > temporal.MaxPayload+200 {
					t.Errorf("event %d (%s) has a payload of %d bytes", e.GetEventId(), e.GetEventType(), n)
				}
				all.Write(p.GetData())
			})
		}
		if payloads < 20 {
			t.Errorf("only %d payloads were looked at in %d events", payloads, events)
		}
		for _, word := range []string{secret, "of the test", key} {
			if word != "" && bytes.Contains(all.Bytes(), []byte(word)) {
				t.Errorf("the history holds the secret %q", word)
			}
		}
		// The control: without a key what the run is about can be found.
		if found := bytes.Contains(all.Bytes(), []byte("left2.txt")); found != (key == "") {
			t.Errorf("with key %q the history shows what the run is about: %v", key, found)
		}
	}
}

// each finds all payloads in a message.
func each(m protoreflect.Message, use func(*common.Payload)) {
	if p, ok := m.Interface().(*common.Payload); ok {
		use(p)
		return
	}
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case f.IsMap():
			if f.MapValue().Message() != nil {
				v.Map().Range(func(_ protoreflect.MapKey, v protoreflect.Value) bool { each(v.Message(), use); return true })
			}
		case f.IsList():
			if f.Message() != nil {
				for i := range v.List().Len() {
					each(v.List().Get(i).Message(), use)
				}
			}
		case f.Message() != nil:
			each(v.Message(), use)
		}
		return true
	})
}
