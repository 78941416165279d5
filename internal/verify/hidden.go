package verify

import (
	"context"
	"errors"
	"strings"

	"forge/internal/hidden"
	"forge/internal/text"
	"forge/internal/work"
)

// Hidden runs the checks of req.Folders that are about req.Phase on
// req.Commit, each folder's files laid over the tree. What they print goes into
// req.LogPath alone: the report says no more than an agent may hear. An error
// means that nobody knows, also where a folder cannot be read.
func (b *Bench) Hidden(ctx context.Context, req work.HiddenRequest) (work.HiddenReport, error) {
	var out work.HiddenReport
	for _, dir := range req.Folders {
		folder, problems := hidden.Load(dir)
		if len(problems) > 0 {
			// What is wrong may quote them.
			return work.HiddenReport{}, errors.New("the hidden checks cannot be read; forge config validate says why")
		}
		out.Sum += folder.Sum()
		checks := folder.Checks
		if !req.Whole {
			checks = folder.Of(req.Verify.Phase, req.PhaseName)
		}
		if len(checks) == 0 {
			continue
		}
		one, err := b.hide(ctx, req.Verify, folder, checks)
		if err != nil {
			// The text of a command or of an output stays out of it.
			return work.HiddenReport{}, orCancelled(ctx, errors.New("the hidden checks could not be run; their log says why"))
		}
		out.Ran += one.Ran
		if one.Red != "" || one.Disturbed != "" {
			out.Red, out.Disturbed = one.Red, one.Disturbed
			return out, nil
		}
	}
	return out, nil
}

// hide runs the checks of one folder until one is red.
func (b *Bench) hide(ctx context.Context, req work.VerifyRequest, f hidden.Folder, checks []hidden.Check) (work.HiddenReport, error) {
	req.Commands, req.Asked = nil, false
	for _, c := range checks {
		req.Commands = append(req.Commands, c.Command)
	}
	rep, err := b.verify(ctx, req, f.Files, nil)
	if err != nil {
		return work.HiddenReport{}, b.noteHidden(req.LogPath, err)
	}
	out := work.HiddenReport{Ran: len(rep.Ran)}
	switch {
	case rep.OK && out.Ran == len(checks):
	case rep.Disturbed != "":
		out.Disturbed = "a hidden check of the owner was disturbed"
	case out.Ran == 0:
		out.Red = "the folder could not be made ready: " + rep.Problem
	default:
		out.Red = checks[out.Ran-1].Heard()
	}
	return out, nil
}

// noteHidden keeps an error where people find it and agents do not.
func (b *Bench) noteHidden(log string, err error) error {
	out, openErr := openTranscript(log, b.red)
	if openErr != nil {
		return errors.Join(err, openErr)
	}
	return errors.Join(err, out.note("# "+text.ClipLine(strings.ToValidUTF8(err.Error(), "\uFFFD"), mostLine)), out.Close())
}
