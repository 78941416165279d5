package config

import (
	"fmt"
	"reflect"
	"sort"
	"strings"

	"github.com/gobwas/glob"
)

// merge lays the layers over each other: per key the later one that says
// something wins; tables merge, lists are replaced.
func (c *Config) merge() {
	dst := reflect.ValueOf(&c.File).Elem()
	for _, l := range c.layers {
		c.lay(dst, reflect.ValueOf(&l.said).Elem(), nil, l)
		c.collectOverrides(l)
	}
}

func (c *Config) lay(dst, src reflect.Value, path []string, l *layer) {
	for i := range src.NumField() {
		f := src.Type().Field(i)
		from, to := src.Field(i), dst.Field(i)
		at := append(append([]string{}, path...), f.Tag.Get("toml"))
		switch {
		case f.Type.Kind() == reflect.Struct:
			c.lay(to, from, at, l)
		case from.IsNil():
		case f.Type.Kind() == reflect.Map && f.Type.Elem().Kind() == reflect.Struct:
			c.layNamed(to, from, at, l)
		default:
			to.Set(from)
			c.origins[dotted(at)] = l.origin(at)
		}
	}
}

func (c *Config) layNamed(to, from reflect.Value, path []string, l *layer) {
	if to.IsNil() {
		to.Set(reflect.MakeMap(to.Type()))
	}
	for _, name := range sortedStrings(from.MapKeys()) {
		key := reflect.ValueOf(name)
		one := reflect.New(to.Type().Elem()).Elem()
		if had := to.MapIndex(key); had.IsValid() {
			one.Set(had)
		}
		at := append(append([]string{}, path...), name)
		c.origins[dotted(at)] = l.origin(at)
		c.lay(one, from.MapIndex(key), at, l)
		to.SetMapIndex(key, one)
	}
}

func sortedStrings(keys []reflect.Value) []string {
	out := make([]string, len(keys))
	for i, k := range keys {
		out[i] = k.String()
	}
	sort.Strings(out)
	return out
}

// origin is where the layer says a key, as a user reads it.
func (l *layer) origin(path []string) string {
	if p := l.index.find(path); p.line > 0 && l.kind != layerDefaults {
		return fmt.Sprintf("%s:%d", l.file, p.line)
	}
	return l.file
}

// Origin says where a value comes from: "file:line", a variable's name, a
// flag, or "default"; "" for a key that nothing set.
func (c *Config) Origin(key string) string { return c.origins[key] }

// where is the file and place of a key, for a problem found after the merge:
// that of the layer that won.
func (c *Config) where(path ...string) (string, place) {
	if from := c.origins[dotted(path)]; strings.HasPrefix(from, "--") {
		return from, place{} // whatever a file says of it
	}
	for i := len(c.layers) - 1; i >= 0; i-- {
		l := c.layers[i]
		if p, ok := l.index.at[keyPath(path)]; ok && l.kind != layerDefaults {
			return l.file, p
		}
	}
	return c.originFile(path), place{}
}

func (c *Config) originFile(path []string) string {
	if from := c.origins[dotted(path)]; from != "" && from != "default" {
		return from
	}
	return ProjectFile
}

// collectOverrides keeps the order of the file, which a table loses.
func (c *Config) collectOverrides(l *layer) {
	first := len(c.overrides)
	for _, pattern := range sortedKeys(l.said.Phases.Overrides) {
		c.overrides = append(c.overrides, overrideAt{
			glob: pattern, said: l.said.Phases.Overrides[pattern], file: l.file,
			at: l.index.find([]string{"phases", "overrides", pattern}), all: l.index,
		})
	}
	mine := c.overrides[first:]
	sort.SliceStable(mine, func(i, j int) bool {
		a, b := mine[i].at, mine[j].at
		return a.line < b.line || a.line == b.line && a.col < b.col
	})
}

// compileGlobs compiles once what every phase is matched against. A bad glob is
// a problem that was found when its file was read.
func (c *Config) compileGlobs() {
	c.globs = map[string]*glob.Pattern{}
	patterns := append([]string{}, c.asks...)
	patterns = append(patterns, c.File.Autonomy.SensitivePatterns.Patterns...)
	for _, o := range c.overrides {
		patterns = append(patterns, o.glob)
	}
	for _, text := range patterns {
		if g, err := nameGlob(text); err == nil {
			c.globs[text] = g
		}
	}
}
