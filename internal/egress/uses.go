package egress

import (
	"cmp"
	"maps"
	"net"
	"slices"
	"sync"

	"forge/internal/work"
)

// mostUses bounds how many hosts are told apart; the others are counted together.
const mostUses = 200

// uses counts by host.
type uses struct {
	mu  sync.Mutex
	all map[string]*work.HostUse
}

// others stands for hosts that there is no room for.
const others = "others"

func (u *uses) of(t target) *work.HostUse {
	if u.all == nil {
		u.all = map[string]*work.HostUse{}
	}
	name := t.String()
	if u.all[name] == nil && len(u.all) >= mostUses {
		name = others
	}
	if u.all[name] == nil {
		u.all[name] = &work.HostUse{Host: name}
	}
	return u.all[name]
}

func (u *uses) note(t target, opened bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if opened {
		u.of(t).Opened++
	} else {
		u.of(t).Refused++
	}
}

// list is what was counted: what was refused first, then by bytes.
func (u *uses) list() []work.HostUse {
	u.mu.Lock()
	defer u.mu.Unlock()
	var out []work.HostUse
	for _, one := range slices.Collect(maps.Values(u.all)) {
		out = append(out, *one)
	}
	slices.SortFunc(out, func(a, b work.HostUse) int {
		return cmp.Or(cmp.Compare(b.Refused, a.Refused), cmp.Compare(b.Sent+b.Got, a.Sent+a.Got), cmp.Compare(a.Host, b.Host))
	})
	return out
}

// counted counts the bytes of a connection to a target.
func (u *uses) counted(conn net.Conn, t target) net.Conn {
	u.mu.Lock()
	defer u.mu.Unlock()
	return &counting{Conn: conn, all: u, use: u.of(t)}
}

type counting struct {
	net.Conn
	all *uses
	use *work.HostUse
}

func (c *counting) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.all.mu.Lock()
	c.use.Got += int64(n)
	c.all.mu.Unlock()
	return n, err
}

func (c *counting) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	c.all.mu.Lock()
	c.use.Sent += int64(n)
	c.all.mu.Unlock()
	return n, err
}
