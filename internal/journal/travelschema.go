package journal

// travelTables are the runs that are at a remote, and which state of each this
// machine knows there. A run that is not here takes no lease and no answer.
const travelTables = `
CREATE TABLE travels (
	run    INTEGER PRIMARY KEY REFERENCES runs(n),
	remote TEXT NOT NULL,    -- its name in the user's repository; '' = it is at none any more
	tip    TEXT NOT NULL,    -- commit that was there last; '' = none yet
	sent   TEXT NOT NULL,    -- commit that was about to be pushed; '' = none
	claim  TEXT NOT NULL,    -- what this machine claims it with, or did last
	here   INTEGER NOT NULL, -- 1 = this machine holds the claim
	came   INTEGER NOT NULL DEFAULT 0 -- 1 = another machine opened it
) STRICT;
`
