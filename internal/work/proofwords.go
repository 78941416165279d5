package work

// Explained is a word of the proof in plain sentences.
type Explained struct {
	What string `json:"what"`    // what it means
	Way  string `json:"way_out"` // what a person can do about it
}

// ExplainProof says what a reason of a failed phase or a kind of doubt means
// where it is about the proof; ok is false for every other word.
func ExplainProof(word string) (e Explained, ok bool) {
	switch word {
	case string(ReasonEvidenceChanged):
		return Explained{
			"The work is green only with its own changes to tests, settings or scripts: with the evidence as it was it is red.",
			"Name in may_change of the phase what it is to change. What you changed yourself, take over with forge evidence accept. forge evidence PATH says why a path counts as evidence; [proof] product and evidence are your word against that.",
		}, true
	case string(ReasonProofDisturbed):
		return Explained{
			"Something interfered with the proof while it ran, or the tests cannot fail any more: what it says counts for nothing.",
			"Take out what writes files or ends the tests. What a verify command writes on purpose, name in verify.may_write.",
		}, true
	case string(DoubtWeakened):
		return Explained{
			"Everything is green, but the evidence proves less than before.",
			"Look at these lines. Request changes to have them back, or approve: then the evidence is trusted as it is now.",
		}, true
	case string(DoubtUnproven):
		return Explained{
			"This part of the change can be taken out, and no test notices.",
			"Request changes to have a test for it, or approve. [proof] unproven = \"say\" names such parts and does not hold them.",
		}, true
	case string(DoubtTestAware):
		return Explained{
			"The product asks whether it is under test, or reaches for who judges it.",
			"Look at the line and request changes, unless it is meant so. If the file is a part of the tests, name it in [proof] evidence.",
		}, true
	case string(DoubtFlaky):
		return Explained{
			"The same content was red once and green once: a green result of it says little.",
			"Mend the test that is not steady, or approve when you know why.",
		}, true
	}
	return Explained{}, false
}

// WaysOut explains each kind of doubt of a list once, in the order of the list.
func WaysOut(doubts []Doubt) []ProofLine {
	var out []ProofLine
	seen := map[DoubtKind]bool{}
	for _, one := range doubts {
		if e, ok := ExplainProof(string(one.Kind)); ok && !seen[one.Kind] {
			seen[one.Kind] = true
			out = append(out, ProofLine{Name: string(one.Kind), Text: e.What + " " + e.Way})
		}
	}
	return out
}
