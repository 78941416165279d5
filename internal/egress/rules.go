package egress

import (
	"cmp"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// Rule names hosts that may be reached.
type Rule struct {
	host string     // in small letters; without "*." where below is set
	addr netip.Addr // of a rule for an address; host is "" then
	port uint16     // 0 = 443 and 80
	sub  bool       // the hosts below host, and not host itself
}

// Rules are the hosts that may be reached; no rule = none.
type Rules []Rule

// ParseRule reads "packages.example.com", "*.example.org:443", "192.0.2.1:8080" or
// "[2001:db8::1]:443". Without a port it is 443 and 80.
func ParseRule(word string) (Rule, error) {
	host, port, err := splitPort(word)
	if err != nil {
		return Rule{}, fmt.Errorf("%q: %w", word, err)
	}
	r := Rule{port: port}
	if addr, ok := readAddr(host); ok {
		r.addr = addr
		return r, nil
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if r.host, r.sub = strings.CutPrefix(host, "*."); !validName(r.host) {
		return Rule{}, fmt.Errorf("%q is no host name, such as packages.example.com or *.example.org:443", word)
	}
	if looksNumeric(r.host) {
		return Rule{}, fmt.Errorf("%q is neither a host name nor an address", word)
	}
	return r, nil
}

// ParseRules reads a list; the error names every word that is wrong.
func ParseRules(words []string) (Rules, error) {
	var rules Rules
	var wrong []string
	for _, word := range words {
		r, err := ParseRule(word)
		if err != nil {
			wrong = append(wrong, err.Error())
			continue
		}
		rules = append(rules, r)
	}
	if len(wrong) > 0 {
		return nil, fmt.Errorf("%s", strings.Join(wrong, "; "))
	}
	return rules, nil
}

// String is the rule as it is written.
func (r Rule) String() string {
	host := r.host
	switch {
	case r.addr.IsValid() && r.addr.Is6():
		host = "[" + r.addr.String() + "]"
	case r.addr.IsValid():
		host = r.addr.String()
	case r.sub:
		host = "*." + host
	}
	if r.port == 0 {
		return host
	}
	return host + ":" + strconv.Itoa(int(r.port))
}

// Covers says that whatever other lets through this rule does, too.
func (r Rule) Covers(other Rule) bool {
	if r.port != 0 && r.port != other.port {
		return false
	}
	if r.port == 0 && other.port != 0 && other.port != 443 && other.port != 80 {
		return false
	}
	if r.addr.IsValid() || other.addr.IsValid() {
		return r.addr == other.addr
	}
	if r.sub {
		return strings.HasSuffix(other.host, "."+r.host) || other.sub && other.host == r.host
	}
	return !other.sub && r.host == other.host
}

// Covers says that one of the rules covers other.
func (rules Rules) Covers(other Rule) bool {
	return slices.ContainsFunc(rules, func(r Rule) bool { return r.Covers(other) })
}

func (r Rule) onPort(port uint16) bool {
	return r.port == port || r.port == 0 && (port == 443 || port == 80)
}

// name says that a name may be reached on a port.
func (rules Rules) name(host string, port uint16) bool {
	return slices.ContainsFunc(rules, func(r Rule) bool {
		if r.addr.IsValid() || !r.onPort(port) {
			return false
		}
		if r.sub {
			return strings.HasSuffix(host, "."+r.host)
		}
		return host == r.host
	})
}

// address says that an address may be reached on a port by itself.
func (rules Rules) address(addr netip.Addr, port uint16) bool {
	return slices.ContainsFunc(rules, func(r Rule) bool { return r.addr.IsValid() && r.addr == addr && r.onPort(port) })
}

// target is what somebody wants to reach.
type target struct {
	host string     // a name in small letters, or ""
	addr netip.Addr // an address, where host is ""
	port uint16
}

func (t target) String() string {
	if t.host != "" {
		return t.host + ":" + strconv.Itoa(int(t.port))
	}
	return netip.AddrPortFrom(t.addr, t.port).String()
}

// readTarget reads host:port as a client writes it.
func readTarget(s string, usual uint16) (target, error) {
	host, port, err := splitPort(s)
	if err != nil {
		return target{}, err
	}
	t := target{port: cmp.Or(port, usual)}
	if t.port == 0 {
		return t, fmt.Errorf("there is no port")
	}
	if addr, ok := readAddr(host); ok {
		t.addr = addr
		return t, nil
	}
	t.host = strings.ToLower(strings.TrimSuffix(host, "."))
	if !validName(t.host) || looksNumeric(t.host) {
		return t, fmt.Errorf("neither a host name nor an address")
	}
	return t, nil
}

// may says whether the rules let a target be asked for at all.
func (rules Rules) may(t target) bool {
	if t.host != "" {
		return rules.name(t.host, t.port)
	}
	return rules.address(t.addr, t.port)
}

// splitPort takes the port off; 0 = none is named.
func splitPort(s string) (host string, port uint16, err error) {
	if _, ok := readAddr(s); ok {
		return s, 0, nil
	}
	host = s
	if at := strings.LastIndexByte(s, ':'); at >= 0 {
		text := s[at+1:]
		n, err := strconv.ParseUint(text, 10, 16)
		if err != nil || n == 0 || text[0] == '+' {
			return "", 0, fmt.Errorf("port %q is no number from 1 to 65535", text)
		}
		host, port = s[:at], uint16(n)
	}
	if inner, ok := strings.CutPrefix(host, "["); ok {
		if host, ok = strings.CutSuffix(inner, "]"); !ok {
			return "", 0, fmt.Errorf("a bracket is missing")
		}
	}
	return host, port, nil
}

// readAddr reads an address in its usual form. One of IPv4 in the dress of IPv6 is
// the one of IPv4.
func readAddr(s string) (netip.Addr, bool) {
	if inner, ok := strings.CutPrefix(s, "["); ok {
		if s, ok = strings.CutSuffix(inner, "]"); !ok {
			return netip.Addr{}, false
		}
	}
	addr, err := netip.ParseAddr(s)
	if err != nil || addr.Zone() != "" {
		return netip.Addr{}, false
	}
	return addr.Unmap(), true
}

// looksNumeric says that a resolver may take a name for an address, such as
// 127.1, 2130706433 or 0x7f.1: its last part is a number.
func looksNumeric(host string) bool {
	last := host[strings.LastIndexByte(host, '.')+1:]
	if last == "" {
		return true
	}
	if _, err := strconv.ParseUint(last, 0, 64); err == nil {
		return true
	}
	return strings.Trim(last, "0123456789") == ""
}

func validName(host string) bool {
	if host == "" || len(host) > 253 {
		return false
	}
	for label := range strings.SplitSeq(host, ".") {
		if label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' {
			return false
		}
		for _, c := range []byte(label) {
			if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && c != '_' {
				return false
			}
		}
	}
	return true
}

// outside says that an address belongs to nobody near: not to this machine, its
// network, its link, or a group.
func outside(a netip.Addr) bool {
	a = a.Unmap()
	if !a.IsGlobalUnicast() || a.IsPrivate() || a.IsLoopback() || a.IsLinkLocalUnicast() {
		return false
	}
	return !slices.ContainsFunc(near(), func(p netip.Prefix) bool { return p.Contains(a) })
}

// near are networks that global addresses are embedded in, or that are kept for
// use inside of a network (RFC 6598, 6890, 6052, 3056, 4380).
func near() []netip.Prefix {
	var all []netip.Prefix
	for _, s := range []string{"0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "198.18.0.0/15", "240.0.0.0/4", "64:ff9b::/96", "64:ff9b:1::/48", "2002::/16", "2001::/32", "fec0::/10"} {
		all = append(all, netip.MustParsePrefix(s))
	}
	return all
}

// join writes an address to connect to.
func join(addr netip.Addr, port uint16) string {
	return net.JoinHostPort(addr.String(), strconv.Itoa(int(port)))
}
