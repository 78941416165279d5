package journal

// talkTables are conversations with the companion, line by line. A line is never
// changed; what became of a proposal is a line of its own.
const talkTables = `
CREATE TABLE talks (
	about TEXT NOT NULL,    -- id of a run; 'board:' and a project's name = its board
	n     INTEGER NOT NULL, -- from 1
	at    INTEGER NOT NULL,
	data  TEXT NOT NULL,    -- as JSON
	PRIMARY KEY (about, n)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER talks_stay BEFORE UPDATE ON talks BEGIN SELECT raise(ABORT, 'a conversation is only added to'); END;
CREATE TRIGGER talks_keep BEFORE DELETE ON talks BEGIN SELECT raise(ABORT, 'a conversation is only added to'); END;
`
