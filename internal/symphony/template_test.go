package symphony

import (
	"errors"
	"strings"
	"testing"
	"time"
)

func someIssue() Issue {
	return Issue{
		ID: "id-1", Identifier: "MT-7", Title: "A title", Description: "Words {{ not a value }}", Priority: 2, State: "In Progress", Branch: "me/mt-7", URL: "https://linear.example/MT-7",
		Labels: []string{"bug", "ui"}, Blockers: []Blocker{{"id-2", "MT-3", "Done"}, {"", "MT-4", ""}},
		Created: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Updated: time.Date(2026, 2, 2, 3, 4, 5, 0, time.UTC),
	}
}

func rendered(source string, i Issue, attempt int) (string, error) {
	t, err := ParseTemplate(source)
	if err != nil {
		return "", err
	}
	return (&Workflow{template: t}).Render(i, attempt)
}

func TestATemplateKnowsIssueAndAttempt(t *testing.T) {
	for source, want := range map[string]string{
		"{{ issue.id }} {{ issue.identifier }}: {{issue.title}}":                                            "id-1 MT-7: A title",
		"{{ issue.description }}":                                                                           "Words {{ not a value }}",
		"{{ issue.priority }} {{ issue.state }} {{ issue.branch_name }} {{ issue.url }}":                    "2 In Progress me/mt-7 https://linear.example/MT-7",
		"{{ issue.created_at }} {{ issue.updated_at }}":                                                     "2026-01-02T03:04:05Z 2026-02-02T03:04:05Z",
		"{{ issue.labels | join: ', ' }}|{{ issue.labels }}":                                                "bug, ui|bugui",
		"{% for b in issue.blocked_by %}{{ forloop.index }}:{{ b.identifier }}={{ b.state }};{% endfor %}":  "1:MT-3=Done;2:MT-4=;",
		"{{ issue.blocked_by[0].id }}{{ issue.labels.first }}{{ issue.labels[-1] }}{{ issue.labels.size }}": "id-2bugui2",
		"{% if attempt %}again{% else %}first{% endif %}":                                                   "first",
		"[{{ attempt }}]": "[]",
	} {
		if got, err := rendered(source, someIssue(), 0); err != nil || got != want {
			t.Errorf("%s is %q, %v; want %q", source, got, err, want)
		}
	}
	if got, err := rendered("{% if attempt %}try {{ attempt }}{% endif %}", someIssue(), 3); err != nil || got != "try 3" {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := rendered("{% if issue.description %}x{% else %}none{% endif %}{{ issue.priority | default: 'no' }}", Issue{}, 0); err != nil || got != "noneno" {
		t.Errorf("what the tracker does not say: %q, %v", got, err)
	}
}

func TestTags(t *testing.T) {
	for source, want := range map[string]string{
		"{% if issue.state == 'In Progress' and issue.priority < 3 %}y{% endif %}":                            "y",
		"{% if issue.state == 'Todo' %}a{% elsif issue.labels contains 'ui' %}b{% else %}c{% endif %}":        "b",
		"{% unless issue.state == 'Todo' %}u{% endunless %}":                                                  "u",
		"{% case issue.state %}{% when 'Todo', 'Rework' %}t{% when 'In Progress' %}p{% else %}e{% endcase %}": "p",
		"{% for l in issue.labels reversed %}{{ l }}{% unless forloop.last %},{% endunless %}{% endfor %}":    "ui,bug",
		"{% for l in issue.labels limit: 1 %}{{ l }}{% else %}none{% endfor %}":                               "bug",
		"{% assign who = issue.title | upcase %}{{ who }}":                                                    "A TITLE",
		"a{% comment %}{{ nobody }}{% if %}{% endcomment %}b":                                                 "ab",
		"{% raw %}{{ raw }}{% endraw %}":                                                                      "{{ raw }}",
		"a  {{- ' b ' -}}  c":                                                                                 "a b c",
		"{% if true or false and false %}r{% endif %}":                                                        "r",
		"{% if issue.labels != empty %}some{% endif %}{% if '' == blank %}blank{% endif %}":                   "someblank",
		"{{ '}} %}' }}": "}} %}",
		"{{ 'a-b' | replace: '-', '+' | append: '!' | truncate: 3, '' }}{{ 2 | plus: 3 }}{{ ' x ' | strip | json }}": `a+b5"x"`,
	} {
		if got, err := rendered(source, someIssue(), 0); err != nil || got != want {
			t.Errorf("%s is %q, %v; want %q", source, got, err, want)
		}
	}
}

func TestAnUnknownVariableIsAnError(t *testing.T) {
	for _, source := range []string{
		"{{ nobody }}", "{{ issue.nothing }}", "{{ issue.title.more }}", "{% if nobody %}{% endif %}", "{% if issue.nothing %}{% endif %}", "{{ issue['x'] }}",
		"{% for l in issue.labels %}{{ l.name }}{% endfor %}", "{{ forloop.index }}", "{% for l in issue.labels %}{% endfor %}{{ l }}", "{{ 'a' | append: nobody }}",
	} {
		_, err := rendered("line one\n"+source, someIssue(), 1)
		var bad *TemplateError
		if !errors.As(err, &bad) || bad.Class != TemplateRender || bad.Line != 2 {
			t.Errorf("%s: %v", source, err)
		}
	}
}

func TestAnUnknownFilterIsAnError(t *testing.T) {
	for _, source := range []string{"{{ issue.title | shout }}", "{{ issue.title | append }}", "{{ issue.title | join }}", "{{ issue.title | plus: 1 }}", "{{ issue.labels | map: 'x' }}"} {
		_, err := rendered(source, someIssue(), 0)
		var bad *TemplateError
		if !errors.As(err, &bad) || bad.Class != TemplateRender {
			t.Errorf("%s: %v", source, err)
		}
	}
}

func TestATemplateThatCannotBeParsed(t *testing.T) {
	for source, line := range map[string]int{
		"a\n{{ issue.title": 2, "{% if attempt %}": 1, "\n{% endif %}": 2, "{% include 'x' %}": 1, "{{ }}": 1, "{{ a | }}": 1, "{% for x of y %}{% endfor %}": 1,
		"{% if a %}\n{% else %}\n{% elsif b %}{% endif %}": 3, "{{ 'open }}": 1, "{% raw %}": 1, "{% comment %}": 1, "{% assign 1 = 2 %}": 1, "{% case a %}{% when 1 %}": 1,
		"{{ a b }}": 1, "{% if a = b %}{% endif %}": 1, strings.Repeat("{% if true %}", 60) + strings.Repeat("{% endif %}", 60): 1,
	} {
		_, err := ParseTemplate(source)
		var bad *TemplateError
		if !errors.As(err, &bad) || bad.Class != TemplateParse || bad.Line != line {
			t.Errorf("%s: %v, want line %d", source, err, line)
		}
	}
}

func TestAnEmptyBodyHasAPrompt(t *testing.T) {
	w, err := Parse("W", "---\n"+least+"---\n\n", around(nil))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := w.Render(someIssue(), 0); err != nil || !strings.Contains(got, "MT-7") || !strings.Contains(got, "A title") {
		t.Errorf("%q, %v", got, err)
	}
}

func TestATemplateStaysSmall(t *testing.T) {
	source := strings.Repeat("{% for a in issue.labels %}", 30) + "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx" + strings.Repeat("{% endfor %}", 30)
	if _, err := rendered(source, someIssue(), 0); err == nil || !strings.Contains(err.Error(), "too long") {
		t.Errorf("%v", err)
	}
	grow := "{% assign a = 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa' %}" + strings.Repeat("{% assign a = a | replace: 'a', 'aaaaaaaaaaaaaaaaaaaa' %}", 10)
	if _, err := rendered(grow, someIssue(), 0); err == nil || !strings.Contains(err.Error(), "too long") {
		t.Errorf("%v", err)
	}
}

func FuzzTemplate(f *testing.F) {
	for _, s := range []string{"{{ issue.title | upcase }}", "{% if attempt %}{{ attempt }}{% endif %}", "{% for l in issue.labels %}{{ l }}{% endfor %}", "{% case issue.state %}{% when 'x' or \"y\" %}{% endcase %}", "{{- issue['title'] -}}", "{% raw %}{% endraw %}", "{{ '\xff' | capitalize }}"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, source string) {
		got, err := rendered(source, someIssue(), 1)
		var bad *TemplateError
		if err != nil && (!errors.As(err, &bad) || bad.Line < 1 || bad.Line > strings.Count(source, "\n")+1) {
			t.Fatalf("%v", err)
		}
		again, same := rendered(source, someIssue(), 1)
		if got != again || (err == nil) != (same == nil) {
			t.Fatalf("%q and %q", got, again)
		}
		if err == nil && !strings.Contains(source, "{{") && !strings.Contains(source, "{%") && got != strings.TrimSpace(source) {
			t.Fatalf("%q became %q", source, got)
		}
	})
}
