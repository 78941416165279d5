package agent

import (
	"net"
	"net/url"
	"strings"
)

// endpointsOf are the hosts that an agent of a kind needs for itself: those of its
// service, and those of the variables of its environment that name another one.
func endpointsOf(kind string, environ []string) []string {
	facts, _ := FactsOf(kind)
	hosts := append([]string(nil), facts.Endpoints...)
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		if !strings.HasSuffix(name, "_BASE_URL") && !strings.HasSuffix(name, "_ENDPOINT") {
			continue
		}
		if host := hostOf(value); host != "" {
			hosts = append(hosts, host)
		}
	}
	return hosts
}

// hostOf is the host and port of an address, "" where it names none.
func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Hostname() == "" {
		return ""
	}
	port := u.Port()
	switch {
	case port != "":
	case u.Scheme == "https":
		port = "443"
	case u.Scheme == "http":
		port = "80"
	default:
		return ""
	}
	return net.JoinHostPort(u.Hostname(), port)
}
