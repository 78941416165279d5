package api_test

import (
	"strings"
	"testing"
	"time"

	"forge/factory/web/api"
	"forge/internal/work"
)

func TestCheckpoints(t *testing.T) {
	w := newWorld(t)
	ports := w.site.ports["p"]
	ports.addRun("r1", false)
	for _, id := range []string{"c1", "c2", "c3"} {
		ports.open(work.Checkpoint{ID: id, Run: "r1", Kind: "final", Revision: 2, Status: work.CheckpointPending, Who: "reviewer", OpenedAt: w.now})
	}
	ports.open(work.Checkpoint{ID: "owners", Run: "r1", Kind: "final", Revision: 1, Status: work.CheckpointPending, OpenedAt: w.now})
	const path = "/projects/p/checkpoints"
	w.v1("GET", path+"?status=pending&limit=2", "").is(200, "").has(`"next":"c2"`, `"may_answer":true`)
	w.v1("GET", path+"?run=nope", "").is(404, "unknown_run")
	w.v1("GET", path+"/c1?diff=true", "").is(200, "").has(`"from":"aaa"`, `"diff":"+\u003cb`)
	w.v1("GET", path+"/nope", "").is(404, "unknown_checkpoint")
	w.v1("GET", path+"/c1/file?path=main.go&side=from", "").is(200, "").has("package main // aaa")
	for _, bad := range []string{"../../etc/passwd", "/etc/passwd", "a/../main.go", "nope.go", ".git/config"} {
		w.v1("GET", path+"/c1/file?path="+bad, "").is(404, "not_found")
	}

	w.v1("POST", path+"/c1/approve", `{}`).is(422, "invalid")
	w.v1("POST", path+"/c1/approve", `{"revision":1}`).is(409, "conflict")
	w.v1("POST", path+"/c1/request-changes", `{"revision":2,"comment":"  "}`).is(422, "empty_feedback")
	w.v1("POST", path+"/c1/approve", `{"revision":2,"choice":"pivot"}`).is(422, "bad_answer")
	w.v1("POST", path+"/c1/request-changes", `{"revision":2,"comment":"`+strings.Repeat("x", 4001)+`"}`).is(422, "invalid")
	w.ask("operator", "POST", api.Prefix+path+"/c1/approve", `{"revision":2,"level":"full"}`).is(403, "forbidden")
	cp := decode[work.Checkpoint](w.ask("reviewer", "POST", api.Prefix+path+"/c1/approve", `{"revision":2}`).is(200, ""))
	if cp.Status != work.CheckpointApproved || cp.AnsweredBy != "the reviewer" || cp.Door != "api" {
		t.Errorf("answered %+v", cp)
	}
	p := decode[api.Problem](w.v1("POST", path+"/c1/reject", `{"revision":2}`).is(409, "already_resolved"))
	if p.Checkpoint == nil || p.Checkpoint.AnsweredBy != "the reviewer" {
		t.Errorf("a second answer: %+v", p)
	}
	w.ask("reviewer", "POST", api.Prefix+path+"/owners/approve", `{"revision":1}`).is(403, "forbidden")
	w.ask("reviewer", "POST", api.Prefix+path+"/owners/files", `{"revision":1,"files":[{"path":"main.go","status":"approved"}]}`).is(403, "forbidden")
	w.ask("viewer", "GET", api.Prefix+path+"/c2", "").is(200, "").has(`"may_answer":false`)
	w.v1("POST", path+"/c2/approve", `{"revision":2,"level":"full"}`).is(200, "")
	w.v1("POST", path+"/c3/files", `{"revision":2,"files":[{"path":"other.go","status":"approved"}]}`).is(422, "invalid")
	w.v1("POST", path+"/c3/files", `{"revision":2,"files":[{"path":"main.go","status":"changes_requested"}]}`).is(422, "empty_feedback")
	w.v1("POST", path+"/c3/files", `{"revision":2,"files":[{"path":"main.go","status":"changes_requested","comment":"shorter"}]}`).is(200, "").has("shorter")
	w.v1("POST", path+"/c3/approve", `{"revision":2}`).is(409, "conflict").has("main.go")
	if got := strings.Join(ports.levels, ","); got != ",full" {
		t.Errorf("levels %q", got)
	}
	w.ask("reviewer", "PUT", api.Prefix+path+"/c3/edits", `{"revision":2,"path":"main.go","text":"x"}`).is(403, "forbidden")
	w.ask("operator", "PUT", api.Prefix+path+"/c3/edits", `{"revision":2,"path":"Makefile","text":"x"}`).is(403, "forbidden")
	w.ask("operator", "PUT", api.Prefix+path+"/c3/edits", `{"revision":2,"path":"main.go","text":"x"}`).is(200, "")
	w.ask("operator", "DELETE", api.Prefix+path+"/c3/edits?revision=2&path=main.go", "").is(422, "invalid")
	w.ask("operator", "DELETE", api.Prefix+path+"/c3/edits?revision=2&path=main.go&seen=deleted", "").is(200, "")
	if got := ports.levels[len(ports.levels)-1]; got != "edit main.go=x by the operator" {
		t.Errorf("edited %q", got)
	}
	w.ask("operator", "PUT", api.Prefix+path+"/c3/edits", `{"revision":2,"path":"old.go","what":"delete"}`).is(200, "")
	w.ask("operator", "PUT", api.Prefix+path+"/c3/edits", `{"revision":2,"path":"new.go","what":"add","text":""}`).is(200, "")
	if got := ports.levels[len(ports.levels)-2:]; got[0] != "delete old.go= by the operator" || got[1] != "add new.go= by the operator" {
		t.Errorf("edited %q", got)
	}
	for _, bad := range []string{`{"revision":2,"path":"main.go"}`, `{"revision":2,"path":"main.go","what":"add"}`, `{"revision":2,"path":"main.go","what":"move","text":"x"}`} {
		w.ask("operator", "PUT", api.Prefix+path+"/c3/edits", bad).is(422, "invalid")
	}
	w.v1("PUT", path+"/nope/edits", `{"revision":2,"path":"main.go","text":"x"}`).is(404, "unknown_checkpoint")
	w.ask("reviewer", "POST", api.Prefix+path+"/owners/comments", `{"revision":1,"path":"main.go","line":6,"comment":"x"}`).is(403, "forbidden")
	const said = path + "/c3/comments"
	w.v1("POST", said, `{"revision":2,"path":"main.go","line":9,"comment":"x"}`).is(422, "invalid")
	w.v1("POST", said, `{"revision":2,"path":"nope.go","line":6,"comment":"x"}`).is(422, "invalid")
	w.v1("POST", said, `{"revision":1,"path":"main.go","line":6,"comment":"x"}`).is(409, "conflict")
	w.ask("reviewer", "POST", api.Prefix+said, `{"revision":2,"path":"main.go","line":7,"comment":"why"}`).is(200, "").has(`"hunk":"more"`, `"by":"the reviewer"`)
	w.v1("POST", said, `{"revision":2,"path":"main.go","line":6,"side":"old","comment":"and this"}`).is(200, "").has(`"hunk":"old"`)
	w.ask("reviewer", "DELETE", api.Prefix+said+"/2?revision=2", "")
	w.v1("GET", path+"/c3", "").is(200, "").has("and this", "why")
	w.v1("DELETE", said+"/1?revision=2", "").is(200, "")
	// What a checkpoint of this project is asked through another is not there.
	w.ask("everywhere", "GET", "/api/v1/projects/other/checkpoints/c2", "").is(404, "unknown_checkpoint")
}

func TestTimeOfAnswers(t *testing.T) {
	w := newWorld(t)
	ports := w.site.ports["p"]
	ports.addRun("r1", false)
	end := w.now.Add(time.Minute)
	ports.open(work.Checkpoint{ID: "c", Run: "r1", Revision: 1, Status: work.CheckpointPending, ExpiresAt: &end})
	w.now = end
	w.v1("POST", "/projects/p/checkpoints/c/approve", `{"revision":1}`).is(409, "expired")
}
