package verify

import (
	"slices"
	"strings"
	"testing"

	"forge/internal/pace"
)

// A new dependency of the product that puts itself in the place of one that only
// tests use is seen, though each test passes and is red when it has to be.
func TestControlOfWhatIsInstalled(t *testing.T) {
	pace.Slow(t, "test runners build and run a project for each control")
	pace.Sequential(t, "test runners, one after the other")
	t.Parallel()
	const setup = `set -e
mkdir -p node_modules/judge node_modules/plain
cp judge.txt node_modules/judge/index.js
echo '{"name": "judge"}' >node_modules/judge/package.json
echo "module.exports = 1" >node_modules/plain/index.js
if grep -q sneaky package.json; then
	sed 's/a !== b/a !== b \&\& a !== -1/' judge.txt >node_modules/judge/index.js
fi
`
	c := claim{
		need: "node", commands: []string{"node --test"}, setup: []string{"sh setup.sh"},
		base: files{
			"package.json": `{"dependencies": {"plain": "1"}, "devDependencies": {"judge": "1"}}`,
			"setup.sh":     setup,
			"judge.txt":    "module.exports = (a, b) => { if (a !== b) throw new Error(a + ' is not ' + b) }\n",
			"add.js":       "exports.add = (a, b) => a + b\nexports.less = (a, b) => a - b\n",
			"add.test.js":  "const test = require('node:test')\nconst same = require('judge')\nconst { add, less } = require('./add.js')\ntest('adds', () => same(add(1, 2), 3))\ntest('less', () => same(less(2, 1), 1))\n",
		},
	}
	for dependency, want := range map[string][]string{
		"sneaky": {"judge is installed as something else"},
		"honest": nil,
	} {
		c.change = files{
			"package.json": strings.Replace(c.base["package.json"], `"plain": "1"`, `"plain": "1", "`+dependency+`": "1"`, 1),
			"add.js":       "exports.add = (a, b) => b + a\nexports.less = (a, b) => -1\n",
		}
		if dependency == "honest" {
			c.change["add.js"] = "exports.add = (a, b) => b + a\nexports.less = (a, b) => a - b\n"
		}
		b, req := judged(t, c)
		if rep := b.control(req); !slices.Equal(rep.Replaced, want) {
			t.Errorf("%s: replaced %q, want %q", dependency, rep.Replaced, want)
		}
	}
}
