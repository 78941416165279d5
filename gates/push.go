package gates

// Pushes says whether what waits at these points is pushed to people, rather
// than shown in the list of checkpoints alone. Confirmations of intent and
// context come often and cost nothing to leave: they are never pushed, unless
// they ask a question (clarify). Everything else is, and what is not known
// here too.
func Pushes(points []Point, clarify bool) bool {
	if clarify || len(points) == 0 {
		return true
	}
	for _, pt := range points {
		if pt != PointIntent && pt != PointContext {
			return true
		}
	}
	return false
}
