package orchestrator

// Version names what the core decides, and how a state is written. It is raised with
// each change after which a history that an earlier core recorded would be replayed
// otherwise. It is a number, so that machines know which of two is the newer one.
const Version = "1"
