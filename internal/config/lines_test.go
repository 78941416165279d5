package config

import (
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/BurntSushi/toml"
)

const manyForms = `# comment [x]
top = 1 # a = 2
"quoted key" . 'lit.eral' = "a # \" b"

[a.b]
x = """
[not.a.table]
y = "1" """
  y = '''it's
''' # c
"\u00e9\n" = 1979-05-27 07:32:00
list = [ 1, # one
  [2, 3],
  { k = "v", "d.e" = [
    4 ] } ,
]

[[t]]
n = 1
[t.sub]
m = 2
[[t]]
[t.sub]
m = 3
[[t.u]]
[[t.u]]
z = true
 [ "a" . b . c ]
w = {}
v = """a"""""
u = 1
`

func TestLinesOfEveryForm(t *testing.T) {
	index, failed := scanTOML(manyForms)
	if failed != nil {
		t.Fatalf("stopped at %+v", failed)
	}
	for _, tt := range []struct {
		path []string
		want place
	}{
		{[]string{"top"}, place{2, 1}},
		{[]string{"quoted key", "lit.eral"}, place{3, 1}},
		{[]string{"a"}, place{5, 2}},
		{[]string{"a", "b", "x"}, place{6, 1}},
		{[]string{"a", "b", "y"}, place{9, 3}},
		{[]string{"a", "b", "é\n"}, place{11, 1}},
		{[]string{"a", "b", "list", element(0)}, place{12, 10}},
		{[]string{"a", "b", "list", element(1), element(1)}, place{13, 7}},
		{[]string{"a", "b", "list", element(2), "k"}, place{14, 5}},
		{[]string{"a", "b", "list", element(2), "d.e", element(0)}, place{15, 5}},
		{[]string{"t", element(0), "n"}, place{19, 1}},
		{[]string{"t", element(0), "sub", "m"}, place{21, 1}},
		{[]string{"t", element(1), "sub", "m"}, place{24, 1}},
		{[]string{"t", element(1), "u", element(1), "z"}, place{27, 1}},
		{[]string{"a", "b", "c", "w"}, place{29, 1}},
		{[]string{"a", "b", "c", "u"}, place{31, 1}},
		{[]string{"a", "b", "c", "unknown"}, place{28, 4}},
		{[]string{"nowhere"}, place{}},
	} {
		if got := index.find(tt.path); got != tt.want {
			t.Errorf("%q is at %v, want %v", tt.path, got, tt.want)
		}
	}
	checkIndex(t, manyForms)
}

// checkIndex is the oracle: whatever the decoder accepts the scanner must get
// through, and know the place of every key that the decoder found.
func checkIndex(t *testing.T, text string) {
	t.Helper()
	index, failed := scanTOML(text)
	if failed != nil && (failed.deep || len(text) > 2_000) {
		return
	}
	var tree map[string]any
	if _, err := toml.Decode(text, &tree); err != nil {
		return
	}
	if failed != nil {
		t.Fatalf("the decoder accepts %q, the scanner stops at %+v", text, *failed)
	}
	var walk func(v any, path []string)
	walk = func(v any, path []string) {
		if len(path) > 0 && !index.has(path...) {
			t.Fatalf("no place for %q in %q", path, text)
		}
		switch x := v.(type) {
		case map[string]any:
			for k, inner := range x {
				walk(inner, append(append([]string{}, path...), k))
			}
		default:
			if items, ok := v.([]any); ok {
				for i, inner := range items {
					walk(inner, append(append([]string{}, path...), element(i)))
				}
			}
		}
	}
	walk(plainLists(tree), nil)
}

// FuzzForgeToml holds three things: nothing panics or hangs, every key has a
// place, and what is accepted loads to the same values when it is written out.
func FuzzForgeToml(f *testing.F) {
	for _, seed := range []string{
		"", manyForms, "[defaults]\nbudget = 3\n", "[[reviews.specialists]]\ntype = \"security\"\n", "a = {b = [1,2,{c=1}]}\n",
		"[agents.mine]\nkind = \"exec\"\ncommand = [\"./x\"]\nset_env = { A = \"b\" }\n", "[phases.overrides.\"b*\"]\nbudget = 2\n[phases.overrides.a]\n",
		"x = [\n", "\"\"\"", "[hooks]\nd = 1979-05-27\nt = 07:32:00.5\nf = -nan\nl = 1979-05-27T07:32:00\no = 1979-05-27T07:32:00Z\n[[hooks.x]]\n",
		"[autonomy.policy]\non_stale = \"ask\"\ngates = { \"final\" = \"human\" }\n", "[a\n]", "a.b.c=1\n[a.b]\nd=1", "[cost]\nrun_usd = 1e3\n",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		// readText refuses the one and drops the other before either is seen.
		if text = strings.TrimPrefix(text, "\ufeff"); len(text) > 20_000 || !utf8.ValidString(text) {
			return
		}
		checkIndex(t, text)
		col := &collector{}
		cfg := configOf(col, text)
		if col.err() != nil {
			return
		}
		again := &collector{}
		second := configOf(again, cfg.Render())
		if err := again.err(); err != nil {
			t.Fatalf("%q is accepted, written out it is not: %v\n%s", text, err, cfg.Render())
		}
		if cfg.Render() != second.Render() && stripOrigins(cfg) != stripOrigins(second) {
			t.Fatalf("%q loads differently when written out:\n%s\n%s", text, stripOrigins(cfg), stripOrigins(second))
		}
		if !hasNaN(text) && !reflect.DeepEqual(cfg.File, second.File) {
			t.Fatalf("%q loads differently when written out:\n%#v\n%#v", text, cfg.File, second.File)
		}
	})
}
