package host

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"forge/internal/text"
	"forge/internal/work"
)

// CheckRun is one run of a check, as a host tells it. A check that ran again has
// several of one name.
type CheckRun struct {
	work.PullCheck
	Ended work.CheckState // passed, failed, pending; unknown = it says nothing of the commit
	At    time.Time       // when it began or, where the host says no more, was written
	// Order tells the later of two that are of one moment.
	Order int64
	// Of is what it belongs to where a host has several of one name beside each
	// other, such as jobs of two workflows; runs of one that ran again have the same.
	Of int64
}

// Sum is what the runs of a commit's checks come to: of each check the last one
// counts.
func Sum(runs []CheckRun) work.PullChecks {
	sorted := slices.Clone(runs)
	slices.SortStableFunc(sorted, func(a, b CheckRun) int {
		if a.At.IsZero() != b.At.IsZero() { // one that waits for its turn has no time yet
			return cmp.Compare(b.At.Unix(), a.At.Unix())
		}
		return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Order, b.Order))
	})
	type check struct {
		name string
		of   int64
	}
	last, failed := map[check]CheckRun{}, map[check]bool{}
	var checks []check
	for _, r := range sorted {
		key := check{r.Name, r.Of}
		if _, known := last[key]; !known {
			checks = append(checks, key)
		}
		failed[key] = failed[key] || last[key].Ended == work.ChecksFailed
		last[key] = r
	}
	slices.SortFunc(checks, func(a, b check) int { return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.of, b.of)) })
	out := work.PullChecks{State: work.ChecksNone}
	worse := func(s work.CheckState) {
		order := []work.CheckState{work.ChecksNone, work.ChecksPassed, work.ChecksPending, work.ChecksUnknown, work.ChecksFailed}
		if slices.Index(order, s) > slices.Index(order, out.State) {
			out.State = s
		}
	}
	for _, key := range checks {
		r := last[key]
		r.Name, r.Words, r.URL = text.OneLine(key.name, mostName), text.Clip(text.Plain(r.Words), mostWords), text.OneLine(r.URL, mostName)
		worse(r.Ended)
		switch r.Ended {
		case work.ChecksPassed:
			if failed[key] {
				out.Flaky = append(out.Flaky, r.Name)
			}
		case work.ChecksFailed:
			out.Failed = append(out.Failed, r.PullCheck)
		case work.ChecksPending:
			out.Waiting = append(out.Waiting, r.Name)
			if !r.At.IsZero() && (out.Since.IsZero() || r.At.Before(out.Since)) {
				out.Since = r.At
			}
		default:
			out.Broken = append(out.Broken, r.Name)
		}
	}
	return out
}

// What is kept of a check, in bytes.
const (
	mostName  = 200
	mostWords = 2 << 10
	mostTail  = 6 << 10
)

// LogEnd is the end of a job's log as an agent can read it: without the time
// that hosts write before each line, colours and what nobody sees.
func LogEnd(log []byte) string {
	if more := len(log) - 4*mostTail; more > 0 {
		log = log[more:]
	}
	lines := strings.Split(strings.ToValidUTF8(string(log), "�"), "\n")
	for i, l := range lines {
		if stamp, rest, ok := strings.Cut(l, " "); ok {
			if _, err := time.Parse(time.RFC3339Nano, text.WithoutMark(stamp)); err == nil {
				l = rest
			}
		}
		lines[i] = strings.TrimRight(text.Plain(l), "\r ")
	}
	return text.End(strings.TrimSpace(strings.Join(lines, "\n")), mostTail)
}
