package cli

import (
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"forge/internal/refusal"
)

// ownHelp gives the program and its commands a help of their own. The parser's
// is made of variables of its package, which calls in one process would share,
// and takes an argument beside --help for a topic.
func ownHelp(c *cli.App, groups []commandGroup) {
	c.HideHelp, c.HideHelpCommand = true, true
	c.Flags = append(c.Flags, helpFlag())
	c.Commands = append(c.Commands, &cli.Command{
		Name: "help", Aliases: []string{"h"}, Usage: "show what there is, or how a command is used", ArgsUsage: "[COMMAND]",
		Action: showHelp,
	})
	ownHelpOf(c.Commands)
	c.CustomAppHelpTemplate = appHelp(c, groups)
}

// appHelp is the help of the program: its commands by what a person wants with
// them. The parser would sort the groups by their names.
func appHelp(c *cli.App, groups []commandGroup) string {
	width := 0
	for _, cmd := range c.Commands {
		width = max(width, len(cmd.Name))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n\n   forge do \"Add --count to wc\"    one line from idea to result\n   forge help COMMAND              how a command is used\n", c.Name, c.Usage)
	for _, g := range groups {
		fmt.Fprintf(&b, "\n%s:\n", g.title)
		for _, cmd := range g.commands {
			fmt.Fprintf(&b, "   %-*s  %s\n", width, cmd.Name, cmd.Usage)
		}
	}
	b.WriteString("\nFlags of every command:\n")
	for _, f := range c.Flags {
		if shown, ok := f.(*cli.BoolFlag); ok {
			names := "--" + shown.Name
			if len(shown.Aliases) > 0 {
				names += ", -" + shown.Aliases[0]
			}
			fmt.Fprintf(&b, "   %-*s  %s\n", width, names, shown.Usage)
		}
	}
	return b.String()
}

func ownHelpOf(commands []*cli.Command) {
	for _, cmd := range commands {
		cmd.HideHelp, cmd.HideHelpCommand = true, true
		cmd.Flags = append(cmd.Flags, helpFlag())
		ownHelpOf(cmd.Subcommands)
	}
}

func helpFlag() cli.Flag {
	return &cli.BoolFlag{Name: "help", Aliases: []string{"h"}, Usage: "show how it is used"}
}

func asksForHelp(arg string) bool { return arg == "--help" || arg == "-help" || arg == "-h" }

// showHelp is the action of forge help.
func showHelp(c *cli.Context) error {
	words := c.Args().Slice()
	if len(words) == 0 {
		return cli.ShowAppHelp(c)
	}
	commands := c.App.Commands
	for i, word := range words {
		cmd := find(commands, word)
		if cmd == nil {
			return refusal.New("forge help shows what there is", "unknown command %q", strings.Join(words[:i+1], " "))
		}
		commands = cmd.Subcommands
	}
	// As the command itself says it; the parser prepares that only on the way there.
	return c.App.RunContext(c.Context, append(append([]string{"forge"}, words...), "--help"))
}
