package web

import (
	"bytes"
	"context"
	"fmt"
	"html/template"
	"strings"
	"sync"

	"forge/factory/triage"
	"forge/gates"
	texts "forge/internal/text"
	"forge/internal/work"
)

const (
	// mostWaiting is how many open checkpoints are looked at in a project.
	mostWaiting = 1000
	// mostCards is how many rendered cards are kept.
	mostCards = 20_000
)

// cardFacts are what a card shows. It is the same for everybody: who may do
// what with it is the page's business.
type cardFacts struct {
	work.Issue
	URL      string // of the project
	Cost     string // how long and how much; "" = nothing is known of it
	Blockers []int64
	// Waits is the checkpoint that waits, and Who may answer it.
	Waits, Who, Question string
	// Why says why a ready issue is not begun; "" = nothing is known to hold it,
	// or it shows on the card by itself.
	Why string
	// Mid says that the machine works on it: there is nothing to do for a person.
	Mid bool
}

// shownCard is a card as pages get it.
type shownCard struct {
	Issue   int64         `json:"-"`
	Version int64         `json:"version"`
	Column  work.Column   `json:"column"`
	Rank    string        `json:"rank"`
	HTML    template.HTML `json:"html"`
}

// cards are the cards of these issues, in their order.
func (s *Server) cardsOf(ctx context.Context, p Project, issues []work.Issue) ([]shownCard, error) {
	if len(issues) == 0 {
		return nil, nil
	}
	ids := make([]int64, len(issues))
	var runs []string
	var asked, ready bool
	for n, i := range issues {
		ids[n] = i.ID
		if i.Run != "" {
			runs = append(runs, i.Run)
		}
		asked = asked || mayWait(i)
		ready = ready || i.Column == work.ColumnReady
	}
	blockers, err := p.Cards.Blockers(ctx, p.Board.Project, ids)
	if err != nil {
		return nil, err
	}
	spent := map[string]work.RunSpent{}
	waits := map[string]work.Checkpoint{}
	if len(runs) > 0 {
		if spent, err = p.Cards.RunsSpent(ctx, runs); err != nil {
			return nil, err
		}
	}
	if asked {
		if waits, err = waiting(ctx, p); err != nil {
			return nil, err
		}
	}
	var standing *Standing
	if ready && p.Floor != nil {
		now, err := s.floors.lately(ctx, s, p)
		if err != nil {
			return nil, err
		}
		standing = &now
	}
	out := make([]shownCard, len(issues))
	for n, i := range issues {
		f := cardFacts{Issue: i, URL: "/p/" + p.ID, Blockers: blockers[i.ID]}
		if run, known := spent[i.Run]; known {
			f.Cost = usd(run.USD)
			if run.Lasting > 0 {
				f.Cost = texts.Took(run.Lasting) + " · " + f.Cost
			}
		}
		if cp, ok := waitsFor(waits, i); ok {
			f.Waits, f.Who, f.Question = cp.ID, gates.WhoAnswers(cp), cp.Question
		}
		if standing != nil && len(f.Blockers) == 0 {
			f.Why = standing.notBegun(i, s.Now())
		}
		f.Mid = i.Column == work.ColumnInProgress && i.State == "" && f.Waits == ""
		if out[n], err = s.cards.render(s, f); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// card is the card of one issue.
func (s *Server) card(ctx context.Context, p Project, id int64) (shownCard, error) {
	i, err := p.Cards.Issue(ctx, p.Board.Project, id)
	if err != nil {
		return shownCard{}, err
	}
	list, err := s.cardsOf(ctx, p, []work.Issue{i})
	if err != nil {
		return shownCard{}, err
	}
	return list[0], nil
}

// mayWait says whether a checkpoint may be about an issue.
func mayWait(i work.Issue) bool { return i.Run != "" || i.State == work.IssueWaits }

// waitsFor is the open checkpoint that is about an issue: of its run, or of its
// triage.
func waitsFor(waits map[string]work.Checkpoint, i work.Issue) (work.Checkpoint, bool) {
	if i.Run != "" {
		if cp, ok := waits[i.Run]; ok {
			return cp, true
		}
	}
	cp, ok := waits[fmt.Sprint(triage.Prefix, i.ID)]
	return cp, ok
}

// waiting is the oldest open checkpoint of each run, and of each issue's triage
// without the number of its attempt.
func waiting(ctx context.Context, p Project) (map[string]work.Checkpoint, error) {
	list, err := pending(ctx, p)
	return byRun(list), err
}

// pending are the open checkpoints of a project.
func pending(ctx context.Context, p Project) ([]work.Checkpoint, error) {
	if p.Questions == nil {
		return nil, nil
	}
	list, err := p.Questions.Checkpoints(ctx, "", work.CheckpointPending, mostWaiting, "")
	if err != nil {
		return nil, fmt.Errorf("read what waits: %w", err)
	}
	return list, nil
}

func byRun(list []work.Checkpoint) map[string]work.Checkpoint {
	out := map[string]work.Checkpoint{}
	for _, cp := range list {
		key := cp.Run
		if triage.IsThread(key) {
			key = key[:strings.LastIndexByte(key, '-')]
		}
		if _, ok := out[key]; !ok {
			out[key] = cp
		}
	}
	return out
}

// cardCache keeps cards that were rendered, by project and number, with what
// they were made from.
type cardCache struct {
	mu   sync.Mutex
	kept map[string]keptCard
}

type keptCard struct {
	from string
	html template.HTML
}

func (c *cardCache) render(s *Server, f cardFacts) (shownCard, error) {
	out := shownCard{Issue: f.ID, Version: f.Version, Column: f.Column, Rank: f.Rank}
	key := fmt.Sprintf("%s/%d", f.URL, f.ID)
	from := fmt.Sprintf("%d %s %s %v %s %s %s %s", f.Version, f.Rank, f.Cost, f.Blockers, f.Waits, f.Who, f.Question, f.Why)
	c.mu.Lock()
	kept, ok := c.kept[key]
	c.mu.Unlock()
	if ok && kept.from == from {
		out.HTML = kept.html
		return out, nil
	}
	var b bytes.Buffer
	if err := s.pages["board"].ExecuteTemplate(&b, "card", f); err != nil {
		return out, fmt.Errorf("make the card of issue %d: %w", f.ID, err)
	}
	out.HTML = template.HTML(strings.TrimSpace(b.String()))
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.kept == nil || len(c.kept) >= mostCards {
		c.kept = map[string]keptCard{}
	}
	c.kept[key] = keptCard{from: from, html: out.HTML}
	return out, nil
}
