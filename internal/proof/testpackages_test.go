package proof

import "testing"

// A package of the tree that is there for tests alone is evidence, new files in
// it as well; one that product depends on too is product.
func TestPackagesForTestsAlone(t *testing.T) {
	m := survey1(t, memory{
		"Cargo.toml":             "[package]\nname = \"ledger\"\nversion = \"1.0.0\"\n\n[dependencies]\nmoney = { path = \"crates/money\" }\n\n[dev-dependencies]\nsame = { path = \"crates/same\" }\nmoney = { path = \"crates/money\" }\nrand = \"1\"\n\n[target.'cfg(unix)'.dev-dependencies]\nunixy = { path = \"./crates/unixy\" }\n",
		"src/lib.rs":             "pub fn add() {}\n",
		"crates/same/Cargo.toml": "[package]\nname = \"same\"\n", "crates/same/src/lib.rs": "pub fn same() {}\n",
		"crates/unixy/src/lib.rs": "pub fn x() {}\n", "crates/money/Cargo.toml": "[package]\nname = \"money\"\n", "crates/money/src/lib.rs": "pub fn m() {}\n",
		"tests/calc.rs": "#[test]\nfn adds() { same::same(); }\n",
	}, "cargo test")
	sees(t, m, Evidence, "crates/same/src/lib.rs crates/same/src/new.rs crates/unixy/src/lib.rs tests/calc.rs")
	sees(t, m, Product, "src/lib.rs crates/money/src/lib.rs crates/money/src/new.rs")

	js := survey1(t, memory{
		"package.json": `{"devDependencies": {"judge": "file:./judge", "both": "link:both"}, "dependencies": {"both": "file:both"}}`,
		"index.js":     "require('both')\n", "judge/index.js": "exports.same = (a, b) => a === b\n", "judge/package.json": `{"main": "index.js"}`, "both/index.js": "exports.x = 1\n",
		"a.test.js": "const { same } = require('judge')\ntest('a', () => {})\n",
	}, "npm test")
	sees(t, js, Evidence, "judge/index.js judge/new.js a.test.js")
	sees(t, js, Product, "index.js both/index.js")
}
