package server

import (
	"errors"
	"io"
	"net"
	"testing"

	charm "charm.land/log/v2"

	"forge/internal/config"
	"forge/internal/refusal"
)

// Where nobody chose the address that is taken, another one will do. A name that
// is not this machine's own is no loopback.
func TestAnotherAddress(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	at, log := taken.Addr().String(), charm.New(io.Discard)
	in, err := listen(log, config.WebServer{Listen: at, Default: true, Loopback: true})
	if err != nil {
		t.Fatalf("the usual address is taken: %v", err)
	}
	defer in.Close()
	if host, _, _ := net.SplitHostPort(in.Addr().String()); host != "127.0.0.1" || in.Addr().String() == at {
		t.Errorf("listens on %s instead of %s", in.Addr(), at)
	}
	var refused *refusal.Error
	if _, err := listen(log, config.WebServer{Listen: "0.0.0.0:0", Loopback: true}); !errors.As(err, &refused) {
		t.Errorf("every address as loopback: %v", err)
	}
	if _, err := listen(log, config.WebServer{Listen: at, Loopback: true}); !errors.As(err, &refused) {
		t.Errorf("an address that is taken and was chosen: %v", err)
	}
}
