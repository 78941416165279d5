package journal

// postTables are the messages of Forge at places outside, such as a chat: which
// are to be there, and which are. A row without a ref is a message that was about
// to be posted: whoever finds it looks at the place before it posts.
const postTables = `
CREATE TABLE posts (
	place   TEXT NOT NULL,
	subject TEXT NOT NULL,    -- what it is about
	ref     TEXT NOT NULL,    -- by which the place knows it; '' = nobody knows yet whether it is there
	shown   TEXT NOT NULL,    -- hash of what it says; '' = nothing of which we know
	over    INTEGER NOT NULL, -- 1 = it says how it ended, and is not looked at again
	at      INTEGER NOT NULL, -- when it was first to be posted
	PRIMARY KEY (place, subject)
) STRICT, WITHOUT ROWID;
CREATE INDEX posts_ref  ON posts(place, ref);
CREATE INDEX posts_open ON posts(place, subject) WHERE over = 0;
`
