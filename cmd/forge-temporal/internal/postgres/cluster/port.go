package cluster

import (
	"math/rand/v2"
	"net"
	"strconv"
)

// FreePort is a port of a server that is killed and comes back: none of those that a
// system gives to connections (from 32768 on, mostly), one of which may have it then.
func FreePort() (string, error) {
	var err error
	for range 100 {
		port := strconv.Itoa(20000 + rand.IntN(12000))
		var l net.Listener
		if l, err = net.Listen("tcp", "127.0.0.1:"+port); err == nil {
			return port, l.Close()
		}
	}
	return "", err
}
