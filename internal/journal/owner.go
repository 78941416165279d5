package journal

import (
	"crypto/rand"
	"os"
	"time"
)

// LeaseTimeout is how long after its last heartbeat a lease still holds.
// Owners beat every HeartbeatEvery, so that two lost beats do no harm.
const (
	LeaseTimeout   = 30 * time.Second
	HeartbeatEvery = 8 * time.Second
)

// Owner is a process that may hold leases.
type Owner struct {
	ID   string // random, one for each Self
	PID  int
	Host string
	// Boot names this boot of the machine and the process namespace in which
	// PID means something; "" where the system does not tell (then an owner
	// is never known dead and its heartbeat alone counts).
	Boot string
	// StartTime of the process, in the system's own unit since boot: with it
	// a PID that was given to another process is not mistaken.
	StartTime int64
}

// Together says that it is no single process: several that drive a run together join its
// lease.
func (o Owner) Together() bool { return o.PID == 0 }

// Self is the calling process.
func Self() Owner {
	pid := os.Getpid()
	host, boot := place()
	start, _ := startTime(pid)
	return Owner{ID: rand.Text(), PID: pid, Host: host, Boot: boot, StartTime: start}
}

// place is where a process runs: its host, and boot as in Owner.
func place() (host, boot string) {
	// An unknown host equals no other: then nobody is known dead.
	host, err := os.Hostname()
	if err != nil {
		return "", ""
	}
	return host, bootID()
}

// Dead says that the owner is known not to run any more. false = alive or
// not known.
func (o Owner) Dead() bool {
	host, boot := place()
	if boot == "" || o.Boot != boot || o.Host != host {
		return false
	}
	start, state := startTime(o.PID)
	switch state {
	case processGone:
		return true
	case processRuns:
		return start != o.StartTime
	default:
		return false
	}
}

// processState is what the system says about a process.
type processState int

const (
	processUnknown processState = iota
	processGone
	processRuns
)
