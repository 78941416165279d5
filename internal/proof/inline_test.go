package proof

import (
	"strings"
	"testing"
)

const rustBase = `//! A crate.
//!
//! ` + "```" + `
//! assert_eq!(calc::add(1, 2), 3);
//! ` + "```" + `

use std::fmt;

/// Adds.
///
/// ` + "```" + `
/// assert_eq!(calc::add(2, 2), 4);
/// ` + "```" + `
pub fn add(a: i32, b: i32) -> i32 {
    a + b // "}" '{'
}

pub struct Calc<'a> { x: &'a str }

impl<'a> Calc<'a> {
    fn len(&self) -> usize { self.x.len() }

    #[cfg(test)]
    fn probe(&self) -> usize { 1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adds() {
        assert_eq!(add(1, 2), 3);
    }
}
`

func mixed(t *testing.T, m *Map, file, trusted, snapshot string) Mixed {
	t.Helper()
	return m.Mix(file, []byte(trusted), []byte(snapshot))
}

func TestInlineRust(t *testing.T) {
	m := survey1(t, memory{"src/lib.rs": rustBase, "Cargo.toml": "[package]\nname = \"calc\"\n"})
	broken := strings.Replace(rustBase, "a + b", "a - b", 1)
	for name, cheat := range map[string]func(string) string{
		"expectation changed": func(s string) string { return strings.Replace(s, "add(1, 2), 3);\n    }", "add(1, 2), -1);\n    }", 1) },
		"tests gone":          func(s string) string { return s[:strings.Index(s, "#[cfg(test)]\nmod")] },
		"tests emptied": func(s string) string {
			return s[:strings.Index(s, "#[cfg(test)]\nmod")] + "#[cfg(test)]\nmod tests {}\n"
		},
		"example changed": func(s string) string { return strings.Replace(s, "add(2, 2), 4", "add(2, 2), 0", 1) },
		"example ignored": func(s string) string {
			return strings.Replace(s, "/// ```\n/// assert", "/// ```ignore\n/// assert", 1)
		},
		"example gone": func(s string) string {
			return strings.Replace(s, "/// ```\n/// assert_eq!(calc::add(2, 2), 4);\n/// ```\n", "", 1)
		},
		"inner example gone": func(s string) string {
			return strings.Replace(s, "//! ```\n//! assert_eq!(calc::add(1, 2), 3);\n//! ```\n", "", 1)
		},
		"helper changed": func(s string) string { return strings.Replace(s, "usize { 1 }", "usize { 2 }", 1) },
		"cfg hidden": func(s string) string {
			return strings.Replace(s, "#[cfg(test)]\nmod tests", "#[cfg(any())]\nmod tests", 1)
		},
	} {
		got := mixed(t, m, "src/lib.rs", rustBase, cheat(broken))
		if got.Seen.Class != Parts || got.How == Same || got.How == Grew {
			t.Errorf("%s: %s %s %s %s", name, got.Seen.Class, got.How, got.Note, got.Seen.Why)
		}
		s := string(got.Content)
		for _, want := range []string{"a - b", "assert_eq!(add(1, 2), 3);", "/// assert_eq!(calc::add(2, 2), 4);", "//! assert_eq!(calc::add(1, 2), 3);", "fn probe(&self) -> usize { 1 }"} {
			if !strings.Contains(s, want) {
				t.Errorf("%s: %q is not in\n%s", name, want, s)
			}
		}
	}
	more := strings.Replace(broken, "pub struct Calc", "/// Sub.\n///\n/// ```\n/// x();\n/// ```\npub fn sub() {}\n#[test]\nfn new_one() {}\npub struct Calc", 1)
	got := mixed(t, m, "src/lib.rs", rustBase, more)
	if s := string(got.Content); got.How != Grew || strings.Contains(s, "new_one") || strings.Contains(s, "x();") || !strings.Contains(s, "pub fn sub() {}") || !strings.Contains(s, "/// Sub.") {
		t.Errorf("new tests: %s\n%s", got.How, got.Content)
	}
	gone := strings.Replace(broken, "/// Adds.\n///\n/// ```\n/// assert_eq!(calc::add(2, 2), 4);\n/// ```\npub fn add(", "pub fn plus(", 1)
	if s := string(mixed(t, m, "src/lib.rs", rustBase, gone).Content); !strings.Contains(s, "#[allow(dead_code)]\nstruct KeptExamples1;") || !strings.Contains(s, "calc::add(2, 2), 4") {
		t.Errorf("an example whose function is gone is lost:\n%s", s)
	}
	if got := mixed(t, m, "src/lib.rs", rustBase, broken+"fn x() { {"); got.Seen.Class != Evidence || string(got.Content) != rustBase {
		t.Errorf("what cannot be read is %s", got.Seen.Class)
	}
	for _, s := range []string{"fn a() {}\n#[cfg(test)]\nuse x::{y, z};\nconst A: B = B { c: 1 };\n#[tokio::test(flavor = \"x\")]\nasync fn f() { let a = 'a'; let b: &'static str = r#\"}\"#; }\n",
		"/* /* nested */ */ macro_rules! m { ($a:expr) => { $a }; }\nm!(1);\n#[cfg(not(test))]\nfn x() {}\n"} {
		if got, err := splitRust([]byte(s)); err != nil || len(got.pieces) != strings.Count(s, "#[cfg(test)]")+strings.Count(s, "::test(") {
			t.Errorf("%s: %v %v", s, got.pieces, err)
		}
	}
}

func TestInlinePython(t *testing.T) {
	base := "def add(a, b):\n    \"\"\"Add.\n\n    >>> add(1, 2)\n    3\n    \"\"\"\n    return a + b\n"
	m := survey1(t, memory{"calc.py": base, "test_calc.py": "import doctest, calc\n"})
	broken := strings.Replace(base, "a + b", "a - b", 1)
	for name, cheat := range map[string]string{
		"changed": strings.Replace(broken, "    3\n", "    -1\n", 1),
		"gone":    strings.Replace(broken, "    >>> add(1, 2)\n    3\n", "", 1),
		"renamed": strings.Replace(strings.Replace(broken, "    >>> add(1, 2)\n    3\n", "", 1), "def add", "def plus", 1),
	} {
		got := mixed(t, m, "calc.py", base, cheat)
		if s := string(got.Content); got.How == Same || !strings.Contains(s, ">>> add(1, 2)\n    3\n") || !strings.Contains(s, "a - b") {
			t.Errorf("%s: %s\n%s", name, got.How, s)
		}
	}
	if got := mixed(t, m, "calc.py", base, broken); got.How != Same || string(got.Content) != broken {
		t.Errorf("product alone: %s", got.How)
	}
	plain := survey1(t, memory{"calc.py": base})
	if got := plain.See("calc.py", []byte(base)); got.Class != Product {
		t.Errorf("examples that nothing runs: %s", got.Class)
	}
}

func TestInlineScript(t *testing.T) {
	base := "export const add = (a, b) => a + b\n\nif (import.meta.vitest) {\n  const { it, expect } = import.meta.vitest\n  it('adds', () => { expect(add(1, 2)).toBe(3) })\n}\n"
	m := survey1(t, memory{"src/calc.ts": base})
	broken := strings.Replace(base, "a + b", "a - b", 1)
	for _, cheat := range []string{strings.Replace(broken, "toBe(3)", "toBe(-1)", 1), broken[:strings.Index(broken, "if (")]} {
		got := mixed(t, m, "src/calc.ts", base, cheat)
		if s := string(got.Content); !strings.Contains(s, "toBe(3)") || !strings.Contains(s, "a - b") {
			t.Errorf("%s\n%s", got.How, s)
		}
	}
	odd := broken[:strings.Index(broken, "if (")] + "const v = import.meta.vitest\n"
	if got := mixed(t, m, "src/calc.ts", base, odd); string(got.Content) != base {
		t.Errorf("what cannot be taken apart is %s", got.Seen.Class)
	}
}

func FuzzInline(f *testing.F) {
	for _, seed := range []string{rustBase, "#[test]", "fn a(){", "\"\"\">>> a\n\"\"\"", "if (import.meta.vitest) {}", "<<A", "r#\"", "'", "%w[", "`${`", "/a", "//! ```"} {
		f.Add(seed, seed)
	}
	m := &Map{facts: facts{DocTests: map[string]bool{"python": true}}}
	f.Fuzz(func(t *testing.T, was, now string) {
		for _, lang := range []string{"go", "python", "script", "rust", "c", "ruby", "php", "java", "shell"} {
			lex(lang, []byte(was))
		}
		for _, file := range []string{"a.rs", "a.py", "a.ts"} {
			got := m.Mix(file, []byte(was), []byte(now))
			if got.Seen.Class == Product {
				continue
			}
			want, err := m.splitFile(file, []byte(was))
			if err != nil {
				if got.Seen.Class != Product && string(got.Content) != was {
					t.Fatalf("%s: a trusted file that cannot be read was changed", file)
				}
				continue
			}
			again, err := m.splitFile(file, got.Content)
			if err != nil || strings.Join(again.bodies(), "\x00") != strings.Join(want.bodies(), "\x00") {
				t.Fatalf("%s: %s tests differ: %q %q %v", file, got.How, again.bodies(), want.bodies(), err)
			}
		}
	})
}
