package egress

import (
	"bufio"
	"context"
	"encoding/binary"
	"io"
	"net"
	"net/netip"
	"strings"
)

// Words of SOCKS 5 (RFC 1928).
const (
	socksVersion  = 5
	socksConnect  = 1
	socksIPv4     = 1
	socksName     = 3
	socksIPv6     = 4
	socksGranted  = 0
	socksFailed   = 1
	socksRefused  = 2
	socksNoSuch   = 7 // command
	socksNoAddr   = 8 // form of address
	socksNoMethod = 0xff
)

// socks serves one connection of a client of SOCKS 5. Names are looked up here;
// only connections are opened, nothing is listened for and no datagram carried.
func (p *Proxy) socks(ctx context.Context, conn net.Conn, in *bufio.Reader) {
	var head [2]byte
	if _, err := io.ReadFull(in, head[:]); err != nil {
		return
	}
	methods := make([]byte, head[1])
	if _, err := io.ReadFull(in, methods); err != nil {
		return
	}
	if !strings.Contains(string(methods), "\x00") {
		_, _ = conn.Write([]byte{socksVersion, socksNoMethod})
		return
	}
	if _, err := conn.Write([]byte{socksVersion, 0}); err != nil {
		return
	}
	t, code := readSocks(in)
	if code != socksGranted {
		socksAnswer(conn, code)
		return
	}
	out, err := p.open(ctx, t)
	if err != nil {
		code := byte(socksFailed)
		if statusOf(err) == 403 {
			code = socksRefused
		}
		socksAnswer(conn, code)
		return
	}
	defer func() { _ = out.Close() }()
	socksAnswer(conn, socksGranted)
	p.tunnel(ctx, conn, in, out, t)
}

// readSocks reads what a client wants; code says what is wrong with it.
func readSocks(in io.Reader) (t target, code byte) {
	var head [4]byte
	if _, err := io.ReadFull(in, head[:]); err != nil || head[0] != socksVersion {
		return t, socksFailed
	}
	if head[1] != socksConnect {
		return t, socksNoSuch
	}
	size := 0
	switch head[3] {
	case socksIPv4:
		size = 4
	case socksIPv6:
		size = 16
	case socksName:
		var n [1]byte
		if _, err := io.ReadFull(in, n[:]); err != nil {
			return t, socksFailed
		}
		size = int(n[0])
	default:
		return t, socksNoAddr
	}
	rest := make([]byte, size+2)
	if _, err := io.ReadFull(in, rest); err != nil {
		return t, socksFailed
	}
	t.port = binary.BigEndian.Uint16(rest[size:])
	if t.port == 0 {
		return t, socksFailed
	}
	if head[3] != socksName {
		addr, _ := netip.AddrFromSlice(rest[:size])
		t.addr = addr.Unmap()
		return t, socksGranted
	}
	// An address that is written as a name is one.
	if addr, ok := readAddr(string(rest[:size])); ok {
		t.addr = addr
		return t, socksGranted
	}
	t.host = strings.ToLower(strings.TrimSuffix(string(rest[:size]), "."))
	if !validName(t.host) || looksNumeric(t.host) {
		return t, socksNoAddr
	}
	return t, socksGranted
}

func socksAnswer(conn net.Conn, code byte) {
	_, _ = conn.Write([]byte{socksVersion, code, 0, socksIPv4, 0, 0, 0, 0, 0, 0})
}
