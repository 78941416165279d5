package config

import (
	"fmt"
	"reflect"

	"forge/internal/egress"
	"forge/internal/work"
)

// Network is sandbox.network: true, false, or the hosts that may be reached.
type Network []string

// What stands for true and false: no host can be called that.
const (
	networkOn  = "\x00true"
	networkOff = "\x00false"
)

var networkType = reflect.TypeFor[Network]()

func networkOf(on bool) Network {
	if on {
		return Network{networkOn}
	}
	return Network{networkOff}
}

// On says that everything may be reached.
func (n Network) On() bool { return len(n) == 1 && n[0] == networkOn }

// Off says that nothing may.
func (n Network) Off() bool { return len(n) == 1 && n[0] == networkOff }

// literal is n as TOML, "" where it is a list.
func (n Network) literal() string {
	switch {
	case n.On():
		return "true"
	case n.Off():
		return "false"
	}
	return ""
}

// settings puts n into the settings of a sandbox.
func (n Network) settings(s *work.SandboxSettings) {
	s.Network, s.OnlyHosts = n.On(), !n.On() && !n.Off() && n != nil
	if s.OnlyHosts {
		s.Hosts = append([]string(nil), n...)
	}
}

// checkNetwork refuses hosts of a project that its user's configuration does not
// let through.
func (c *Config) checkNetwork(col *collector) {
	var before Network
	for _, l := range c.layers {
		now := l.said.Sandbox.Network
		if now == nil {
			continue
		}
		if l.kind == layerProject && !before.On() && !now.Off() {
			wider, _ := egress.ParseRules(before)
			for i, word := range now {
				path := []string{"sandbox", "network", element(i)}
				if one, err := egress.ParseRule(word); err == nil && !wider.Covers(one) {
					col.add(l.file, l.index.find(path), fmt.Sprintf("%s names %s, which your own configuration does not let through", dotted(path), word),
						"remove it, or name it in sandbox.network of the user's configuration")
				}
			}
		}
		before = now
	}
}
