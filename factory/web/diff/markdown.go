package diff

import (
	"html/template"
	"strings"
)

// Block is a part of a Markdown file as it reads.
type Block struct {
	What string // "" = as before, "ins", "del"
	HTML template.HTML
}

// maxBlocks bounds what is compared as it reads; the lines can be shown of any
// file.
const maxBlocks = 1000

// Markdown compares two versions of a text by its parts (paragraphs, lists,
// code), each rendered by render. false: too many of them.
func Markdown(before, after string, render func(string) template.HTML) ([]Block, bool) {
	a, b := blocks(before), blocks(after)
	if len(a) > maxBlocks || len(b) > maxBlocks {
		return nil, false
	}
	var out []Block
	for _, s := range script(a, b) {
		out = append(out, Block{What: s.what, HTML: render(s.text)})
	}
	return out, true
}

// IsMarkdown says that a file can be shown as it reads.
func IsMarkdown(path string) bool {
	p := strings.ToLower(path)
	return strings.HasSuffix(p, ".md") || strings.HasSuffix(p, ".markdown")
}

// blocks splits a text where lines are empty, but not inside of a fence.
func blocks(text string) []string {
	var out []string
	var at strings.Builder
	flush := func() {
		if strings.TrimSpace(at.String()) != "" {
			out = append(out, at.String())
		}
		at.Reset()
	}
	fence := ""
	for l := range strings.Lines(strings.ReplaceAll(text, "\r\n", "\n")) {
		t := strings.TrimSpace(l)
		switch {
		case fence == "" && (strings.HasPrefix(t, "```") || strings.HasPrefix(t, "~~~")):
			fence = t[:3]
		case fence != "" && strings.HasPrefix(t, fence):
			fence = ""
		case fence == "" && t == "":
			flush()
			continue
		}
		at.WriteString(l)
	}
	flush()
	return out
}

type step struct{ what, text string }

// script is the shortest way from a to b by whole parts.
func script(a, b []string) []step {
	common := make([][]int, len(a)+1)
	for i := range common {
		common[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				common[i][j] = common[i+1][j+1] + 1
			} else {
				common[i][j] = max(common[i+1][j], common[i][j+1])
			}
		}
	}
	var out []step
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			out = append(out, step{"", a[i]})
			i, j = i+1, j+1
		case i < len(a) && (j == len(b) || common[i+1][j] >= common[i][j+1]):
			out = append(out, step{"del", a[i]})
			i++
		default:
			out = append(out, step{"ins", b[j]})
			j++
		}
	}
	return out
}
