package cli

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"

	"github.com/urfave/cli/v2"

	"forge/gates"
	"forge/internal/refusal"
)

// onUsageErrors says in this program's words what is wrong with the flags of
// commands; before are those that may stand before a command as well.
func onUsageErrors(commands []*cli.Command, before []cli.Flag, name string) {
	for _, cmd := range commands {
		whole := name + " " + cmd.Name
		cmd.OnUsageError = func(_ *cli.Context, err error, _ bool) error {
			return flagRefusal(err.Error(), append(flagNames(cmd.Flags), flagNames(before)...), whole)
		}
		onUsageErrors(cmd.Subcommands, before, whole)
	}
}

var (
	unknownFlag = regexp.MustCompile(`^flag provided but not defined: -+(.*)$`)
	noValue     = regexp.MustCompile(`^flag needs an argument: -+(.*)$`)
	badValue    = regexp.MustCompile(`(?s)^invalid (?:boolean )?value (".*") for (?:flag )?-+([^:]*): (.*)$`)
)

// flagRefusal turns what the parser of flags says into an error for the user of
// a command, which has flags of these names.
func flagRefusal(said string, names []string, command string) error {
	help := "forge help" + strings.TrimPrefix(command, "forge") + " lists its flags"
	if m := unknownFlag.FindStringSubmatch(said); m != nil {
		fix := help
		if near := gates.Nearest(m[1], names); near != "" {
			fix = "did you mean " + dashed(near) + "?"
		} else if command == "forge do" {
			fix = "put the text into quotes; " + help
		}
		return refusal.New(cmp.Or(formerly[dashed(m[1])], fix), "unknown flag %s", dashed(m[1]))
	}
	if m := noValue.FindStringSubmatch(said); m != nil {
		return refusal.New(help, "%s needs a value", dashed(m[1]))
	}
	if m := badValue.FindStringSubmatch(said); m != nil {
		if m[3] == "parse error" {
			return refusal.New(help, "%s %s is neither a number nor a time such as 90s or 720h", dashed(m[2]), m[1])
		}
		return refusal.New(help, "%s %s: %s", dashed(m[2]), m[1], m[3])
	}
	return refusal.New(help, "%s", said)
}

// dashed is a flag as it is written.
func dashed(name string) string {
	if len([]rune(name)) == 1 {
		return "-" + name
	}
	return "--" + name
}

func flagNames(flags []cli.Flag) []string {
	var out []string
	for _, f := range flags {
		out = append(out, f.Names()...)
	}
	return out
}

// unknownCommand refuses a word after a command that is none of its own.
func unknownCommand(c *cli.Context, group string) error {
	word := c.Args().First()
	var names, near []string
	for _, sub := range c.Command.Subcommands {
		names, near = append(names, sub.Name), append(near, sub.Names()...)
	}
	hint := ""
	if found := gates.Nearest(word, near); found != "" {
		hint = "; did you mean " + found + "?"
	}
	return refusal.New(cmp.Or(formerly[group+" "+word], fmt.Sprintf("forge %s %s", group, strings.Join(names, ", "))), "unknown command %q%s", group+" "+word, hint)
}
