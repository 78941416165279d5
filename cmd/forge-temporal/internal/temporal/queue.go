package temporal

import (
	"slices"
	"strings"

	"forge/orchestrator"
)

// Queues names the task queues of one factory. A queue's name holds no more than
// the factory's name, a host's id and words of the configuration: operators read it.
type Queues struct{ Prefix string }

// Core is where workflows of that version of the core are decided and their records
// are written: a history can be replayed by the core that recorded it alone.
func (q Queues) Core(version string) string { return q.core() + version }

func (q Queues) core() string { return q.Prefix + "-core-v" }

// versionOf is the version of the core that a queue is for; false for other queues.
func (q Queues) versionOf(queue string) (version string, is bool) {
	version, is = strings.CutPrefix(queue, q.core())
	return version, is && version != ""
}

// Any is for effects that every worker can carry out.
func (q Queues) Any() string { return q.Prefix + "-any" }

// Host is for effects that need a folder of that host.
func (q Queues) Host(id string) string { return q.Prefix + "-host-" + id }

// Able is for effects that need all of what is named, in any order; without a
// name it is Any.
func (q Queues) Able(needs []string) string {
	if len(needs) == 0 {
		return q.Any()
	}
	needs = slices.Clone(needs)
	slices.Sort(needs)
	return q.Prefix + "-cap-" + strings.Join(slices.Compact(needs), "+")
}

// MaxHas is how many capabilities a worker may name: it serves a queue for each
// choice of them.
const MaxHas = 5

// Served are all queues of effects that a worker on host with these capabilities
// takes from.
func (q Queues) Served(host string, has []string) []string {
	has = slices.Clone(has)
	slices.Sort(has)
	has = slices.Compact(has)
	all := []string{q.Any()}
	if host != "" {
		all = append(all, q.Host(host))
	}
	for set := 1; set < 1<<len(has); set++ {
		var needs []string
		for i, one := range has {
			if set&(1<<i) != 0 {
				needs = append(needs, one)
			}
		}
		all = append(all, q.Able(needs))
	}
	return all
}

// needsFolder says that an effect works in its phase's folder, or beside an agent
// that does.
func needsFolder(e orchestrator.Effect) bool {
	switch e.(type) {
	case orchestrator.IterateEffect, orchestrator.TellEffect:
		return true
	}
	return false
}
