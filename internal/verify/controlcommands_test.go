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

// A changed test program whose failures lead nowhere is named, though its exit code
// could still be another.
func TestCommandsAskedAboutChangedTests(t *testing.T) {
	t.Parallel()
	const (
		test = "tests/test_calc.c"
		was  = "#include \"check.h\"\nint add(int, int);\n\nint main(void)\n{\n\tCHECK(add(2, 3) == 5);\n\treturn 0;\n}\n"
	)
	for name, c := range map[string]struct {
		add  string // before main
		soft bool
	}{
		"another function": {"static int twice(int a)\n{\n\treturn a + a;\n}\n#define TWO (twice(1))\n\n", false},
		"exit goes":        {"static void leave(int code)\n{\n\t(void)code;\n}\n#define exit(x) leave(x)\n\n", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, req := judged(t, claim{
				need: "gcc", commands: []string{"gcc -o t calc.c tests/test_calc.c && ./t"},
				base:   files{"calc.c": "int add(int a, int b)\n{\n\treturn a + b;\n}\n", "tests/check.h": "#include <stdlib.h>\n#define CHECK(x) do { if (!(x)) exit(1); } while (0)\n", test: was},
				change: files{test: strings.Replace(was, "int main", c.add+"int main", 1)},
			})
			req.Commit, req.Product, req.Changed, req.Tests = "base", nil, []string{test}, []string{test}
			if rep := b.control(req); len(rep.Softened) > 0 != c.soft {
				t.Errorf("softened: %q, want %v", rep.Softened, c.soft)
			}
		})
	}
}
