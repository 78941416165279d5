package changereview

import (
	"context"
	"fmt"
	"math"
	"sync"

	"forge/internal/text"
	"forge/internal/work"
)

// spending divides what [cost] leaves among the specialists that are still to be
// asked. Those that are under way hold their share, so that together they do
// not go over a cap; what they leave of it is for the next.
type spending struct {
	cost work.Cost

	mu      sync.Mutex
	waiting int // to be asked yet
	usd     account[float64]
	tokens  account[int64]
}

// account is one kind of what is consumed.
type account[T int64 | float64] struct {
	spent   T
	held    T
	day     T   // of the project, before this review
	unknown int // answers whose consumption nobody knows
	dayGaps int // likewise, of the day
}

// share is what one asking may consume; nil = no cap.
type share struct {
	usd    *float64
	tokens *int64
}

// limit is a cap by its name.
type limit[T int64 | float64] struct {
	name string
	most *T
	day  bool
}

// take is the share of one asking. why says that there is nothing left.
func (p *spending) take() (s share, why string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.cost
	n := max(p.waiting, 1)
	if s.usd, why = shareOf(&p.usd, c.IterationUSD, n, []limit[float64]{{"phase_usd", c.PhaseUSD, false}, {"run_usd", c.RunUSD, false}, {"day_usd", c.DayUSD, true}}); why != "" {
		return share{}, why
	}
	if s.tokens, why = shareOf(&p.tokens, c.IterationTokens, n, []limit[int64]{{"phase_tokens", c.PhaseTokens, false}, {"run_tokens", c.RunTokens, false}, {"day_tokens", c.DayTokens, true}}); why != "" {
		return share{}, why
	}
	p.waiting = max(p.waiting-1, 0)
	if s.usd != nil {
		p.usd.held += *s.usd
	}
	if s.tokens != nil {
		p.tokens.held += *s.tokens
	}
	return s, ""
}

// shareOf is the smallest share that the caps leave, at most each.
func shareOf[T int64 | float64](a *account[T], each *T, among int, limits []limit[T]) (*T, string) {
	var out *T
	if each != nil {
		most := *each
		out = &most
	}
	for _, l := range limits {
		if l.most == nil {
			continue
		}
		gone, unknown := a.spent+a.held, a.unknown
		if l.day {
			gone, unknown = gone+a.day, unknown+a.dayGaps
		}
		if unknown > 0 && each == nil {
			return nil, fmt.Sprintf("cost.%s is set, but what %s consumed is unknown", l.name, text.Number(unknown, "answer"))
		}
		part := (*l.most - gone) / T(among)
		if part <= 0 {
			return nil, fmt.Sprintf("cost.%s: nothing of %v is left", l.name, *l.most)
		}
		if out == nil || part < *out {
			out = &part
		}
	}
	return out, ""
}

// settle gives a share back for what was consumed. Where that is unknown, the
// reservation of [cost] stands for it, or it stays unknown.
func (p *spending) settle(s share, u work.Usage) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s.usd != nil {
		p.usd.held -= *s.usd
	}
	if s.tokens != nil {
		p.tokens.held -= *s.tokens
	}
	switch {
	case u.CostUSD != nil:
		p.usd.spent = min(p.usd.spent+*u.CostUSD, math.MaxFloat64)
	case p.cost.IterationUSD != nil:
		p.usd.spent += *p.cost.IterationUSD
	default:
		p.usd.unknown++
	}
	if n, ok := u.Tokens(); ok && n >= 0 {
		p.tokens.spent += min(n, math.MaxInt64-p.tokens.spent)
	} else if p.cost.IterationTokens != nil {
		p.tokens.spent += *p.cost.IterationTokens
	} else {
		p.tokens.unknown++
	}
}

// newSpending knows the caps, and what the project consumed today where one is on
// that. The journal is read for it when there is one.
func (r *ongoing) newSpending(ctx context.Context, waiting int) (*spending, error) {
	p := &spending{cost: r.set.Cost, waiting: waiting}
	if p.cost.DayUSD == nil && p.cost.DayTokens == nil {
		return p, nil
	}
	there, err := r.OpenStore(ctx, false)
	if err != nil || !there {
		return p, err
	}
	defer r.Close()
	day := r.Now().UTC().Format("2006-01-02")
	if p.usd.day, p.tokens.day, _, err = r.Journal.DayUsage(ctx, day); err != nil {
		return nil, err
	}
	p.usd.dayGaps, p.tokens.dayGaps, err = r.Journal.DayUnknown(ctx, day)
	return p, err
}
