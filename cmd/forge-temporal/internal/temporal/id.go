package temporal

// NewID is a name that no other host has.
func NewID() string { return newSeed()[:12] }
