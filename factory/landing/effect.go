package landing

// Effect is all that carrying a command out takes, as a plain value.
type Effect interface{ effect() }

// LookEffect reads how target and pull request stand. With ForLand and ForShow the
// pull request is made to show the result first; with ForAgain, and where the
// result is unwanted, nothing is changed.
type LookEffect struct {
	Command Command
	BeganData
}

// ProveEffect merges At with the target, and has the project's commands judge just
// that.
type ProveEffect struct {
	Command Command
	Target  string
	Onto    string
	At      string
	Here    bool
	Host    bool
	Known   []Probe // trees whose verdict is known already
	// Told is the pull request in which people are told that it is red, since At is
	// what they pushed; 0 = they are not.
	Told int64
}

// LandEffect moves the target from Head to Commit, or has the host merge At on
// Onto: whatever is elsewhere by then makes it come to nothing.
type LandEffect struct {
	Command Command
	Target  string
	Here    bool
	Head    string // "" = there is no such branch
	Onto    string
	Commit  string
	At      string
	Number  int64 // of the pull request, 0 = there is no host
	// Together says that Commit holds other pull requests as well: the target is moved
	// to it by a push, and each is marked as merged.
	Together bool
}

// CheckEffect sees whether the target holds what the host merged to, and, where
// that is another tree than the proven one, whether the target is good as it is.
type CheckEffect struct {
	Command Command
	Target  string
	Commit  string
	Tree    string
}

// TidyEffect deletes the branch of a result that has landed.
type TidyEffect struct {
	Command Command
	Branch  string
	Head    string
	Number  int64
}

func (LookEffect) effect()  {}
func (ProveEffect) effect() {}
func (LandEffect) effect()  {}
func (CheckEffect) effect() {}
func (TidyEffect) effect()  {}

// EffectOf is what carrying out a pending command takes; nil where it is not
// pending.
func EffectOf(s *State, c Command) Effect {
	if due, ok := Pending(s); !ok || due.ID != c.ID {
		return nil
	}
	number := int64(0)
	if s.Look != nil && s.Look.Pull != nil {
		number = s.Look.Pull.Number
	}
	switch c.Step {
	case StepLook:
		return LookEffect{Command: c, BeganData: s.Of}
	case StepProve:
		e := ProveEffect{Command: c, Target: s.Look.Target, Onto: s.Look.Onto, At: s.at(), Here: s.Look.Here, Host: s.Look.Host, Known: s.Probes}
		if ofPeople(s.Look.Pull) {
			e.Told = number
		}
		return e
	case StepLand:
		return LandEffect{
			Command: c, Target: s.Look.Target, Here: s.Look.Here, Head: s.Look.Head, Onto: s.Proof.Onto, Commit: s.Proof.Commit, At: s.Proof.At, Number: number,
			Together: s.Look.Host && len(s.Proof.With) > 0,
		}
	case StepCheck:
		return CheckEffect{Command: c, Target: s.Look.Target, Commit: s.merged(), Tree: s.proven()}
	case StepTidy:
		return TidyEffect{Command: c, Branch: s.Of.Branch, Head: s.at(), Number: number}
	}
	return nil
}
