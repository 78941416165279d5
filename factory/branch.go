package factory

import (
	"fmt"
	"strings"
)

// maxSlug keeps a branch's name, and what is made of it, short.
const maxSlug = 40

// Branch is the name of an issue's branch: forge/issue-<id>-<slug>, without
// the slug when nothing of the title can be used. It is kept from the first
// claim on, whatever the title becomes.
func Branch(id int64, title string) string {
	name := fmt.Sprintf("forge/issue-%d", id)
	if slug := Slug(title); slug != "" {
		name += "-" + slug
	}
	return name
}

// Slug is a title as lower-case ASCII letters and digits with single hyphens
// between, at most 40 bytes, cut between words where it can be. Whatever else
// the title has separates words; a slug may be empty.
func Slug(title string) string {
	words := strings.FieldsFunc(strings.ToLower(title), func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9')
	})
	slug := ""
	for _, w := range words {
		if slug == "" {
			slug = w[:min(len(w), maxSlug)]
			continue
		}
		if len(slug)+1+len(w) > maxSlug {
			break
		}
		slug += "-" + w
	}
	return slug
}
