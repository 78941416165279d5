package config

import (
	"fmt"
	"slices"
	"strings"
)

// docsText is docs/config.md, made from the settings type.
func docsText() string {
	var b strings.Builder
	b.WriteString(docsHead)
	for _, k := range Keys() {
		if isSection(k) {
			fmt.Fprintf(&b, "\n## %s\n\n%s\n", sectionTitle(k), k.Doc)
			if k.Unused {
				b.WriteString("\nRead and checked, without effect in this version.\n")
			}
			if keys := keysBelow(k); len(keys) > 0 {
				b.WriteString("\n| key | type | default | meaning |\n|---|---|---|---|\n")
				for _, one := range keys {
					b.WriteString(docsRow(one))
				}
			}
		}
	}
	b.WriteString(docsTail())
	return b.String()
}

const docsHead = `# Configuration

This page is made from the settings type in ` + "`internal/config`" + `; ` + "`go test ./internal/config -update`" + ` writes it anew, and a test holds it against the code.

A project is configured by ` + "`.forge/forge.toml`" + `, a user by ` + "`$XDG_CONFIG_HOME/forge/config.toml`" + ` (else ` + "`~/.config/forge/config.toml`" + `). Later words win:

1. built-in defaults
2. the user's configuration
3. ` + "`FORGE_AUTONOMY`" + `, alone
4. the project's ` + "`.forge/forge.toml`" + `
5. the environment
6. flags

Tables merge key by key, lists are replaced as a whole. ` + "`forge config show`" + ` prints every value with its origin. Unknown keys, wrong types and bad globs are errors; all of them are reported together, each with its file and line.

` + "`autonomy.ceiling`, `[trust]`, `[notify]`, `[server]` and `[sandbox]`" + ` belong to the user's configuration. A project that sets them is refused, save that it may make the sandbox stricter: ` + "`sandbox.mode = \"required\"`" + ` and ` + "`sandbox.network = false`" + ` or hosts that its user lets through. A relative path of a program or script is taken from the checkout, and therefore refused in the user's configuration.
`

// isSection is true for what has a heading of its own.
func isSection(k Key) bool {
	switch k.Type {
	case "table":
		return k.Name() != "phases" && !slices.Contains(k.Path, named)
	case "named tables", "list of tables":
		return true
	}
	return false
}

func sectionTitle(k Key) string {
	switch k.Type {
	case "named tables":
		if k.Rule == "nameglob" {
			return fmt.Sprintf("`[%s.\"<glob>\"]`", k.Name())
		}
		return fmt.Sprintf("`[%s.<name>]`", k.Name())
	case "list of tables":
		return fmt.Sprintf("`[[%s]]`", k.Name())
	}
	return fmt.Sprintf("`[%s]`", k.Name())
}

// keysBelow are the plain keys of a section.
func keysBelow(section Key) []Key {
	depth := len(section.Path) + 1
	if section.Type != "table" {
		depth++
	}
	var out []Key
	for _, k := range Keys() {
		if len(k.Path) == depth && strings.HasPrefix(k.Name()+".", section.Name()+".") && !isSection(k) {
			out = append(out, k)
		}
	}
	return out
}

func docsRow(k Key) string {
	def := "–"
	if k.Default != "" {
		def = "`" + k.Default + "`"
	}
	meaning := k.Doc
	if k.Env != "" {
		meaning += " Variable: `" + k.Env + "`."
	}
	switch k.Only {
	case "user":
		meaning += " User's configuration only."
	case "tighten":
		meaning += " User's configuration; a project may only make it stricter."
	}
	if bound := boundText(k.Rule); bound != "" {
		meaning += " " + bound
	}
	cell := strings.NewReplacer("|", `\|`, "<", "&lt;", ">", "&gt;")
	return fmt.Sprintf("| `%s` | %s | %s | %s |\n", k.Path[len(k.Path)-1], k.Type, def, cell.Replace(meaning))
}

func boundText(rule string) string {
	var out []string
	for _, r := range strings.Fields(rule) {
		name, bound, _ := strings.Cut(r, "=")
		switch name {
		case "min":
			out = append(out, "at least "+bound)
		case "max":
			out = append(out, "at most "+bound)
		case "positive":
			out = append(out, "more than 0")
		}
	}
	if len(out) == 0 {
		return ""
	}
	text := strings.Join(out, ", ")
	return strings.ToUpper(text[:1]) + text[1:] + "."
}

func docsTail() string {
	var b strings.Builder
	b.WriteString(`
## Files that decide what verify says

Forge finds them by itself: tests, what they load, settings of runners, linters and CI, what your verify commands name. ` + "`forge evidence`" + ` lists them, and docs/evidence.md says what follows from it. ` + "`\"@default\"` and `\"@tests\"` in `verify.protected`" + ` stand for these, and are so with or without the words; other globs there are your own, as in ` + "`proof.evidence`" + `.

Globs read as in .gitignore: without a slash in any folder, with a leading slash from the top, and a folder covers what is below it.

## Deprecated words

| word | means now |
|---|---|
| ` + "`permission_mode = \"strict\"`" + ` | standard, and the phases that it was said for are sensitive and ask before each iteration |
| ` + "`reviews.mode = \"manual\"`, `\"arbiter\"`" + ` | auto; the arbiter's model and threshold are kept |
| ` + "`reviews.escalate_on`, `reviews.auto_proceed_on`" + ` | nothing |
| ` + "`planning.interactive`" + ` | preset partial (true) or review (false) |

## Policy

See docs/policy.md; a project's own presets stand in ` + "`.forge/policies/`" + `.

` + "`--autonomous`, `--level`, `autonomy.level`, `autonomy.enabled`" + ` choose a preset, the most specific word wins, and ` + "`autonomy.ceiling`" + ` bounds it. ` + "`[autonomy.policy]`" + ` lays single axes over the choice of its own file or of a less specific one; a flag replaces them too. An unknown axis or word is an error.

## Secrets that a project names

A secret is a variable whose name contains KEY, TOKEN, SECRET, PASSW or CREDENTIAL. What a project's configuration names goes only to the vendor it belongs to, to loopback, or to a host that the user's configuration or a flag names. Refused, with exit code 2, until ` + "`forge trust`" + ` or the user's configuration allows it:

- a secret in ` + "`env`" + ` of an agent whose command the project chose (exec, acp), or of an agent of another vendor: allow with ` + "`[trust.projects.\"<checkout>\"] env = [\"NAME\"]`" + `
- another program in the place of a built-in agent (` + "`command`, `project.claude_cmd`" + `), which would get its keys and login: allow with ` + "`env = [\"ANTHROPIC_*\"]`" + ` there, or set the command in the user's configuration
- an address in ` + "`set_env`, `args` or `llm.base_url`" + ` that is neither the vendor's nor loopback, nor what the user's own ` + "`[llm]`" + ` names: allow with ` + "`forge trust <host>`" + `, which writes ` + "`[trust] hosts`" + `
- a variable in ` + "`set_env`" + ` of a built-in agent that loads code into it (NODE_OPTIONS, LD_PRELOAD, PATH, …)

Values of secrets do not belong into ` + "`set_env`" + ` of a project at all.
`)
	return b.String()
}

// exampleFile is forge.toml.example: every key with its default or a sample, and a
// line on why.
func exampleFile() string {
	var b strings.Builder
	b.WriteString(exampleHead)
	for _, k := range Keys() {
		switch {
		case isSection(k) && k.Type == "named tables":
			b.WriteString(exampleSection(k, fmt.Sprintf("[%s.%s]", k.Name(), quoteKey(k.Sample))))
		case isSection(k) && k.Type == "list of tables":
			b.WriteString(exampleSection(k, "[["+k.Name()+"]]"))
		case isSection(k):
			b.WriteString(exampleSection(k, "["+k.Name()+"]"))
		}
	}
	return b.String()
}

const exampleHead = `# Every key of .forge/forge.toml, with its default and a line on why.
# Lines that begin with "#" and a key have no default, or belong to another
# place, which they name: their value is a sample. Made by
# "go test ./internal/config -update"; docs/config.md has the whole story.
`

func exampleSection(k Key, header string) string {
	var b strings.Builder
	b.WriteString("\n")
	for _, line := range wrap(k.Doc, 96) {
		b.WriteString("# " + line + "\n")
	}
	if k.Unused {
		b.WriteString("# (Read and checked, without effect in this version.)\n")
	}
	keys := keysBelow(k)
	live := false
	for _, one := range keys {
		live = live || one.Default != "" && one.Only == ""
	}
	if k.Type != "table" || !live {
		header = "#" + header
	}
	b.WriteString(header + "\n")
	for _, one := range keys {
		note, value, mark := one.Doc, one.Default, ""
		if value == "" {
			value, mark = one.Sample, "#"
		}
		switch one.Only {
		case "user":
			mark = "#"
			note += " User's configuration only."
		case "tighten":
			mark = "#"
			note += " Otherwise the user's configuration only."
		}
		for _, line := range wrap(note, 96) {
			b.WriteString("# " + line + "\n")
		}
		fmt.Fprintf(&b, "%s%s = %s\n", mark, one.Path[len(one.Path)-1], value)
	}
	return b.String()
}

func wrap(text string, width int) []string {
	var lines []string
	line := ""
	for _, w := range strings.Fields(text) {
		if line != "" && len(line)+1+len(w) > width {
			lines = append(lines, line)
			line = ""
		}
		line = strings.TrimSpace(line + " " + w)
	}
	return append(lines, line)
}
