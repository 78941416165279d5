package web

import (
	"sync"
	"time"
)

const (
	// signInRate and signInBurst are tries to sign in from one address.
	signInRate, signInBurst = 1.0 / 6, 10
	// signInAll is for all addresses together, against who has many.
	signInAllRate, signInAllBurst = 2, 60
	// writeRate and writeBurst are changes that one person makes.
	writeRate, writeBurst = 400, 800
	// mostBuckets bounds what is remembered; beyond it full buckets are dropped.
	mostBuckets = 10_000
)

// limits says who asks too often.
type limits struct {
	now func() time.Time

	mu      sync.Mutex
	buckets map[string]*bucket
}

type bucket struct {
	left float64
	at   time.Time
}

func (l *limits) signIn(from string) bool {
	return l.take("sign-in "+from, signInRate, signInBurst) && l.take("sign-in", signInAllRate, signInAllBurst)
}

func (l *limits) write(who string) bool { return l.take("write "+who, writeRate, writeBurst) }

// take takes one of a bucket that fills at rate per second up to burst.
func (l *limits) take(key string, rate, burst float64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	b := l.buckets[key]
	if b == nil {
		if len(l.buckets) >= mostBuckets {
			l.drop(now)
		}
		if l.buckets == nil {
			l.buckets = map[string]*bucket{}
		}
		b = &bucket{left: burst, at: now}
		l.buckets[key] = b
	}
	b.left = min(burst, b.left+max(0, now.Sub(b.at).Seconds())*rate)
	b.at = now
	if b.left < 1 {
		return false
	}
	b.left--
	return true
}

// drop forgets buckets that nobody used for ten minutes: all are full again by
// then. When there are none, the map starts anew rather than grow for ever.
func (l *limits) drop(now time.Time) {
	for key, b := range l.buckets {
		if now.Sub(b.at) > 10*time.Minute {
			delete(l.buckets, key)
		}
	}
	if len(l.buckets) >= mostBuckets {
		clear(l.buckets)
	}
}
