package diff

import (
	"embed"
	"sync"

	"github.com/alecthomas/chroma/v2"
)

//go:embed lexers/*.xml
var lexerFiles embed.FS

// lexers are the languages that can be coloured. They are read when the first
// file is shown and not before: most commands of Forge show none.
var lexers = sync.OnceValue(func() *chroma.LexerRegistry {
	all := chroma.NewLexerRegistry()
	files, err := lexerFiles.ReadDir("lexers")
	if err != nil {
		return all
	}
	for _, f := range files {
		// One that cannot be read leaves its language without colours.
		if l, err := chroma.NewXMLLexer(lexerFiles, "lexers/"+f.Name()); err == nil {
			all.Register(l)
		}
	}
	return all
})
