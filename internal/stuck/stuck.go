// Package stuck tells from the iterations of a phase whether its agent works,
// turns in circles, or waits. It is values in and a verdict out: nothing is
// stored, measured or asked here.
package stuck

// State is what a phase is seen to do.
type State string

// The states. A phase whose iterations say nothing works.
const (
	Working State = "working"
	Stuck   State = "stuck"
	Waiting State = "waiting"
)

// Pattern is the way in which a phase is stuck.
type Pattern string

// The patterns.
const (
	NoChange   Pattern = "no_change"     // nothing changed, and nothing new was learnt
	EditRevert Pattern = "edit_revert"   // the files go back to what they were
	Cycle      Pattern = "cycle"         // the same few states, or failing tests, in the same order
	SameTests  Pattern = "same_failing"  // the files change, the tests that fail do not
	Comments   Pattern = "comments_only" // only blanks and comments change
	Polishing  Pattern = "polishing"     // all is green, and the same change is made over and over
	Busywork   Pattern = "busywork"      // the same change is made over and over, or beside what fails
	DeadWait   Pattern = "dead_wait"     // what it waits for is gone
	WordsAlone Pattern = "waiting_words" // it says that it waits, and nobody knows for what
)

// Patterns are all of them, for documents and their tests.
func Patterns() []Pattern {
	return []Pattern{NoChange, EditRevert, Cycle, SameTests, Comments, Polishing, Busywork, DeadWait, WordsAlone}
}

// WaitKind is what an agent waits for.
type WaitKind string

// The kinds of waiting.
const (
	WaitCI      WaitKind = "ci"      // checks of a code host
	WaitLimit   WaitKind = "limit"   // a usage limit
	WaitPerson  WaitKind = "person"  // an answer of a person
	WaitProcess WaitKind = "process" // a process that computes
	WaitOutage  WaitKind = "outage"  // a provider that is out
)

// WaitKinds are all of them.
func WaitKinds() []WaitKind {
	return []WaitKind{WaitCI, WaitLimit, WaitPerson, WaitProcess, WaitOutage}
}

// Wait says what an iteration waited for, and whether that still lives.
type Wait struct {
	Kind  WaitKind `json:"kind"`
	Alive bool     `json:"alive"`
}

// Call is one use of a tool. What it was called with and what came back may be
// digests: they are compared, never read.
type Call struct {
	Name string `json:"name"`
	// Subject is what the call is about, see Subject: two parts of one file
	// have the same one.
	Subject string `json:"subject,omitempty"`
	Args    string `json:"args,omitempty"`
	// Result is what came back, without times, counters and paths of the machine.
	Result string `json:"result,omitempty"`
	Error  bool   `json:"error,omitempty"`
	// Edit says that the call writes files. What it did stands in the tree, so
	// that its result is no news.
	Edit bool `json:"edit,omitempty"`
}

// Iteration is what is known of one iteration.
type Iteration struct {
	N int
	// Failed says that the agent could not work. Such an iteration is evidence of nothing.
	Failed  bool
	Changed bool   // the files differ from those before it
	Tree    string // all files, as one digest
	// Shape is a digest of the change without blanks, comments and renames; "" =
	// nothing is left of it, or it is not known.
	Shape string
	// Bare says that Shape is "" since only blanks, comments and names changed.
	Bare  bool
	Files []string // that the change touches
	Said  string   // the last message
	// Progress is the highest percentage that was reported, 0 = none.
	Progress float64
	Calls    []Call
	// Tested says that Failing is known: the tests that failed when they last ran.
	Tested  bool
	Failing []string
	// Red is a digest of a verify that was red, "" = it did not run or was green.
	Red string
	// Wait is what it waited for, as far as Forge knows; Word is what the agent
	// says that it waits for.
	Wait *Wait
	Word WaitKind
	// Steered says that Forge or a person spoke before this iteration: what was
	// counted begins anew, what was seen stays seen.
	Steered bool
}

// Rules are the thresholds, in iterations.
type Rules struct {
	Idle  int // without a change of the files, or with none that is new; below 1 = nothing is ever stuck
	Same  int // changes after which the same tests still fail
	Long  int // without a change of the files although new things were read, or on the word of the agent that it waits
	Turns int // rounds of a cycle
}

// DefaultThreshold is the threshold of RulesFor that Forge begins with.
const DefaultThreshold = 3

// RulesFor are the rules that one threshold gives, below 1 = off: so many
// iterations without anything new, one more with the same failing tests, about
// three times as many when something is still learnt.
func RulesFor(threshold int) Rules {
	if threshold < 1 {
		return Rules{}
	}
	return Rules{Idle: threshold, Same: threshold + 1, Long: 3*threshold + 1, Turns: 2}
}

// Verdict is what Judge says.
type Verdict struct {
	State State `json:"state"`
	// Since is the number of the first iteration of the stretch; 0 when working.
	Since    int     `json:"since,omitempty"`
	Pattern  Pattern `json:"pattern,omitempty"`  // of what is stuck
	Evidence string  `json:"evidence,omitempty"` // one sentence, of what is stuck
	// Wait is the kind of what waits, and Known that Forge sees it. Otherwise the
	// agent says so, or it was read from its words.
	Wait  WaitKind `json:"wait,omitempty"`
	Known bool     `json:"known,omitempty"`
}

// Judge says what the last of these iterations shows, which come in their order.
func Judge(history []Iteration, r Rules) Verdict {
	if r.Idle < 1 || len(history) == 0 || history[len(history)-1].Failed {
		return Verdict{State: Working}
	}

	read := readings(history)
	last := read[len(read)-1]
	if last.waits {
		return r.waiting(read)
	}

	// Iterations that waited or failed neither count nor begin anew.
	stretch := make([]reading, 0, len(read))
	for _, x := range read {
		if x.it.Steered {
			stretch = stretch[:0]
		}
		if !x.waits && !x.it.Failed {
			stretch = append(stretch, x)
		}
	}
	for _, rule := range []func([]reading) (Verdict, bool){r.nothingNew, r.noChange, r.turns, r.sameTests, r.sameRed} {
		if v, found := rule(stretch); found {
			v.State = Stuck
			return v
		}
	}
	return Verdict{State: Working}
}

// waiting is the verdict on iterations of which the last waits. What Forge knows
// of is waited for as long as it lives; the agent's words alone hold for Long.
func (r Rules) waiting(read []reading) Verdict {
	last := read[len(read)-1]
	v := Verdict{State: Waiting, Since: last.it.N, Wait: last.wait, Known: last.known}
	words := 0
	for i := len(read) - 1; i >= 0 && (read[i].waits || read[i].it.Failed); i-- {
		if read[i].known {
			break
		}
		if read[i].waits {
			words++
			v.Since = read[i].it.N
		}
		if read[i].it.Steered {
			break
		}
	}
	if last.known || words < r.Long {
		return v
	}
	return Verdict{State: Stuck, Since: v.Since, Pattern: WordsAlone, Evidence: wordsEvidence(words)}
}
