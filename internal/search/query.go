package search

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"forge/internal/text"
)

// Kind is what a text is.
type Kind string

// The kinds of texts.
const (
	KindPlan     Kind = "plan"     // what a phase was to do
	KindDocument Kind = "document" // of a job
	KindAgent    Kind = "agent"    // what an agent said or called
	KindFinding  Kind = "finding"  // of a review
	KindComment  Kind = "comment"  // what a person said
	KindEvent    Kind = "event"    // what was decided or happened
	KindIssue    Kind = "issue"    // on the board
	KindFile     Kind = "file"     // at a snapshot
)

// Kinds are all kinds of texts.
func Kinds() []Kind {
	return []Kind{KindPlan, KindDocument, KindAgent, KindFinding, KindComment, KindEvent, KindIssue, KindFile}
}

// Query is a question to the index.
type Query struct {
	Terms []Term
	Not   []Term
	Kinds []Kind    // none = all
	Run   string    // "" = all
	Phase string    // "" = all
	Path  string    // a pattern as of a shell, * also over folders; "" = all
	Who   string    // as a part of the name, in either case; "" = all
	Since time.Time // zero = from the beginning
	Until time.Time // zero = to the end
	Limit int       // 0 = 20
}

// Term is a word, or several in a row.
type Term struct {
	Words  string
	Prefix bool // also words that begin like the last one
	Exact  bool // it stands in quotes: as it is, in no other form
	Name   bool // it looks like a name in a program: who types it wants that
}

// The bounds of a question.
const (
	MaxQuery = 1000 // runes
	maxTerms = 32
	// MaxHits is how many places one answer names.
	MaxHits  = 100
	fewHits  = 20
	onDayFmt = "2006-01-02"
)

// Parse reads a question: words, "several words in a row", begin*, -without, and
// kind:, run:, phase:, path:, who:, since:, until: (days as 2006-01-02, in the
// place of now). All that is wrong with it is said together.
func Parse(said string, now time.Time) (Query, []string) {
	var q Query
	var wrong []string
	if n := len([]rune(said)); n > MaxQuery {
		return q, []string{fmt.Sprintf("the question has %d characters, at most %d are read", n, MaxQuery)}
	}
	for _, part := range split(said) {
		if name, value, is := filterOf(part); is {
			if problem := q.narrow(name, value, now); problem != "" {
				wrong = append(wrong, problem)
			}
			continue
		}
		into := &q.Terms
		// --flag is a flag that is looked for.
		if without, is := strings.CutPrefix(part, "-"); is && without != "" && without[0] != '-' {
			into, part = &q.Not, without
		}
		if t := termOf(part); t.Words != "" {
			*into = append(*into, t)
		}
	}
	if len(q.Terms)+len(q.Not) > maxTerms {
		wrong = append(wrong, fmt.Sprintf("it has %d words, at most %d are looked for", len(q.Terms)+len(q.Not), maxTerms))
	}
	if len(q.Terms) == 0 && len(wrong) == 0 {
		wrong = append(wrong, "there is no word to look for")
	}
	return q, wrong
}

// split cuts a question at blanks that stand outside quotes. A quote that is
// never closed ends with the question.
func split(said string) []string {
	var parts []string
	var b strings.Builder
	quoted := false
	for _, r := range said {
		switch {
		case r == '"':
			quoted = !quoted
			b.WriteRune(r)
		case unicode.IsSpace(r) && !quoted:
			if b.Len() > 0 {
				parts = append(parts, b.String())
			}
			b.Reset()
		default:
			b.WriteRune(r)
		}
	}
	if b.Len() > 0 {
		parts = append(parts, b.String())
	}
	return parts
}

// filterOf takes name:value apart, where name is one of the filters.
func filterOf(part string) (name, value string, is bool) {
	name, value, is = strings.Cut(part, ":")
	if !is || !slices.Contains([]string{"kind", "run", "phase", "path", "who", "since", "until"}, name) {
		return "", "", false
	}
	return name, strings.Trim(value, `"`), true
}

// narrow takes in one filter, and says what is wrong with it.
func (q *Query) narrow(name, value string, now time.Time) string {
	if value == "" {
		return name + ": names nothing"
	}
	var into *string
	switch name {
	case "kind":
		for _, one := range strings.Split(value, ",") {
			if !slices.Contains(Kinds(), Kind(one)) {
				return fmt.Sprintf("kind:%s is no kind: %s", text.OneLine(one, 40), kindList())
			}
			q.Kinds = append(q.Kinds, Kind(one))
		}
		return ""
	case "since", "until":
		day, err := time.ParseInLocation(onDayFmt, value, now.Location())
		if err != nil {
			return fmt.Sprintf("%s:%s is no day: write it as %s:%s", name, text.OneLine(value, 40), name, now.Format(onDayFmt))
		}
		if name == "since" {
			q.Since = day
		} else {
			q.Until = day.AddDate(0, 0, 1) // the whole day counts
		}
		return ""
	case "run":
		into = &q.Run
	case "phase":
		into = &q.Phase
	case "path":
		into = &q.Path
	case "who":
		into = &q.Who
	}
	if *into != "" {
		return name + ": is given twice"
	}
	*into = value
	return ""
}

func kindList() string {
	var names []string
	for _, k := range Kinds() {
		names = append(names, string(k))
	}
	return strings.Join(names, ", ")
}

// termOf is what to look for; "" where nothing of it is a letter or a digit.
func termOf(part string) Term {
	prefix := strings.HasSuffix(part, "*")
	words := strings.Join(strings.FieldsFunc(part, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) }), " ")
	if !strings.ContainsFunc(words, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) {
		return Term{}
	}
	return Term{Words: words, Prefix: prefix, Exact: strings.Contains(part, `"`), Name: nameOf(part)}
}

// matches are a question as FTS5 reads it, what fits best first: all of its words in
// a row, all of them, its names and any other, any of them; and the same again with
// other forms of its words. Terms hold letters, digits and blanks alone, so that
// nothing in them is read as an operator.
func (q Query) matches() []string {
	var out []string
	add := func(match string) {
		if len(q.Not) > 0 {
			match = "(" + match + ") NOT " + q.without()
		}
		if !slices.Contains(out, match) {
			out = append(out, match)
		}
	}
	if len(q.Terms) > 1 && q.Meaning() != "" {
		add(Term{Words: q.Meaning()}.match())
	}
	terms := beside(q.Terms, everywhere())
	// To rank all texts with "return" in them takes longer than all the rest.
	telling := beside(terms, frequent())
	for _, form := range []func(Term) string{Term.match, Term.loosely} {
		var all, some, names []string
		for _, t := range terms {
			all = append(all, form(t))
			if t.Name {
				names = append(names, t.match())
			}
		}
		for _, t := range telling {
			some = append(some, form(t))
		}
		add(strings.Join(all, " AND "))
		if len(names) > 0 {
			add(strings.Join(names, " AND ") + " AND (" + strings.Join(all, " OR ") + ")")
		}
		add(strings.Join(some, " OR "))
	}
	return out
}

// nameOf says that a word looks like a name in a program: OneLine, one_line, a.b.
func nameOf(part string) bool {
	between := func(r rune) bool { return r == '_' || r == '.' || r == '/' }
	return !strings.Contains(part, `"`) && (len(humps(part)) > 1 || strings.ContainsFunc(strings.TrimFunc(part, func(r rune) bool { return !unicode.IsLetter(r) }), between))
}

// without is what must not stand in a text, as FTS5 reads it.
func (q Query) without() string {
	var terms []string
	for _, t := range q.Not {
		terms = append(terms, t.match())
	}
	return "(" + strings.Join(terms, " OR ") + ")"
}

func (t Term) match() string {
	m := `"` + t.Words + `"`
	if t.Prefix {
		m += "*"
	}
	return m
}

// loosely also takes other forms of a word: "reviews" and "reviewed" where
// "reviewer" is asked for.
func (t Term) loosely() string {
	if stem := stemOf(t.Words); stem != "" && !t.Prefix && !t.Exact {
		return `"` + stem + `"*`
	}
	return t.match()
}

// beside are the terms without some words, unless there are no others.
func beside(terms []Term, words []string) []Term {
	out := slices.DeleteFunc(slices.Clone(terms), func(t Term) bool {
		return !t.Prefix && !t.Exact && slices.Contains(words, strings.ToLower(t.Words))
	})
	if len(out) == 0 {
		return terms
	}
	return out
}

// everywhere are words that nearly every text has and that ask for nothing.
func everywhere() []string {
	return strings.Fields("a an the of in to is are was were and or be been for on at by as it its that this these those with from will would")
}

// frequent are words that so many texts have that one of them alone says little;
// so does a letter that stands alone.
func frequent() []string {
	return strings.Fields("c d e f g h j k l m o p q r u v w y z so not no all any there i do does has have if else func function return go var let const type new true false nil null none import package struct string int error err x t s b n")
}
