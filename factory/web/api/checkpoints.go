package api

import (
	"io/fs"
	"net/http"
	"unicode/utf8"

	"forge/factory/web"
	"forge/gates"
	"forge/internal/work"
)

// InCheckpoint is an operation on one checkpoint.
type InCheckpoint struct {
	InProject
	Checkpoint string `path:"checkpoint" maxLength:"200" doc:"The checkpoint's whole id."`
}

// ListCheckpoints are the filters of a list.
type ListCheckpoints struct {
	InProject
	Run    string                `query:"run" maxLength:"100" doc:"Only of this run or job."`
	Status work.CheckpointStatus `query:"status" enum:"pending,approved,changes_requested,rejected,expired"`
	Limit  int                   `query:"limit" minimum:"1" maximum:"500" default:"50"`
	After  string                `query:"after" maxLength:"200" doc:"Those opened after this one."`
}

// checkpointPage is a page of checkpoints in the order of their opening.
type checkpointPage struct {
	Checkpoints []checkpointLine `json:"checkpoints"`
	Next        string           `json:"next,omitempty" doc:"For after; absent when that was all."`
}

// checkpointLine is a checkpoint, and whether the asker may answer it.
type checkpointLine struct {
	work.Checkpoint
	MayAnswer bool `json:"may_answer"`
}

// checkpointShown is what a checkpoint asks about.
type checkpointShown struct {
	web.Judged
	MayAnswer bool   `json:"may_answer"`
	Diff      string `json:"diff,omitempty" doc:"Between from and to, where it was asked for."`
}

// ShowCheckpoint asks for one.
type ShowCheckpoint struct {
	InCheckpoint
	Diff bool `query:"diff" doc:"With the change itself."`
}

// FileQuery is one file of what is judged.
type FileQuery struct {
	InCheckpoint
	Path string `query:"path" required:"true" minLength:"1" maxLength:"4096" doc:"A path that the list of files names."`
	Side string `query:"side" enum:"from,to" default:"to" doc:"Before the change or after it."`
}

// TreeQuery is a page of the files of what is judged.
type TreeQuery struct {
	InCheckpoint
	Side  string `query:"side" enum:"from,to" default:"to" doc:"Before the change or after it."`
	After int    `query:"after" minimum:"0" doc:"Leaves out so many."`
	Limit int    `query:"limit" minimum:"1" maximum:"10000" default:"1000"`
}

// treePage are files of a commit, by path.
type treePage struct {
	Commit string   `json:"commit"`
	Files  []string `json:"files"`
	Next   int      `json:"next,omitempty" doc:"For after; absent when that was all."`
}

// fileShown is a file at a commit.
type fileShown struct {
	Path   string `json:"path"`
	Commit string `json:"commit"`
	Binary bool   `json:"binary"`
	Text   string `json:"text,omitempty" doc:"Absent where the file is not text."`
}

func (a *API) checkpointRoutes() {
	const path = "/projects/{project}/checkpoints"
	add(a, Route{ID: "list-checkpoints", Method: http.MethodGet, Path: path, Role: web.RoleViewer, Summary: "What waits for a person, and what did", Tag: "checkpoints"},
		func(c call, in *ListCheckpoints) (*Answer[checkpointPage], error) {
			if in.Run != "" {
				if _, err := findRun(c, in.Run); err != nil {
					return nil, err
				}
			}
			list, err := c.project.Questions.Checkpoints(c, in.Run, in.Status, in.Limit+1, in.After)
			out := checkpointPage{Checkpoints: []checkpointLine{}}
			if len(list) > in.Limit {
				list = list[:in.Limit]
				out.Next = list[in.Limit-1].ID
			}
			for _, cp := range list {
				out.Checkpoints = append(out.Checkpoints, checkpointLine{cp, c.mayAnswer(cp)})
			}
			return answer(out, err)
		})
	add(a, Route{ID: "show-checkpoint", Method: http.MethodGet, Path: path + "/{checkpoint}", Role: web.RoleViewer, Summary: "What a checkpoint asks about, as it was when it was opened", Tag: "checkpoints"},
		func(c call, in *ShowCheckpoint) (*Answer[checkpointShown], error) {
			j, err := c.project.Questions.Judged(c, in.Checkpoint)
			if err != nil {
				return nil, err
			}
			out := checkpointShown{Judged: tidyJudged(j), MayAnswer: c.mayAnswer(j.Checkpoint)}
			if in.Diff && j.From != "" && j.To != "" {
				out.Diff, err = c.project.Code.Diff(c, j.From, j.To)
			}
			return answer(out, err)
		})
	add(a, Route{ID: "list-checkpoint-files", Method: http.MethodGet, Path: path + "/{checkpoint}/tree", Role: web.RoleViewer, Summary: "All files as they are judged, or as they were before", Tag: "checkpoints"}, listFiles)
	add(a, Route{ID: "read-checkpoint-file", Method: http.MethodGet, Path: path + "/{checkpoint}/file", Role: web.RoleViewer, Summary: "One file as it is judged, or as it was before", Tag: "checkpoints"}, readFile)
}

func listFiles(c call, in *TreeQuery) (*Answer[treePage], error) {
	j, err := c.project.Questions.Judged(c, in.Checkpoint)
	if err != nil {
		return nil, err
	}
	out := treePage{Commit: j.To, Files: []string{}}
	if in.Side == "from" {
		out.Commit = j.From
	}
	if out.Commit == "" {
		return nil, fs.ErrNotExist
	}
	all, err := c.project.Code.Files(c, out.Commit)
	if err != nil {
		return nil, err
	}
	from := min(in.After, len(all))
	out.Files = append(out.Files, all[from:min(len(all), from+in.Limit)]...)
	if end := from + len(out.Files); end < len(all) {
		out.Next = end
	}
	return answer(out, nil)
}

// readFile reads a file of the commits that a checkpoint compares: nothing else
// of the repository, and nothing of the server's disk.
func readFile(c call, in *FileQuery) (*Answer[fileShown], error) {
	j, err := c.project.Questions.Judged(c, in.Checkpoint)
	if err != nil {
		return nil, err
	}
	commit := j.To
	if in.Side == "from" {
		commit = j.From
	}
	if commit == "" || !fs.ValidPath(in.Path) {
		return nil, fs.ErrNotExist
	}
	data, err := c.project.Code.File(c, commit, in.Path)
	if err != nil {
		return nil, err
	}
	out := fileShown{Path: in.Path, Commit: commit, Binary: !utf8.Valid(data)}
	if !out.Binary {
		out.Text = string(data)
	}
	return answer(out, nil)
}

// mayAnswer says whether who asks may answer cp as it stands.
func (c call) mayAnswer(cp work.Checkpoint) bool {
	return cp.Status == work.CheckpointPending && c.who.May(c.project.ID, web.RoleReviewer) && gates.MayAnswer(cp, c.who.Role(c.project.ID).Gate())
}

// tidyJudged makes no list an empty one.
func tidyJudged(j web.Judged) web.Judged {
	j.Files = append([]work.FileChange{}, j.Files...)
	j.Doubts = append([]string{}, j.Doubts...)
	j.Protected = append([]string{}, j.Protected...)
	j.Gone = append([]string{}, j.Gone...)
	return j
}
