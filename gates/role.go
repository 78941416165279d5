package gates

import "forge/internal/work"

// The roles of who answers, from the least. An owner holds the key of the state
// folder, by which alone the command line lets anybody answer.
const (
	RoleReviewer = "reviewer" // may review on the code host
	RoleOwner    = "owner"
)

// WhoAnswers is the least role that may answer a checkpoint. A word that is
// none leaves it to the owner.
func WhoAnswers(cp work.Checkpoint) string {
	if cp.Who == RoleReviewer {
		return RoleReviewer
	}
	return RoleOwner
}

// MayAnswer says whether somebody of that role may answer cp; "" is the owner,
// who may answer everything, and a word that is none may answer nothing.
func MayAnswer(cp work.Checkpoint, role string) bool {
	switch role {
	case "", RoleOwner:
		return true
	case RoleReviewer:
		return WhoAnswers(cp) == RoleReviewer
	}
	return false
}
