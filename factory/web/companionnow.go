package web

import (
	"context"
	"net/http"
	"net/url"
	"sync"
	"time"
)

const (
	// mostTalks is how many questions a server has answered at once.
	mostTalks = 8
	// talkBeat is how often a page hears that there are more words.
	talkBeat = 150 * time.Millisecond
	// linksFor is how long it is believed which files can be shown.
	linksFor = 10 * time.Second
)

// talks are the questions that are answered at the moment, and where the lines are
// that answers speak of.
type talks struct {
	mu      sync.Mutex
	running map[string]*CompanionNow // by topic
	known   map[string]knownLinks    // by topic
	done    sync.WaitGroup
}

type knownLinks struct {
	lineLinks
	at time.Time
}

// now is how far the answer of a conversation is; false = none is under way.
func (t *talks) now(topic string) (CompanionNow, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if one := t.running[topic]; one != nil {
		return *one, true
	}
	return CompanionNow{}, false
}

// ask has a question answered. It returns as soon as that is under way, or cannot be.
func (t *talks) ask(s *Server, p Project, run, question string, by Asker) error {
	topic := TalkTopic(p.ID, run)
	t.mu.Lock()
	switch {
	case t.running[topic] != nil:
		t.mu.Unlock()
		return &Complaint{http.StatusConflict, "The question before is still being answered.", "Wait for its answer."}
	case len(t.running) >= mostTalks || s.isStopped():
		t.mu.Unlock()
		return &Complaint{http.StatusTooManyRequests, "Too many questions are being answered at once.", "Wait a moment."}
	}
	if t.running == nil {
		t.running = map[string]*CompanionNow{}
	}
	t.running[topic] = &CompanionNow{}
	begun := make(chan error, 1)
	t.done.Go(func() { t.answer(s, p, run, question, by, begun) })
	t.mu.Unlock()
	return <-begun
}

// answer waits for an answer, until the server ends.
func (t *talks) answer(s *Server, p Project, run, question string, by Asker, begun chan<- error) {
	topic := TalkTopic(p.ID, run)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		select {
		case <-s.stop:
			cancel()
		case <-ctx.Done():
		}
	}()
	told := time.Time{}
	_, err := p.Companion.Ask(ctx, run, question, by, func(now CompanionNow) {
		t.mu.Lock()
		one := t.running[topic]
		if one.Turn = now.Turn; !now.Line {
			one.Text = now.Text
		}
		t.mu.Unlock()
		select {
		case begun <- nil:
		default: // that it is under way is known
		}
		if at := time.Now(); now.Line || at.Sub(told) > talkBeat {
			told = at
			s.hub.Publish(topic, "")
		}
	})
	t.mu.Lock()
	delete(t.running, topic)
	t.mu.Unlock()
	select {
	case begun <- err:
	default:
		if err != nil {
			s.Log.Error("an answer of the companion was lost", "project", p.ID, "err", err)
		}
	}
	s.hub.Publish(topic, "")
}

func (t *talks) wait() { t.done.Wait() }

// links are where the lines are that answers about a run speak of: in the cockpit,
// at the last thing that was judged, else in the run's change.
func (t *talks) links(ctx context.Context, s *Server, p Project, run string) lineLinks {
	topic := TalkTopic(p.ID, run)
	t.mu.Lock()
	one, ok := t.known[topic]
	t.mu.Unlock()
	if run == "" || ok && s.Now().Sub(one.at) < linksFor {
		return one.lineLinks
	}
	one.lineLinks = t.look(ctx, s, p, run)
	one.at = s.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.known == nil || len(t.known) > 1000 {
		t.known = map[string]knownLinks{}
	}
	t.known[topic] = one
	return one.lineLinks
}

// look finds that out. An answer without links is better than none.
func (t *talks) look(ctx context.Context, s *Server, p Project, run string) lineLinks {
	out := lineLinks{files: map[string]bool{}}
	list, err := p.Questions.Checkpoints(ctx, run, "", 100, "")
	for n := len(list) - 1; err == nil && n >= 0; n-- {
		j, err := p.Questions.Judged(ctx, list[n].ID)
		if err != nil || j.To == "" {
			continue
		}
		files, err := p.Code.Files(ctx, j.To)
		if err != nil {
			continue
		}
		for _, f := range files {
			out.files[f] = true
		}
		out.at, out.exact = "/p/"+p.ID+"/checkpoints/"+url.PathEscape(list[n].ID)+"/blob", true
		return out
	}
	st, err := p.Runs.State(ctx, run)
	if err != nil {
		return out
	}
	for _, f := range s.runChanges(ctx, p, st).Files {
		out.files[f.Path] = true
	}
	out.at = "/p/" + p.ID + "/runs/" + url.PathEscape(run) + "/file"
	return out
}
