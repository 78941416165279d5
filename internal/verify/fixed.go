package verify

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"forge/internal/proc"
	"forge/internal/proof"
	"forge/internal/work"
)

// mostFixed bounds the files that commands can only read: each is a mount, and a
// thousand cost a command a few tenths of a second.
const mostFixed = 1000

// mayWriteHint is said when a command is red that could not write.
const mayWriteHint = "; what it judges by can only be read while it runs, but for what verify.may_write names"

// fixed is the evidence that commands can only read, so that no product in their
// process changes it and changes it back before anybody looks.
type fixed struct {
	files   []string
	watched []string // the others, which may not be written to either
	of      int      // as many would be to be kept
	why     string   // why it is fewer
}

// fixedOf says which evidence of a request its commands can only read. Nothing
// of it depends on the tree but its names.
func (b *Bench) fixedOf(ctx context.Context, level proc.Level, req work.VerifyRequest) fixed {
	all := slices.Concat(req.Evidence, req.Earlier)
	if may, err := compile("may_write", req.MayWrite); err == nil {
		all = slices.DeleteFunc(all, func(path string) bool {
			return slices.ContainsFunc(may, func(p pattern) bool { return p.covers(path) })
		})
	}
	slices.Sort(all)
	all = slices.Compact(all)
	f := fixed{of: len(all)}
	switch why := b.noMounts(ctx, level, filepath.Dir(req.Dir)); {
	case len(all) == 0:
	case req.Base != "" && b.opened.Writes(b.treeOf(ctx, req.Base)):
		f.why = "on the base, the commands are red unless they can write to it"
	case why != "":
		f.why, f.watched = why, all
	case len(all) > mostFixed:
		// What is loaded comes first: data that was changed and changed back has
		// to be read in between.
		slices.SortStableFunc(all, func(a, b string) int { return order(proof.IsData(a)) - order(proof.IsData(b)) })
		f.files, f.watched = all[:mostFixed], all[mostFixed:]
		f.why = fmt.Sprintf("no more than %d files are mounted", mostFixed)
	default:
		f.files = all
	}
	return f
}

func order(last bool) int {
	if last {
		return 1
	}
	return 0
}

// noMounts says why no file can be mounted where parent is, "" = it can.
func (b *Bench) noMounts(ctx context.Context, level proc.Level, parent string) string {
	switch level {
	case proc.LevelBubblewrap:
	case proc.LevelNone:
		return "there is no sandbox"
	default:
		return fmt.Sprintf("the sandbox %s cannot do that", level)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	why, tried := b.unmounted[parent]
	if !tried {
		if err := errors.Join(os.MkdirAll(parent, 0o700), proc.TryFixed(ctx, parent)); err != nil {
			why = "single files cannot be mounted here: " + err.Error()
		}
		if ctx.Err() == nil {
			b.unmounted[parent] = why
		}
	}
	return why
}

// in is f in a folder that holds a commit: links and what is not there cannot be
// mounted.
func (f fixed) in(dir string) fixed {
	var mounted []string
	for _, path := range f.files {
		info, err := os.Lstat(filepath.Join(dir, filepath.FromSlash(path)))
		switch {
		case err == nil && info.Mode().IsRegular():
			mounted = append(mounted, path)
		case err == nil:
			f.watched = append(slices.Clip(f.watched), path)
		}
	}
	f.files = mounted
	if len(f.files) < f.of && f.why == "" {
		f.why = "links are not mounted"
	}
	return f
}

// said is f for a report; nil where there is no evidence to be kept.
func (f fixed) said() *work.ReadOnly {
	if f.of == 0 {
		return nil
	}
	return &work.ReadOnly{Files: len(f.files), Of: f.of, Why: f.why}
}

// box is what the sandbox needs to know of f.
func (f fixed) box(dir string) []proc.Fixed {
	if len(f.files) == 0 {
		return nil
	}
	return []proc.Fixed{{Dir: dir, Files: f.files}}
}

// couldNotWrite says that a red command complained of what it could not write.
func (f fixed) couldNotWrite(output string) bool {
	return len(f.files) > 0 && slices.ContainsFunc([]string{"Read-only file system", "EROFS", "Device or resource busy", "EBUSY", "Invalid cross-device link", "EXDEV"}, func(word string) bool {
		return strings.Contains(output, word)
	})
}

// onBase tries the commands of a base that is red once more, with evidence that
// they can write to. Where they are green then, they write to it as they are,
// which is remembered: the base holds nothing of the work that is to be proven.
func (b *Bench) onBase(ctx context.Context, req work.VerifyRequest, red work.CommandsReport, watch func(work.Activity)) (work.CommandsReport, error) {
	of := *red.ReadOnly
	req.Evidence, req.Earlier = nil, nil
	rep, err := b.verify(ctx, req, nil, watch)
	if err != nil || !rep.OK {
		return rep, err
	}
	if err := b.opened.KeepWrites(b.treeOf(ctx, req.Commit)); err != nil {
		return rep, fmt.Errorf("remember that the commands write to what they judge by: %w", err)
	}
	rep.ReadOnly = &work.ReadOnly{Of: of.Of, Why: "the commands are red unless they can write to it: " + red.Problem}
	return rep, nil
}
