package stuckeval

import (
	"math"
	"slices"

	"forge/internal/eval"
	"forge/internal/stuck"
)

// Rule says of the iterations so far whether the phase is stuck.
type Rule struct {
	Name  string
	Stuck func(history []stuck.Iteration) bool
}

// Score is what a rule is worth on some cases. An alarm counts once a case, the
// first one: at or after the onset of what is stuck it is a hit, everywhere else
// it is wrong.
type Score struct {
	Rule      string    `json:"rule"`
	Precision eval.Rate `json:"precision"`
	Recall    eval.Rate `json:"recall"`
	Early     int       `json:"early"`   // of what is stuck, alarms before the onset
	Working   eval.Rate `json:"working"` // taken for stuck
	Waiting   eval.Rate `json:"waiting"` // taken for stuck
	// Delay is the median of the iterations from onset to alarm of the hits, with
	// the onset; nil without a hit. Low and High are the 95 % interval by order
	// statistics.
	Delay    *float64 `json:"delay"`
	DelayLow *int     `json:"delay_low95"`
	DelayTop *int     `json:"delay_high95"`
	Missed   []string `json:"missed,omitempty"` // ids of what is stuck without an alarm
	Wrong    []string `json:"wrong,omitempty"`  // ids of wrong alarms
}

// Alarm is the number of the first iteration at which a rule says stuck, 0 when it never does.
func (r Rule) Alarm(history []stuck.Iteration) int {
	for i := range history {
		if r.Stuck(history[:i+1]) {
			return history[i].N
		}
	}
	return 0
}

// Measure holds a rule against cases.
func Measure(r Rule, cases []Case) Score {
	s := Score{Rule: r.Name}
	hits, of := 0, map[stuck.State]int{}
	wrong := map[stuck.State]int{}
	var delays []int
	for _, c := range cases {
		of[c.Label]++
		alarm := r.Alarm(c.History())
		switch {
		case alarm == 0 && c.Label == stuck.Stuck:
			s.Missed = append(s.Missed, c.ID)
		case alarm == 0:
		case c.Label == stuck.Stuck && alarm >= *c.Onset:
			hits++
			delays = append(delays, alarm-*c.Onset+1)
		default:
			wrong[c.Label]++
			s.Wrong = append(s.Wrong, c.ID)
		}
	}
	s.Early = wrong[stuck.Stuck]
	s.Precision = eval.NewRate(hits, hits+len(s.Wrong))
	s.Recall = eval.NewRate(hits, of[stuck.Stuck])
	s.Working = eval.NewRate(wrong[stuck.Working], of[stuck.Working])
	s.Waiting = eval.NewRate(wrong[stuck.Waiting], of[stuck.Waiting])
	s.delay(delays)
	return s
}

// delay is the median with its interval: the order statistics between which the
// median lies with 95 % confidence, by the normal approximation of the binomial.
func (s *Score) delay(delays []int) {
	n := len(delays)
	if n == 0 {
		return
	}
	slices.Sort(delays)
	median := float64(delays[(n-1)/2]+delays[n/2]) / 2
	half := 1.96 * math.Sqrt(float64(n)) / 2
	low := max(0, int(math.Floor(float64(n)/2-half)))
	top := min(n-1, int(math.Ceil(float64(n)/2+half)))
	s.Delay, s.DelayLow, s.DelayTop = &median, &delays[low], &delays[top]
}

// Apart says that a is better than b on a rate beyond what the 95 % intervals allow.
func Apart(a, b eval.Rate) bool { return a.Low != nil && b.High != nil && *a.Low > *b.High }
