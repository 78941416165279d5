package gates

import (
	"fmt"
	"strings"
)

// Nearest is the word of a list that a person most likely meant: the one with
// the fewest letters to change, case aside, or that word begins; "" when none
// is near. Of equally near ones the first counts.
func Nearest(word string, of []string) string {
	const longest = 100 // nobody mistypes a longer one, and the table stays small
	word = strings.ToLower(strings.TrimSpace(word))
	if word == "" || len(word) > longest {
		return ""
	}
	best, bestAt := "", 1+len([]rune(word))/2
	for _, w := range of {
		if len(w) > longest {
			continue
		}
		at := distance(word, strings.ToLower(w))
		if at > 1 && len(word) >= 3 && strings.HasPrefix(strings.ToLower(w), word) {
			at = 1
		}
		if at < bestAt {
			best, bestAt = w, at
		}
	}
	return best
}

// distance counts the letters to insert, remove or replace between two words.
func distance(a, b string) int {
	from, to := []rune(a), []rune(b)
	row := make([]int, len(to)+1)
	for j := range row {
		row[j] = j
	}
	for i, x := range from {
		diagonal := row[0]
		row[0] = i + 1
		for j, y := range to {
			replace := diagonal
			if x != y {
				replace++
			}
			diagonal = row[j+1]
			row[j+1] = min(replace, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(to)]
}

// didYouMean is the way out of a mistyped word.
func didYouMean(word string, of []string) string {
	all := "use one of " + strings.Join(of, ", ")
	if w := Nearest(word, of); w != "" {
		return fmt.Sprintf("did you mean %q? %s", w, all)
	}
	return all
}

// mostQuoted is how many bytes of an offending value an error quotes.
const mostQuoted = 60
