package stuck

import (
	"fmt"
	"slices"
	"strings"
)

// maxNamed is how many tests or files a sentence names.
const maxNamed = 4

// span says which iterations a stretch holds.
func span(run []reading) string {
	first, last := run[0].it.N, run[len(run)-1].it.N
	if first == last {
		return fmt.Sprintf("iteration %d", first)
	}
	return fmt.Sprintf("iterations %d to %d", first, last)
}

// upper begins a sentence.
func upper(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// names lists the first of some names, and says how many there are beside.
func names(all []string) string {
	all = slices.Clone(all)
	slices.Sort(all)
	all = slices.Compact(all)
	if len(all) > maxNamed {
		return fmt.Sprintf("%s and %d more", strings.Join(all[:maxNamed], ", "), len(all)-maxNamed)
	}
	if len(all) > 1 {
		return strings.Join(all[:len(all)-1], ", ") + " and " + all[len(all)-1]
	}
	return strings.Join(all, "")
}

func filesOf(run []reading) []string {
	var files []string
	for _, x := range run {
		files = append(files, x.it.Files...)
	}
	return files
}

func wordsEvidence(n int) string {
	return fmt.Sprintf("The last %d iterations only said that they wait, and nothing that Forge knows of is waited for.", n)
}

func longEvidence(run []reading) string {
	return fmt.Sprintf("%s changed no file: %d in a row.", upper(span(run)), len(run))
}

func nothingEvidence(run []reading, p Pattern) string {
	var tail string
	switch p {
	case DeadWait:
		return fmt.Sprintf("%s waited for something that is gone (%s), and changed nothing.", upper(span(run)), run[len(run)-1].it.Wait.Kind)
	case NoChange:
		calls := 0
		for _, x := range run[1:] {
			calls += len(x.it.Calls)
		}
		tail = "changed no file, and used no tool"
		if calls > 0 {
			tail = fmt.Sprintf("changed no file, and their %d calls of tools brought nothing that was not known", calls)
		}
	case Comments:
		tail = "changed only blanks, comments and names in " + names(filesOf(run))
	case EditRevert:
		tail = "put files back to what they were: " + names(filesOf(run))
	case Polishing:
		tail = "made the same changes again in " + names(filesOf(run)) + ", while all tests pass"
	default:
		tail = "made the same changes again in " + names(filesOf(run))
	}
	return upper(span(run)) + " " + tail + "."
}

func treesEvidence(run []reading, period int) string {
	return fmt.Sprintf("%s went through the same %d states of %s again and again.", upper(span(run)), period, names(filesOf(run)))
}

func shapesEvidence(run []reading, period int) string {
	return fmt.Sprintf("%s made the same %d changes to %s in turn.", upper(span(run)), period, names(filesOf(run)))
}

func testsEvidence(run []reading, period int) string {
	sets := make([]string, 0, period)
	for _, x := range run[:period] {
		sets = append(sets, names(x.it.Failing))
	}
	return fmt.Sprintf("In %s the failing tests went round: %s.", span(run), strings.Join(sets, "; then "))
}

func sameEvidence(run []reading) string {
	failing, ran := run[0].it.Failing, 0
	for _, x := range run {
		if x.it.Tested {
			ran++
		}
	}
	if ran == 1 {
		return fmt.Sprintf("%s failed in iteration %d; the changes since then did not run the tests.", names(failing), run[0].it.N)
	}
	return fmt.Sprintf("%s failed in each of the %d iterations that ran the tests, %d to %d, whatever was changed.", names(failing), ran, run[0].it.N, run[len(run)-1].it.N)
}

func redEvidence(run []reading, count int) string {
	return fmt.Sprintf("The verify was red in the same way in %s, after %d changes.", span(run), count)
}
