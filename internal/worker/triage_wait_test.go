package worker

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"forge/factory"
	"forge/factory/triage"
	"forge/internal/approval"
	"forge/internal/fakemodel"
	"forge/internal/work"
)

// TestTriageWaitsForALimitedModel: the issue is put off until the service says
// that it is back, and no person is asked.
func TestTriageWaitsForALimitedModel(t *testing.T) {
	server, err := fakemodel.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	address := server.Service("svc", fakemodel.Service{Turns: []fakemodel.Turn{{Repeat: -1, Fault: fakemodel.Fault{Status: 429, Headers: map[string]string{"Retry-After": "1200"}}}}})
	w := newTriageWorld(t, fmt.Sprintf("[llm]\nbase_url = %q\nmodel = \"m\"\n", address))
	i := w.issue("Look", "full", 0)
	got, err := w.worker.triage.Triage(t.Context(), i)
	if err != nil || got.Verdict != factory.TriageLater || time.Until(got.Until) < 19*time.Minute {
		t.Fatalf("%+v, %v", got, err)
	}
	s, err := w.worker.TriageRun(t.Context(), triage.ThreadID(i.ID, 1))
	if err != nil || s.Open != nil || s.SpentUSD != 0 {
		t.Fatalf("open %+v, spent %v, %v", s.Open, s.SpentUSD, err)
	}
	server.Service("svc", fakemodel.Service{Turns: []fakemodel.Turn{{Repeat: -1, Text: `{"summary":"that","confidence":0.9,"question":""}`}}})
	before := len(server.Requests("svc"))
	if got, err = w.worker.triage.Triage(t.Context(), i); err != nil || got.Verdict != factory.TriageLater {
		t.Fatalf("too early: %+v, %v", got, err)
	}
	if n := len(server.Requests("svc")); n != before {
		t.Errorf("it was asked %d times too early", n-before)
	}
	// When the service is back, it is asked on; what then comes is judged as ever.
	w.worker.Now = func() time.Time { return time.Now().Add(21 * time.Minute) }
	w.worker.Checkout.Now = w.worker.Now
	if got, err = w.worker.triage.Triage(t.Context(), i); err != nil || got.Verdict == factory.TriageLater {
		t.Fatalf("%+v, %v", got, err)
	}
	if len(server.Requests("svc")) == before {
		t.Error("nobody was asked when the time had come")
	}
}

// TestAnExpiredQuestionIsAskedAgainByTheLoop: the board hears of it, and the
// same is asked under another id.
func TestAnExpiredQuestionIsAskedAgainByTheLoop(t *testing.T) {
	w := newTriageWorld(t, "[autonomy]\ncheckpoint_expiry = \"1h\"\n")
	i := w.issue("Look", "full", 0)
	if got, err := w.worker.triage.Triage(t.Context(), i); err != nil || got.Verdict != factory.TriageWaits {
		t.Fatalf("%+v, %v", got, err)
	}
	if over, err := w.worker.triage.Answered(t.Context(), i); err != nil || over {
		t.Fatalf("answered %v, %v", over, err)
	}
	w.worker.Now = func() time.Time { return time.Now().Add(2 * time.Hour) }
	w.worker.Checkout.Now = w.worker.Now
	if over, err := w.worker.triage.Answered(t.Context(), i); err != nil || !over {
		t.Fatalf("the loop does not hear that the time is over: %v, %v", over, err)
	}
	if got, err := w.worker.triage.Triage(t.Context(), i); err != nil || got.Verdict != factory.TriageWaits {
		t.Fatalf("%+v, %v", got, err)
	}
	s, err := w.worker.TriageRun(t.Context(), "triage-1-1")
	if err != nil || s.Open == nil || s.Open.ID != "triage-1-1.2" || s.At() != 0 {
		t.Fatalf("open %+v, %v", s.Open, err)
	}
	_, _, err = approval.Give(t.Context(), w.p, work.Answer{Checkpoint: "triage-1-1.1", Status: work.CheckpointApproved, Choice: triage.ChoiceAccept, By: "ann", At: time.Now()}, approval.Options{})
	if err == nil {
		t.Error("an answer to the old question is taken")
	}
}

// TestCancellingAnIssueCancelsItsParts, those of parts as well, and what a death
// left over when it is said again.
func TestCancellingAnIssueCancelsItsParts(t *testing.T) {
	w := newTriageWorld(t, "")
	f, ann := Control{Board: w.worker.Opened}, factory.By{Name: "ann", Door: "test"}
	top := w.issue("Top", "full", 0)
	other := w.issue("Other", "full", 0)
	one := w.issue("One", "full", top.ID)
	below := w.issue("Below", "full", one.ID)
	if _, err := f.CancelIssue(t.Context(), top.ID, ann); err != nil {
		t.Fatal(err)
	}
	state := func(i work.Issue) work.IssueState {
		now, err := w.worker.Journal.Issue(t.Context(), w.worker.Project, i.ID)
		if err != nil {
			t.Fatal(err)
		}
		return now.State
	}
	for _, i := range []work.Issue{top, one, below} {
		if state(i) != work.IssueCancelled {
			t.Errorf("issue %d is %q", i.ID, state(i))
		}
	}
	if state(other) != "" {
		t.Errorf("another issue is %q", state(other))
	}
	var rule *factory.Refusal
	if _, err := f.CancelIssue(t.Context(), top.ID, ann); !errors.As(err, &rule) {
		t.Errorf("cancelled twice: %v", err)
	}
	late := w.issue("Late", "full", top.ID)
	if _, err := f.CancelIssue(t.Context(), top.ID, ann); err != nil || state(late) != work.IssueCancelled {
		t.Errorf("what was left over: %q, %v", state(late), err)
	}
	// A triage that is at it still makes no part any more.
	b := &threadBoard{triager: w.worker.triage, p: w.p}
	s := triage.NewState("triage-1-1", triage.Spec{Issue: top.ID})
	if id, problem, err := b.Spawn(t.Context(), s, triage.Command{Part: 1, Key: "k", Sub: triage.SubIssue{Title: "x"}}); id != 0 || problem == "" || err != nil {
		t.Errorf("part %d of a cancelled issue: %q, %v", id, problem, err)
	}
}

// TestOneFamilySpendsInOneProcessAtATime: another process waits for the lock.
func TestOneFamilySpendsInOneProcessAtATime(t *testing.T) {
	w := newTriageWorld(t, "")
	here, there := w.worker.triage, newTriager(w.worker)
	give, err := here.family(t.Context(), 7)
	if err != nil {
		t.Fatal(err)
	}
	over, stop := context.WithCancel(t.Context())
	stop()
	if _, err := there.lockFamily(over, 7); !errors.Is(err, context.Canceled) {
		t.Errorf("both hold the money of one family: %v", err)
	}
	free, err := there.family(t.Context(), 8)
	if err != nil {
		t.Fatal(err)
	}
	free()
	give()
	again, err := there.lockFamily(over, 7)
	if err != nil {
		t.Fatal(err)
	}
	again()
}
