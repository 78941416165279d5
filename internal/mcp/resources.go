package mcp

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"forge/internal/refusal"
	"forge/internal/token"
	"forge/internal/work"
)

// Addresses of resources.
const (
	eventsTemplate = "forge://runs/{run}/events"
	fileTemplate   = "forge://runs/{run}/phases/{phase}/files/{+path}"
	mostAddress    = 8 << 10
	mostFollowed   = 200
)

// resource is what an address names.
type resource struct {
	run, phase, path string // a file where there is a path, else the events of a run
}

// readAddress reads the address of a resource.
func readAddress(address string) (r resource, ok bool) {
	rest, ok := strings.CutPrefix(address, "forge://runs/")
	if !ok || len(address) > mostAddress {
		return r, false
	}
	run, rest, ok := strings.Cut(rest, "/")
	if r.run, ok = unescape(run, ok); !ok {
		return r, false
	}
	if rest == "events" {
		return r, true
	}
	phase, path, ok := strings.Cut(strings.TrimPrefix(rest, "phases/"), "/files/")
	if r.phase, ok = unescape(phase, ok && strings.HasPrefix(rest, "phases/")); !ok {
		return r, false
	}
	r.path, ok = unescape(path, true)
	return r, ok
}

func unescape(part string, ok bool) (string, bool) {
	plain, err := url.PathUnescape(part)
	return plain, ok && err == nil && plain != ""
}

func (s *Server) addResources() {
	for _, t := range []sdk.ResourceTemplate{
		{Name: "events", Title: "Events of a run", URITemplate: eventsTemplate, MIMEType: "text/plain", Description: "The last events of a run, in words. Subscribe to hear when there are more."},
		{Name: "file", Title: "A file of a phase", URITemplate: fileTemplate, MIMEType: "text/plain", Description: "A file as a phase left it last. Subscribe to hear when it is another one."},
	} {
		s.sdk.AddResourceTemplate(&t, s.readResource)
	}
	if run := s.Grant.Run; run != "" {
		s.sdk.AddResource(&sdk.Resource{Name: "events", Title: "Events of run " + run, URI: "forge://runs/" + url.PathEscape(run) + "/events", MIMEType: "text/plain"}, s.readResource)
	}
}

// resources are looked at as a tool is called: with the same record.
func resourceTool(name string) tool { return tool{name: name, tier: token.Read} }

func (s *Server) readResource(ctx context.Context, req *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
	said, err := s.do(ctx, resourceTool("resources/read"), func(c *call) (answer, error) {
		r, err := c.resource(req.Params.URI)
		if err != nil {
			return answer{}, err
		}
		if r.path == "" {
			return c.lastEvents(r)
		}
		commit, err := c.snapshot(inSnapshot{inRun: inRun{Run: r.run, Phase: r.phase}}, false)
		if err != nil {
			return answer{}, err
		}
		return c.fileAt(commit, r.path, 0)
	})
	if err != nil {
		return nil, err
	}
	return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: req.Params.URI, MIMEType: "text/plain", Text: said.String()}}}, nil
}

// resource is what an address names, within the grant.
func (c *call) resource(address string) (resource, error) {
	r, ok := readAddress(address)
	if !ok {
		return r, refusal.New(eventsTemplate+" and "+fileTemplate+" are", "%s is no address of a resource", label(address))
	}
	_, st, err := c.stand(r.run)
	if err == nil && r.path != "" {
		c.name("path", r.path)
		_, err = c.phase(st, r.phase)
	}
	return r, err
}

// lastEvents are the last events of a run that fit into one answer.
func (c *call) lastEvents(r resource) (answer, error) {
	const most = 200
	row, st, err := c.stand(r.run)
	if err != nil {
		return answer{}, err
	}
	end, err := c.project.Watch.RunEnd(c, row.ID)
	if err != nil {
		return answer{}, err
	}
	return c.told(row.ID, max(0, end-most), func(e work.Event) bool { return c.hears(st, "", e) })
}

// mark is another text after a resource became another one.
func (c *call) mark(r resource) (string, error) {
	row, st, err := c.stand(r.run)
	if err != nil {
		return "", err
	}
	if r.path != "" {
		ph := st.View(r.phase)
		if ph == nil {
			return "", nil
		}
		return ph.Last, nil
	}
	if c.Grant.Phase == "" {
		end, err := c.project.Watch.RunEnd(c, row.ID)
		return fmt.Sprint(end), err
	}
	// When others go on is not the agent's to hear.
	ph := st.View(c.Grant.Phase)
	if ph == nil {
		return "", nil
	}
	return fmt.Sprint(ph.Iteration, ph.Stage, ph.Outcome, ph.Last, len(ph.Messages)), nil
}

// subscribe has a client told when a resource is another one.
func (s *Server) subscribe(ctx context.Context, req *sdk.SubscribeRequest) error {
	address := req.Params.URI
	_, err := s.do(ctx, resourceTool("resources/subscribe"), func(c *call) (answer, error) {
		r, err := c.resource(address)
		if err != nil {
			return answer{}, err
		}
		mark, err := c.mark(r)
		if err != nil {
			return answer{}, err
		}
		return answer{}, s.follow(ctx, req.Session, address, mark)
	})
	return err
}

// follow keeps what a resource was like, and begins to look where nobody does.
func (s *Server) follow(ctx context.Context, who *sdk.ServerSession, address, mark string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.heard[address]
	if f == nil {
		if len(s.heard) >= mostFollowed {
			return refusal.New("unsubscribe from some", "%d resources are followed already", mostFollowed)
		}
		f = &followed{mark: mark, by: map[*sdk.ServerSession]bool{}}
		s.heard[address] = f
	}
	f.by[who] = true
	if !s.looks && !s.closed {
		if s.stop != nil {
			s.stop() // the one before has ended
		}
		ctx, s.stop = context.WithCancel(context.WithoutCancel(ctx))
		s.looks = true
		s.all.Go(func() { s.look(ctx) })
	}
	return nil
}

func (s *Server) unsubscribe(_ context.Context, req *sdk.UnsubscribeRequest) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f := s.heard[req.Params.URI]; f != nil {
		if delete(f.by, req.Session); len(f.by) == 0 {
			delete(s.heard, req.Params.URI)
		}
	}
	return nil
}

// look tells subscribers of what changed, until nobody follows anything.
func (s *Server) look(ctx context.Context) {
	ticks := time.NewTicker(s.Look)
	defer ticks.Stop()
	version := int64(-1)
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
		}
		if s.rest() {
			return
		}
		now, err := s.changes(ctx, version)
		if err != nil {
			s.Log.Debug("followed resources could not be looked at", "err", err)
			continue
		}
		version = now
	}
}

// rest says that nobody follows anything any more: the sessions are over, or the
// grant is. The next subscription begins anew.
func (s *Server) rest() bool {
	open := map[*sdk.ServerSession]bool{}
	for one := range s.sdk.Sessions() {
		open[one] = true
	}
	over := !s.holds(token.Read)
	s.mu.Lock()
	defer s.mu.Unlock()
	for address, f := range s.heard {
		maps.DeleteFunc(f.by, func(one *sdk.ServerSession, _ bool) bool { return !open[one] })
		if len(f.by) == 0 {
			delete(s.heard, address)
		}
	}
	if len(s.heard) > 0 && !over {
		return false
	}
	clear(s.heard)
	s.looks = false
	return true
}

// changes tells of each resource that is another one since version, and returns
// the version now.
func (s *Server) changes(ctx context.Context, version int64) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	project, err := s.Project(ctx)
	if err != nil {
		return version, err
	}
	now, err := project.Watch.Version(ctx)
	if err != nil || now == version {
		return version, err
	}
	s.mu.Lock()
	marks := make(map[string]string, len(s.heard))
	for address, f := range s.heard {
		marks[address] = f.mark
	}
	s.mu.Unlock()
	for address, was := range marks {
		c := &call{Context: ctx, Server: s, project: project}
		r, err := c.resource(address)
		if err != nil {
			continue // the run was tidied away: reading it says so
		}
		mark, err := c.mark(r)
		if err != nil {
			return version, err
		}
		if mark == was {
			continue
		}
		s.mu.Lock()
		if f := s.heard[address]; f != nil {
			f.mark = mark
		}
		s.mu.Unlock()
		if err := s.sdk.ResourceUpdated(ctx, &sdk.ResourceUpdatedNotificationParams{URI: address}); err != nil {
			return version, fmt.Errorf("tell of %s: %w", address, err)
		}
	}
	return now, nil
}
