package proof

import (
	"bytes"
	"errors"
)

// How says what the mixing met at a path.
type How string

// What the mixing may meet.
const (
	Same    How = "same"    // product, or no difference of evidence
	Grew    How = "grew"    // evidence was only added
	Changed How = "changed" // evidence is as trusted again
	Removed How = "removed" // evidence is there again
)

// Mixed is what stands at a path in a mixed tree.
type Mixed struct {
	Seen    Seen
	Content []byte // nil = nothing
	How     How
	Note    string // for Parts: which of them
}

// Mix says what stands at a path in the tree of trusted evidence and the
// snapshot's product. nil content is absent.
func (m *Map) Mix(file string, trusted, snapshot []byte) Mixed {
	seen := m.See(file, snapshot)
	if seen.Class == Product && trusted != nil && m.holdsTests(file, trusted) {
		seen = Seen{file, Parts, RuleInlineTest, "it holds tests, which are evidence at their lines"}
	}
	switch seen.Class {
	case Product:
		return Mixed{Seen: seen, Content: snapshot, How: Same}
	case Parts:
		mixed, err := m.mixParts(seen, trusted, snapshot)
		if err == nil {
			mixed.Seen = seen
			return mixed
		}
		seen.Why = "its parts cannot be told apart: " + err.Error()
		seen.Rule = RuleUnknown
		seen.Class = Evidence
	}
	return mixWhole(seen, trusted, snapshot)
}

// mixWhole puts a file of evidence back.
func mixWhole(seen Seen, trusted, snapshot []byte) Mixed {
	mixed := Mixed{Seen: seen, Content: trusted, How: Changed}
	switch {
	case same(trusted, snapshot):
		mixed.How = Same
	case trusted == nil:
		mixed.How = Grew
	case snapshot == nil:
		mixed.How = Removed
	}
	return mixed
}

func same(a, b []byte) bool { return bytes.Equal(a, b) && (a == nil) == (b == nil) }

var errNoParts = errors.New("no reader for it")

// mixParts goes by the parts of a file; an error means that they cannot be
// told apart, and the whole file is evidence.
func (m *Map) mixParts(seen Seen, trusted, snapshot []byte) (Mixed, error) {
	if same(trusted, snapshot) {
		return Mixed{Content: trusted, How: Same}, nil
	}
	switch seen.Rule {
	case RuleManifest:
		return m.mixManifest(seen.Path, trusted, snapshot)
	case RuleLock:
		return m.mixLock(seen.Path, trusted, snapshot)
	case RuleInlineTest:
		return m.mixInline(seen.Path, trusted, snapshot)
	}
	return Mixed{}, errNoParts
}
