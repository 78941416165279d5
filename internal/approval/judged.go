package approval

import (
	"forge/gates"
	"forge/internal/work"
	"forge/orchestrator"
)

// JudgedCommit is the commit that an answer to cp is about. Findings are about the
// tree that was reviewed, whatever a later fix left behind.
func JudgedCommit(ph *orchestrator.View, cp work.Checkpoint) string {
	if gates.Point(cp.Kind) == gates.PointFindings && ph.Review.Commit != "" {
		return ph.Review.Commit
	}
	return ph.Last
}
