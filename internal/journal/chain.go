package journal

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"

	"forge/internal/work"
)

// Hash is one link of a run's chain.
type Hash [sha256.Size]byte

// String is the hash in hexadecimal, as it appears in refs and trailers.
func (h Hash) String() string { return hex.EncodeToString(h[:]) }

// Root is the link before a run's first event: the hash of the run's id, so
// that no run's events can be passed off as another's.
func Root(run string) Hash { return sha256.Sum256([]byte(run)) }

// Link is the hash of e after prev. It covers every stored field as it is
// stored, before any upcast: time to the nanosecond and without its zone, data
// byte for byte.
func Link(prev Hash, e work.Event) Hash {
	h, _ := link(nil, prev, e)
	return h
}

// link is Link with a buffer that the caller keeps from event to event. Texts
// carry their length, so that no two events share an encoding.
func link(buf []byte, prev Hash, e work.Event) (Hash, []byte) {
	buf = append(buf[:0], prev[:]...)
	buf = binary.AppendVarint(buf, int64(e.V))
	buf = binary.AppendVarint(buf, e.Seq)
	buf = binary.AppendVarint(buf, e.Time.UnixNano())
	buf = binary.AppendVarint(buf, int64(e.Iteration))
	buf = binary.AppendVarint(buf, int64(e.Attempt))
	for _, text := range [...]string{e.Run, string(e.Kind), e.Phase} {
		buf = binary.AppendUvarint(buf, uint64(len(text)))
		buf = append(buf, text...)
	}
	buf = binary.AppendUvarint(buf, uint64(len(e.Data)))
	buf = append(buf, e.Data...)
	return sha256.Sum256(buf), buf
}
