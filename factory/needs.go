package factory

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"forge/dag"
	"forge/internal/work"
)

// CheckNeeds says whether issue may need what it lists, beside what the other
// issues of its project need; nil is yes, else it is a *Refusal that names every
// unknown issue or the exact cycle. A new issue has number 0.
func CheckNeeds(g work.BoardGraph, issue int64, needs []int64) error {
	var nodes []dag.Node[int64]
	for id, of := range g.Needs {
		if id != issue {
			nodes = append(nodes, dag.Node[int64]{Key: id, Needs: of})
		}
	}
	nodes = append(nodes, dag.Node[int64]{Key: issue, Needs: needs})
	_, err := dag.New(nodes)
	var bad *dag.Problems[int64]
	switch {
	case err == nil:
		return nil
	case !errors.As(err, &bad):
		return fmt.Errorf("check needs of issue %d: %w", issue, err)
	}
	var said []string
	for _, m := range bad.Unknown {
		if m.Node == issue {
			said = append(said, fmt.Sprintf("issue %d is unknown", m.Need))
		}
	}
	if slices.Contains(bad.Self, issue) {
		said = append(said, fmt.Sprintf("issue %d needs itself", issue))
	}
	for _, c := range bad.Cycles {
		if slices.Contains(c, issue) {
			said = append(said, "needs form a cycle: "+chain(c))
		}
	}
	if len(said) == 0 {
		// What other issues need was wrong before; that is no reason to go on.
		said = []string{"the board's needs are no graph: " + strings.ReplaceAll(bad.Error(), "\n", "; ")}
	}
	return refuse("remove one of the needs", "%s", strings.Join(said, "; "))
}

// chain is a cycle written out, its first issue at both ends.
func chain(cycle []int64) string {
	var b strings.Builder
	for _, id := range cycle {
		fmt.Fprintf(&b, "%d → ", id)
	}
	fmt.Fprintf(&b, "%d", cycle[0])
	return b.String()
}
