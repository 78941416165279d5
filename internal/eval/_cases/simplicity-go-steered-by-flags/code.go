package report

import "time"

// Entry is work for a customer.
type Entry struct {
	Customer string
	Start    time.Time
	Hours    float64
}

// Totals sums entries up. With byMonth the keys are months and customers are
// left out; otherwise the keys are customers of the month given.
func Totals(entries []Entry, byMonth bool, year int, month time.Month) map[string]float64 {
	out := map[string]float64{}
	for _, e := range entries {
		if byMonth {
			if e.Start.Year() != year {
				continue
			}
			out[e.Start.Format("2006-01")] += e.Hours
		} else {
			if e.Start.Year() != year || e.Start.Month() != month {
				continue
			}
			out[e.Customer] += e.Hours
		}
	}
	return out
}

// Monthly is the hours of each customer in a month.
func Monthly(entries []Entry, year int, month time.Month) map[string]float64 {
	return Totals(entries, false, year, month)
}

// Yearly is the hours of each month of a year.
func Yearly(entries []Entry, year int) map[string]float64 {
	return Totals(entries, true, year, 0)
}
