package linear

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"forge/factory/tracker"
	"forge/internal/work"
)

const (
	findIssue = `query($key:String!,$number:Float!,$ids:[ID!]){viewer{id displayName} organization{urlKey}
teams(filter:{key:{eq:$key}},first:1){nodes{key states(first:100){nodes{id name type}}}}
issues(filter:{team:{key:{eq:$key}},number:{eq:$number}},first:1){nodes{id state{id name type}}}
comments(filter:{id:{in:$ids}},first:10){nodes{id body user{id}}}}`
	createComment  = `mutation($input:CommentCreateInput!){commentCreate(input:$input){success}}`
	updateComment  = `mutation($id:String!,$input:CommentUpdateInput!){commentUpdate(id:$id,input:$input){success}}`
	updateIssue    = `mutation($id:String!,$input:IssueUpdateInput!){issueUpdate(id:$id,input:$input){success}}`
	findReactions  = `query($ids:[ID!]){viewer{id} comments(filter:{id:{in:$ids}},first:1){nodes{id reactions{emoji user{id}}}}}`
	createReaction = `mutation($input:ReactionCreateInput!){reactionCreate(input:$input){success}}`
)

// ownIDs is how often a report is written anew after people deleted it: Linear takes
// no id twice.
const ownIDs = 3

// commentID is the id of a report's comment, which whoever creates it may choose: by
// it the comment is found again, whatever Linear makes of its text.
func commentID(key string, n int) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %d", key, n))
	copy(sum[:], ownPrefix)
	sum[6], sum[8] = sum[6]&0x0f|0x40, sum[8]&0x3f|0x80 // version 4 of its kind
	return fmt.Sprintf("%x-%x-%x-%x-%x", sum[:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16])
}

const ownPrefix = "frge"

// ownID says that a comment's id is one of commentID's.
func ownID(id string) bool { return strings.HasPrefix(id, fmt.Sprintf("%x-", ownPrefix)) }

// Post is as of tracker.Host.
func (t *Tracker) Post(ctx context.Context, number int64, r tracker.Report) error {
	const do = "find an issue"
	var ids []string
	for n := range ownIDs {
		ids = append(ids, commentID(r.Key, n))
	}
	var said struct {
		place
		Issues struct {
			Nodes []issue `json:"nodes"`
		} `json:"issues"`
		Comments struct {
			Nodes []comment `json:"nodes"`
		} `json:"comments"`
	}
	if err := t.ask(ctx, do, findIssue, map[string]any{"key": t.cfg.Team, "number": number, "ids": ids}, &said); err != nil {
		return err
	}
	if err := t.there(do, said.place); err != nil {
		return err
	}
	if len(said.Issues.Nodes) == 0 {
		return t.client.Trouble(do, http.StatusNotFound, nil, fmt.Sprintf("there is no issue %d", number), nil)
	}
	is := said.Issues.Nodes[0]
	if err := t.say(ctx, is.ID, said.Viewer, said.Comments.Nodes, ids, r); err != nil {
		return err
	}
	return t.goTo(ctx, is, said.Teams.Nodes[0].States.Nodes, r)
}

// say makes the comment, or changes it.
func (t *Tracker) say(ctx context.Context, issue string, own user, there []comment, ids []string, r tracker.Report) error {
	for _, c := range there {
		if c.User == nil || c.User.ID != own.ID {
			continue
		}
		if c.Body == r.Post() {
			return nil
		}
		return t.do(ctx, "change a comment", updateComment, map[string]any{"id": c.ID, "input": map[string]any{"body": r.Post()}})
	}
	var err error
	for _, id := range ids {
		err = t.do(ctx, "comment on an issue", createComment, map[string]any{"input": map[string]any{"id": id, "issueId": issue, "body": r.Post()}})
		if work.HostKindOf(err) != work.HostRefused {
			break
		}
	}
	return err
}

// do changes something.
func (t *Tracker) do(ctx context.Context, what, mutation string, variables map[string]any) error {
	var said map[string]struct {
		Success bool `json:"success"`
	}
	if err := t.ask(ctx, what, mutation, variables, &said); err != nil {
		return err
	}
	for _, one := range said {
		if !one.Success {
			return t.client.Trouble(what, http.StatusUnprocessableEntity, nil, "it did not succeed", nil)
		}
	}
	return nil
}

// goTo brings an issue into the state of a report's stage. One that is over stays
// so: whoever ended it has decided.
func (t *Tracker) goTo(ctx context.Context, is issue, states []state, r tracker.Report) error {
	want := t.cfg.States.Of(r.Stage)
	if is.State.over() || want == "" && !r.Done || strings.EqualFold(is.State.Name, want) {
		return nil
	}
	var names []string
	var to *state
	for n, s := range states {
		names = append(names, s.Name)
		switch {
		case want != "" && strings.EqualFold(s.Name, want):
			to = &states[n]
		case want == "" && s.Type == "completed" && (to == nil || s.Name == "Done"):
			to = &states[n]
		}
	}
	if to == nil {
		slices.Sort(names)
		return &work.HostTrouble{Kind: work.HostRefused, Do: "change an issue's state", What: fmt.Sprintf("the team has no state %q; it has %s", cmp.Or(want, "of the kind completed"), strings.Join(names, ", ")), Fix: "write one of them into the tracker's configuration"}
	}
	return t.do(ctx, "change an issue's state to "+to.Name, updateIssue, map[string]any{"id": is.ID, "input": map[string]any{"stateId": to.ID}})
}

// Acknowledge is as of tracker.Host.
func (t *Tracker) Acknowledge(ctx context.Context, _ int64, c tracker.Comment) error {
	const do, emoji = "leave a sign at a comment", "eyes"
	var said struct {
		Viewer   user `json:"viewer"`
		Comments struct {
			Nodes []struct {
				Reactions []struct {
					Emoji string `json:"emoji"`
					User  *user  `json:"user"`
				} `json:"reactions"`
			} `json:"nodes"`
		} `json:"comments"`
	}
	if err := t.ask(ctx, do, findReactions, map[string]any{"ids": []string{c.Key}}, &said); err != nil {
		return err
	}
	if len(said.Comments.Nodes) == 0 {
		return t.client.Trouble(do, http.StatusNotFound, nil, "there is no such comment", nil)
	}
	for _, r := range said.Comments.Nodes[0].Reactions {
		if r.User != nil && r.User.ID == said.Viewer.ID && r.Emoji == emoji {
			return nil
		}
	}
	return t.do(ctx, do, createReaction, map[string]any{"input": map[string]any{"commentId": c.Key, "emoji": emoji}})
}
