package project

import (
	"slices"
	"strings"
	"testing"
	"time"

	"forge/internal/work"
)

func TestStartNotes(t *testing.T) {
	tests := []struct {
		about string
		facts StartFacts
		want  []string // the beginnings and parts of each note
	}{
		{"all is well", StartFacts{Branch: "main"}, nil},
		{"one change", StartFacts{Branch: "main", Changed: []string{"a.go"}}, []string{"1 change is not committed|not merged into main while that is so|: a.go"}},
		{"left on its branch", StartFacts{Changed: []string{"a", "b", "c", "d", "e"}}, []string{"5 changes are not committed|last commit without it (commit|: a, b, c and 2 more"}},
		{"untracked", StartFacts{Untracked: []string{"new\x1b[2J.go"}}, []string{"1 file is not tracked by git|no agent sees it"}},
		{"nobody", StartFacts{NoIdentity: true}, []string{"git knows no user.name|Forge <forge@localhost>|git config"}},
		{"a lesson about nothing", StartFacts{Gone: []string{"lint/old.sh"}}, []string{"1 lesson is not told|is not there (forge lessons remove --gone): lint/old.sh"}},
		{"a poor terminal", StartFacts{Dumb: true}, []string{"TERM=dumb|forge approve"}},
		{
			"another server", StartFacts{Servers: []work.Server{{PID: 12, Host: "here", Since: time.Unix(0, 0)}}, NoIdentity: true},
			[]string{"git knows", "another forge factory works on this board, process 12 on here"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.about, func(t *testing.T) {
			got := tt.facts.Notes()
			if len(got) != len(tt.want) {
				t.Fatalf("%d notes, want %d: %q", len(got), len(tt.want), got)
			}
			for i, parts := range tt.want {
				if strings.ContainsRune(got[i], '\x1b') {
					t.Errorf("note %q acts on a terminal", got[i])
				}
				if missing := slices.DeleteFunc(strings.Split(parts, "|"), func(part string) bool { return strings.Contains(got[i], part) }); len(missing) > 0 {
					t.Errorf("note %q does not hold %q", got[i], missing)
				}
			}
		})
	}
}
