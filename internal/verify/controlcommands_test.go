package verify

import (
	"strings"
	"testing"
)

// scriptClaim is a project whose tests are a script, which no runner can be asked
// about.
func scriptClaim(product string) claim {
	return claim{
		commands: []string{"sh tests/test_calc.sh"},
		base: files{
			"calc.sh":            "add() { echo $(($1 + $2)); }\n",
			"tests/test_calc.sh": ". ./calc.sh\nset -e\n[ \"$(add 1 2)\" = 3 ]\n",
		},
		change: files{"calc.sh": product},
	}
}

// Where no runner can be asked, the verify commands themselves have to be able to
// say no with the product in place.
func TestCommandsHaveToBeAbleToSayNo(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		product string
		deaf    bool
	}{
		"honest":           {"add() { echo $(($2 + $1)); }\n", false},
		"ends the process": {"exit 0\n", true},
		"forgives":         {"add() { echo $(($2 + $1)); }\ntrap 'exit 0' EXIT\n", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, req := judged(t, scriptClaim(c.product))
			req.Tests = []string{"tests/test_calc.sh"}
			for range 2 { // what is known of the trusted state is kept
				rep := b.control(req)
				if deaf := len(rep.Deaf) > 0; deaf != c.deaf {
					t.Fatalf("deaf: %q, want %v", rep.Deaf, c.deaf)
				}
				if c.deaf {
					continue
				}
				if len(rep.Runners) != 1 || rep.Runners[0].Wrong != 1 || rep.Red.Done != 1 || strings.Contains(rep.Runners[0].Why, "no red control") {
					t.Errorf("runners %+v, red %+v", rep.Runners, rep.Red)
				}
			}
		})
	}
}

// An expectation that the verify commands do not look at shows nothing, and is no
// reproach.
func TestCommandsThatLookAtNothingAreSaid(t *testing.T) {
	t.Parallel()
	c := scriptClaim("add() { echo $(($2 + $1)); }\n")
	c.commands = []string{"test -f calc.sh"}
	b, req := judged(t, c)
	req.Tests = []string{"tests/test_calc.sh"}
	rep := b.control(req)
	if len(rep.Deaf) > 0 || len(rep.Runners) != 1 || !strings.Contains(rep.Runners[0].Why, "no red control") {
		t.Errorf("%+v, deaf %q", rep.Runners, rep.Deaf)
	}
}
