package cli

import (
	"strings"

	"github.com/urfave/cli/v2"

	"forge/internal/refusal"
)

// ownHelp gives the program and its commands a help of their own. The parser's
// is made of variables of its package, which calls in one process would share,
// and takes an argument beside --help for a topic.
func ownHelp(c *cli.App) {
	c.HideHelp, c.HideHelpCommand = true, true
	c.Flags = append(c.Flags, helpFlag())
	c.Commands = append(c.Commands, &cli.Command{
		Name: "help", Aliases: []string{"h"}, Usage: "show what there is, or how a command is used", ArgsUsage: "[COMMAND]",
		Action: showHelp,
	})
	ownHelpOf(c.Commands)
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
	var cmd *cli.Command
	commands := c.App.Commands
	for i, word := range words {
		if cmd = find(commands, word); cmd == nil {
			return refusal.New("forge help shows what there is", "unknown command %q", strings.Join(words[:i+1], " "))
		}
		commands = cmd.Subcommands
	}
	cmd.HelpName = "forge " + strings.Join(words, " ")
	template := cli.CommandHelpTemplate
	if len(cmd.Subcommands) > 0 {
		template = cli.SubcommandHelpTemplate
	}
	cli.HelpPrinter(c.App.Writer, template, cmd)
	return nil
}
