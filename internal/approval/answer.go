package approval

// MaxComment is how much of a comment reaches the agent and the journal, in
// bytes; a longer one is refused rather than cut.
const MaxComment = 4000
