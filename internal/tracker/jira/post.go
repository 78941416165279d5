package jira

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"forge/factory/tracker"
	"forge/internal/work"
)

// Post is as of tracker.Host.
func (t *Tracker) Post(ctx context.Context, number int64, r tracker.Report) error {
	own, err := t.myself(ctx)
	if err != nil {
		return err
	}
	path := "/issue/" + t.key(number)
	var i issue
	if _, err := t.ask(ctx, "read an issue", http.MethodGet, path+"?fields=status", nil, &i); err != nil {
		return err
	}
	if now, ok := t.number(i.Key); !ok || now != number {
		return t.client.Trouble("read an issue", http.StatusNotFound, nil, fmt.Sprintf("%s was moved", t.key(number)), nil)
	}
	if err := t.say(ctx, path, own, r); err != nil {
		return err
	}
	return t.goTo(ctx, path, i.Fields.Status, r)
}

// say makes the comment, or changes it: only the own account's, since anybody may
// copy the mark.
func (t *Tracker) say(ctx context.Context, path string, own account, r tracker.Report) error {
	all, err := t.comments(ctx, path)
	if err != nil {
		return err
	}
	plain := Text(r)
	body := map[string]any{"body": document(plain)}
	if !t.cloud {
		body["body"], plain = block(plain), block(plain)
	}
	for _, c := range all {
		if c.Author.id() != own.id() || !strings.Contains(string(c.Body), tracker.Mark(r.Key)) {
			continue
		}
		if string(c.Body) == plain {
			return nil
		}
		_, err = t.ask(ctx, "change a comment", http.MethodPut, path+"/comment/"+c.ID, body, nil)
		return err
	}
	_, err = t.ask(ctx, "comment on an issue", http.MethodPost, path+"/comment", body, nil)
	return err
}

type transition struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	To   status `json:"to"`
}

// goTo brings an issue into the state of a report's stage, by a way that its workflow
// has. One that is over stays so: whoever ended it has decided.
func (t *Tracker) goTo(ctx context.Context, path string, is status, r tracker.Report) error {
	want := t.cfg.States.Of(r.Stage)
	if is.over() || want == "" && !r.Done || strings.EqualFold(is.Name, want) {
		return nil
	}
	var said struct {
		All []transition `json:"transitions"`
	}
	if _, err := t.ask(ctx, "ask where an issue may go", http.MethodGet, path+"/transitions", nil, &said); err != nil {
		return err
	}
	way, err := choose(said.All, is, want)
	if err != nil {
		return err
	}
	_, err = t.ask(ctx, "bring an issue to "+way.To.Name, http.MethodPost, path+"/transitions", map[string]any{"transition": map[string]string{"id": way.ID}}, nil)
	return err
}

// choose finds the way to a state by its own name or that of the state. Where none is
// named, it is the one that ends the issue, if there is only one of them or one is
// called Done.
func choose(all []transition, is status, want string) (transition, error) {
	named := func(name string) (ways []transition) {
		for _, way := range all {
			if strings.EqualFold(way.To.Name, name) || strings.EqualFold(way.Name, name) {
				ways = append(ways, way)
			}
		}
		return ways
	}
	var ways []transition
	if want == "" {
		for _, way := range all {
			if way.To.over() {
				ways = append(ways, way)
			}
		}
		if done := named("Done"); len(ways) > 1 && len(done) > 0 {
			ways = done
		}
	} else {
		ways = named(want)
	}
	if len(ways) == 1 || len(ways) > 1 && want != "" {
		return ways[0], nil
	}
	var names []string
	for _, way := range all {
		names = append(names, way.To.Name)
	}
	slices.Sort(names)
	what := fmt.Sprintf("its workflow lets it go from %s to %s", is.Name, strings.Join(slices.Compact(names), ", "))
	if want != "" {
		what += ", not to " + want
	} else {
		what += "; it does not say which of them is done"
	}
	return transition{}, &work.HostTrouble{Kind: work.HostRefused, Do: "change an issue's state", What: what, Fix: "write the state's name into the tracker's configuration, or let the workflow go there"}
}

// Acknowledge is as of tracker.Host. Nobody can leave a sign at a comment in Jira.
func (t *Tracker) Acknowledge(context.Context, int64, tracker.Comment) error { return nil }
