package text

import (
	"regexp"
	"sync"
)

// Lazy is an expression that is compiled when it is first used. Whatever is
// compiled as the program begins, every command of Forge pays for, most of them
// for nothing. Like regexp.MustCompile it panics when expr is no expression.
func Lazy(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}
