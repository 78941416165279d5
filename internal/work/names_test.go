package work

import "testing"

func TestMatchName(t *testing.T) {
	for _, tt := range []struct {
		patterns []string
		name     string
		pattern  string
		ok       bool
	}{
		{nil, "auth-login", "", false},
		{[]string{"database-*", "auth-*", "*"}, "auth-login", "auth-*", true},
		{[]string{"auth-*"}, "Auth-login", "", false},
		{[]string{"auth-*"}, "auth", "", false},
		{[]string{"auth-*"}, "auth-", "auth-*", true},
		{[]string{"auth-*"}, "my-auth-login", "", false},
		{[]string{"*auth*"}, "my/auth.login page", "*auth*", true},
		{[]string{"db-[0-9]?", "{a,b}"}, "db-12", "db-[0-9]?", true},
		{[]string{"db-[0-9]?", "{a,b}"}, "b", "{a,b}", true},
		{[]string{"*"}, "", "*", true},
	} {
		pattern, ok, err := MatchName(tt.patterns, tt.name)
		if err != nil || pattern != tt.pattern || ok != tt.ok {
			t.Errorf("%q %q: %q, %v, %v", tt.patterns, tt.name, pattern, ok, err)
		}
	}
	for _, bad := range [][]string{{"ok", "{a"}, {"*", "["}, {""}, {string(make([]byte, 501))}} {
		if pattern, ok, err := MatchName(bad, "ok"); err == nil || ok || pattern != "" {
			t.Errorf("%.40q: %q, %v, %v", bad, pattern, ok, err)
		}
	}
}
