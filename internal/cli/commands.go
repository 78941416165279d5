package cli

import (
	"fmt"

	"github.com/urfave/cli/v2"
)

// commands are all commands, in the order in which help shows them.
func (a *App) commands() []*cli.Command {
	return []*cli.Command{
		a.doCommand(), a.runCommand(), a.initCommand(), a.generateCommand(), a.phaseCommand(), a.jobCommand(), a.issueCommand(), a.factoryCommand(), a.resumeCommand(), a.pushCommand(), a.listCommand(), a.statusCommand(),
		a.checkpointsCommand(), a.showCommand(), a.approveCommand(), a.requestChangesCommand(), a.rejectCommand(), a.levelCommand(),
		a.whyCommand(), a.logsCommand(), a.diffCommand(), a.evidenceCommand(), a.reviewCommand(), a.policyCommand(), a.hostCommand(), a.configCommand(), a.demoCommand(),
		a.resetCommand(), a.versionCommand(), a.decideCommand(), a.evalCommand(), a.auditCommand(), a.agentsCommand(), a.doctorCommand(),
		a.trustCommand(), a.gcCommand(), a.completionCommand(), a.manCommand(),
	}
}

func (a *App) versionCommand() *cli.Command {
	return &cli.Command{
		Name: "version", Usage: "print the version",
		Action: func(*cli.Context) error {
			_, err := fmt.Fprintln(a.Stdout, "forge "+Version)
			return err
		},
	}
}
