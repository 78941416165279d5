package landing

import (
	"time"

	"forge/internal/work"
)

// Input is one fact that enters the core, with the time at which it does.
type Input struct {
	Now time.Time
	Fact
}

// Fact is what happened: one of the types below.
type Fact interface{ fact() }

// Begin asks for a try. What a process that died left of another one is given up:
// the world may have moved, so it is looked at anew.
type Begin struct {
	For      Purpose
	Issue    int64
	Result   string
	Branch   string
	Unwanted string
	Pull     *work.IssuePull
	Retry    bool
}

// Started says that a command is being carried out from now on.
type Started struct{ Command Command }

// Looked is the end of a look.
type Looked struct {
	Command Command
	Look    Look
}

// Proved is the end of a proof.
type Proved struct {
	Command Command
	Proof   Proof
}

// Probed is the end of proving the tree of a batch.
type Probed struct {
	Command Command
	Probe   Probe
}

// Landed is the end of moving the target.
type Landed struct {
	Command Command
	Made    Made
}

// Checked is the end of a check.
type Checked struct {
	Command Command
	Check   Check
}

// Tidied is the end of tidying up.
type Tidied struct{ Command Command }

// Broke says that a command could not be carried out, which is neither yes nor no.
// Trouble is what the host said; nil = Forge itself is to blame, see Problem, unless
// Short says what the machine ran out of.
type Broke struct {
	Command Command
	Trouble *work.PullTrouble
	After   time.Duration // the host asks for silence
	Problem string
	Short   string
}

// settled asks what follows from the state alone.
type settled struct{}

func (Begin) fact()   {}
func (Started) fact() {}
func (Looked) fact()  {}
func (Proved) fact()  {}
func (Probed) fact()  {}
func (Landed) fact()  {}
func (Checked) fact() {}
func (Tidied) fact()  {}
func (Broke) fact()   {}
func (settled) fact() {}
