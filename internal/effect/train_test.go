package effect

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"forge/internal/work"
	"forge/orchestrator"
)

// chain is a repository in which a tree is the list of the commits in it.
type chain struct {
	Repo
	refs     map[string]string
	trees    map[string]string
	conflict string // conflicts with whatever is there
}

func (r *chain) Changes(context.Context, string, string) ([]work.FileChange, error) {
	return []work.FileChange{{Path: "a", Status: "M"}}, nil
}

func (r *chain) Merge(_ context.Context, ours, theirs string) (work.Merged, error) {
	m := work.Merged{Tree: r.trees[ours] + "+" + theirs}
	if theirs == r.conflict {
		m.Conflicts = []string{"a"}
	}
	return m, nil
}

func (r *chain) made(tree, ref string) string {
	commit := fmt.Sprintf("c%d", len(r.trees))
	r.trees[commit] = tree
	if ref != "" {
		r.refs[ref] = commit
	}
	return commit
}

func (r *chain) CommitTree(_ context.Context, tree string, parents []string, _, ref string) (string, error) {
	return r.made(tree, ref), nil
}

func (r *chain) Squash(_ context.Context, tree, parent, message, ref string) (string, error) {
	if tree == r.trees[parent] {
		return parent, nil
	}
	if message == "breaks" {
		return "", errors.New("no room")
	}
	return r.made(tree, ref), nil
}

func (r *chain) Anchor(context.Context, string, int64, string) error { return nil }

// Each member is merged onto those before it, without the one that conflicts, and
// the branch stays where it is.
func TestTrainEffect(t *testing.T) {
	r := &chain{refs: map[string]string{}, trees: map[string]string{"head": "h"}, conflict: "b"}
	e := orchestrator.TrainEffect{Command: orchestrator.Command{ID: "t"}, Head: "head", Keep: "refs/keep"}
	for _, n := range []string{"a", "b", "c", "d"} {
		e.Members = append(e.Members, orchestrator.MergeEffect{Command: orchestrator.Command{Phase: n}, Base: "base", Last: n, Ref: "refs/" + n, Reviewed: n == "c"})
	}
	got, ok := (&Machine{Repo: r}).Do(t.Context(), e, Attending{}).(orchestrator.TrainDone)
	if !ok || len(got.Links) != 4 {
		t.Fatalf("%+v", got)
	}
	// c is reviewed, and the merge changed what was: d is merged without it.
	for i, want := range []string{"h+a", "h+a+b", "h+a+c", "h+a+d"} {
		if l := got.Links[i]; l.Result.Tree != want || !l.Result.Moved || (len(l.Result.Conflicts) > 0) != (l.Phase == "b") {
			t.Errorf("%s: %+v, want the tree %s", l.Phase, l.Result, want)
		}
	}
	if d := got.Links[2].Result.Differs; !slices.Equal(d, []string{"a"}) {
		t.Errorf("of the reviewed one %q differ", d)
	}
	for ref := range r.refs {
		if strings.Contains(ref, "head") {
			t.Errorf("%s was moved", ref)
		}
	}
}

// All members land with one move of the branch, or none does.
func TestATrainLandsAtOnce(t *testing.T) {
	r := &chain{refs: map[string]string{"refs/head": "head"}, trees: map[string]string{"head": "h"}}
	e := orchestrator.LandEffect{
		Command: orchestrator.Command{ID: "l"}, Head: "head", Tree: "h+a+b", Ref: "refs/head",
		Before: []orchestrator.LandFirst{{Phase: "a", Tree: "h+a", Message: "a"}, {Phase: "x", Tree: "h+a", Message: "nothing"}},
	}
	m := &Machine{Repo: r}
	got, ok := m.Do(t.Context(), e, Attending{}).(orchestrator.LandDone)
	want := []orchestrator.Landed{{Phase: "a", Commit: "c1"}, {Phase: "x", Commit: "c1", Empty: true}}
	if !ok || !slices.Equal(got.Before, want) || got.Commit != "c2" || got.Empty || r.refs["refs/head"] != "c2" {
		t.Errorf("%+v, the branch is at %s", got, r.refs["refs/head"])
	}

	r.refs["refs/head"], e.Tree, e.Message = "head", "h+z", "breaks"
	if broke, ok := m.Do(t.Context(), e, Attending{}).(orchestrator.Broke); !ok || r.refs["refs/head"] != "head" {
		t.Errorf("%+v, the branch is at %s", broke, r.refs["refs/head"])
	}
}

// judging tells that it was asked, and knows nothing else.
type judging struct {
	Evidence
	asked *work.EvidenceRequest
}

func (j *judging) Judge(_ context.Context, req work.EvidenceRequest) (work.EvidenceReport, error) {
	j.asked = &req
	return work.EvidenceReport{Touched: []string{"Makefile"}}, nil
}

// For a member whose commands another verify stands for, its change is held against
// the evidence, and nothing runs: there is nobody here who could.
func TestWhoRidesIsAskedForItself(t *testing.T) {
	j := &judging{}
	m := &Machine{Evidence: j, Layout: Layout{State: t.TempDir()}}
	e := orchestrator.VerifyEffect{Command: orchestrator.Command{ID: "v", On: work.OnMerged}, Judge: true, Rides: "run/02/1/1/verify-merged"}
	e.Proof.Evidence = work.EvidenceRequest{Base: "before", Commit: "merged"}
	got, ok := m.Do(t.Context(), e, Attending{}).(orchestrator.VerifyDone)
	if !ok || got.Rides != e.Rides || got.Report.OK || got.Evidence == nil || len(got.Evidence.Touched) != 1 || got.Key.Key != "" {
		t.Fatalf("%+v", got)
	}
	if j.asked == nil || j.asked.Base != "before" || j.asked.Commit != "merged" {
		t.Errorf("asked was %+v", j.asked)
	}
}
