package temporal

// CoreVersion names what the core decides and how a state is written. It is raised
// with each change after which a history that an earlier one recorded would be
// replayed otherwise; the fixtures in testdata say when that is so.
const CoreVersion = "1"
