package cli

import (
	"fmt"

	"github.com/urfave/cli/v2"
)

// commandGroup is what help shows together.
type commandGroup struct {
	title    string
	commands []*cli.Command
}

// groups are all commands by what a person wants with them, in the order in
// which help shows them.
func (a *App) groups() []commandGroup {
	return []commandGroup{
		{"Start", []*cli.Command{a.doCommand(), a.runCommand(), a.initCommand(), a.interviewCommand(), a.generateCommand(), a.implementCommand(), a.listCommand(), a.phaseCommand(), a.jobCommand(), a.demoCommand()}},
		{"While it works", []*cli.Command{a.statusCommand(), a.logsCommand(), a.diffCommand(), a.resumeCommand(), a.tellCommand(), a.askCommand(), a.compactCommand(), a.rewindCommand(), a.forkCommand(), a.takeCommand(), a.levelCommand(), a.pushCommand()}},
		{"Answer", []*cli.Command{a.checkpointsCommand(), a.showCommand(), a.approveCommand(), a.requestChangesCommand(), a.rejectCommand()}},
		{"Factory", []*cli.Command{a.issueCommand(), a.importCommand(), a.scheduleCommand(), a.factoryCommand(), a.hostCommand()}},
		{"Automate", []*cli.Command{a.reviewCommand(), a.decideCommand(), a.mcpCommand(), a.tokenCommand(), a.completionCommand()}},
		{"Understand", []*cli.Command{a.whyCommand(), a.searchCommand(), a.evidenceCommand(), a.learnCommand(), a.lessonsCommand(), a.skillsCommand(), a.policyCommand(), a.auditCommand(), a.patternsCommand(), a.evalCommand()}},
		{"Set up and tidy", []*cli.Command{
			a.doctorCommand(), a.agentsCommand(), a.configCommand(), a.trustCommand(), a.gcCommand(), a.storeCommand(), a.resetCommand(), a.updateCommand(), a.versionCommand(), a.manCommand(),
		}},
	}
}

// commands are all commands, in the order in which help shows them.
func (a *App) commands() []*cli.Command { return commandsOf(a.groups()) }

func commandsOf(groups []commandGroup) []*cli.Command {
	var all []*cli.Command
	for _, g := range groups {
		all = append(all, g.commands...)
	}
	return all
}

func (a *App) versionCommand() *cli.Command {
	return &cli.Command{
		Name: "version", Usage: "print the version",
		Action: func(*cli.Context) error { return a.sayVersion() },
	}
}

func (a *App) sayVersion() error {
	_, err := fmt.Fprintln(a.Stdout, "forge "+Version)
	return err
}
