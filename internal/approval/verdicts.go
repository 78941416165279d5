package approval

import (
	"context"
	"fmt"
	"path"

	"forge/gates"
	"forge/internal/project"
	"forge/internal/refusal"
	"forge/internal/text"
	"forge/internal/work"
)

// JudgeFiles keeps verdicts on single files of what cp judges; cp stays open. They
// have to be of files that NameFiles knows.
func JudgeFiles(ctx context.Context, p *project.Checkout, cp work.Checkpoint, revision int, verdicts []work.FileVerdict) (work.Checkpoint, error) {
	if now, err := keepVerdicts(ctx, p, cp); err != nil && Code(err) == "" {
		return now, err
	}
	return p.Journal.JudgeFiles(ctx, cp.ID, revision, verdicts, p.Now())
}

// NameFiles are the files of what cp judges that a person named by paths.
func NameFiles(ctx context.Context, p *project.Checkout, cp work.Checkpoint, paths []string) ([]string, error) {
	s, err := ReadRecord(ctx, p, cp, true)
	if err != nil {
		return nil, err
	}
	if len(s.Files) == 0 {
		return nil, refusal.New("answer the whole", "checkpoint %s judges no change, so no file of one", cp.ID)
	}
	var names []string
	for _, c := range s.Files {
		names = append(names, c.Path)
	}
	var out []string
	for _, given := range paths {
		name, known := path.Clean(given), false
		for _, n := range names {
			known = known || n == given || n == name
		}
		if !known {
			fix := "forge show " + cp.ID + " --stat lists them"
			if near := gates.Nearest(given, names); near != "" {
				fix = fmt.Sprintf("did you mean %q?", near)
			}
			return nil, refusal.New(fix, "%q is no file of the change", text.FirstLine(given, 100))
		}
		out = append(out, name)
	}
	return out, nil
}
