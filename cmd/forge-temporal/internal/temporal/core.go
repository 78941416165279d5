package temporal

import (
	"strconv"

	"forge/orchestrator"
)

// CoreVersion names what the core of this program decides and how a state is written.
// It is raised with each change after which a history that an earlier one recorded
// would be replayed otherwise; the fixtures in testdata say when that is so.
const CoreVersion = orchestrator.Version

// newer says that version a of the core came after b. What is not a number is newer
// than nothing, so that no run moves to where nobody can tell what it is.
func newer(a, b string) bool {
	x, err := strconv.Atoi(a)
	if err != nil {
		return false
	}
	y, err := strconv.Atoi(b)
	return err == nil && x > y
}
