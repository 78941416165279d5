package work

import (
	"testing"

	"forge/internal/text/texttest"
)

// What nobody sees comes through nowhere.
func TestHiddenCharactersAreNotPassedOn(t *testing.T) {
	texttest.Seen(t, "a line of a record", OneLine)
	for _, r := range texttest.Hidden() {
		for _, name := range []string{"a" + string(r) + "b", string(r)} {
			if badLine(name, 100) == "" || len(checkName(name)) == 0 {
				t.Errorf("%+q is taken for a name", name)
			}
		}
	}
}
