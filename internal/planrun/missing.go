package planrun

import (
	"slices"
	"strings"

	"forge/internal/proc"
	"forge/internal/proof"
	"forge/internal/refusal"
	"forge/orchestrator"
)

// CheckPrograms refuses a run before anything is spent where a phase's own verify
// command begins with a program that is not installed: no agent can mend that. The
// project's own commands run on the base first, which finds it; what setup commands
// install nobody knows before.
func CheckPrograms(spec orchestrator.Spec, environ []string) error {
	if len(spec.Settings.Worktree.Setup) > 0 {
		return nil
	}
	var whys []string
	for _, ph := range spec.Plan.Phases {
		set := spec.Settings.Phases[ph.Number]
		if !set.VerifyOwn || spec.Only != nil && !slices.Contains(spec.Only, ph.Number) {
			continue
		}
		for _, command := range set.Verify {
			if program := missing(command, environ); program != "" && !slices.Contains(spec.Settings.Verify.Commands, command) {
				whys = append(whys, "phase "+ph.Number+" verifies with "+program+", which is not installed")
			}
		}
	}
	if len(whys) == 0 {
		return nil
	}
	return refusal.New("mend the command, install the program, or name what installs it in [worktree] setup", "%s", strings.Join(whys, "; "))
}

// shellWords are what a shell knows without a program.
const shellWords = " . alias bg break case cd command continue echo eval exec exit export false fg for function getopts hash if jobs kill local printf pwd read readonly return select set shift source test time times trap true type ulimit umask unalias unset until wait while "

// missing is the program that a command begins with where no folder of PATH holds
// it; "" = there is one, or nobody knows.
func missing(command string, environ []string) string {
	words, programs := strings.Fields(command), proof.Programs(command)
	if len(words) == 0 || len(programs) == 0 || words[0] != programs[0] || strings.Contains(shellWords, " "+words[0]+" ") || proc.InPath(environ, words[0]) {
		return ""
	}
	return words[0]
}
