package symphony

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// applyFilter does to a value what a filter of that name does. why is what is wrong;
// "" = nothing.
func applyFilter(name string, v any, args []any) (out any, why string) {
	least, most, known := filterArgs(name)
	switch {
	case !known:
		return nil, fmt.Sprintf("the filter %s is not known", quoted(name))
	case len(args) < least || len(args) > most:
		return nil, fmt.Sprintf("the filter %s takes %d to %d values", name, least, most)
	}
	switch name {
	case "default":
		if !truth(v) || hollow(v) {
			return args[0], ""
		}
		return v, ""
	case "json":
		b, err := json.Marshal(v)
		if err != nil {
			return nil, "a value cannot be written as JSON"
		}
		return string(b), ""
	case "size":
		switch v := v.(type) {
		case []any:
			return int64(len(v)), ""
		case map[string]any:
			return int64(len(v)), ""
		}
		return int64(utf8.RuneCountInString(shown(v))), ""
	case "join", "first", "last", "sort", "reverse", "uniq", "compact", "map":
		return listFilter(name, v, args)
	case "plus", "minus", "times":
		a, ok := v.(int64)
		b, both := args[0].(int64)
		if !ok || !both {
			return nil, fmt.Sprintf("the filter %s needs whole numbers", name)
		}
		return map[string]int64{"plus": a + b, "minus": a - b, "times": a * b}[name], ""
	}
	return textFilter(name, shown(v), args)
}

// filterArgs is how many values a filter takes.
func filterArgs(name string) (least, most int, known bool) {
	switch name {
	case "upcase", "downcase", "capitalize", "strip", "lstrip", "rstrip", "strip_newlines", "newline_to_br", "escape", "json", "size", "first", "last", "reverse", "uniq", "compact":
		return 0, 0, true
	case "join", "sort", "split", "truncate", "truncatewords":
		return 0, 2, true
	case "default", "append", "prepend", "remove", "map", "plus", "minus", "times":
		return 1, 1, true
	case "replace":
		return 2, 2, true
	}
	return 0, 0, false
}

func listFilter(name string, v any, args []any) (any, string) {
	list, ok := v.([]any)
	if !ok && v != nil {
		return nil, fmt.Sprintf("the filter %s needs a list", name)
	}
	list = slices.Clone(list)
	switch name {
	case "join":
		between := " "
		if len(args) > 0 {
			between = shown(args[0])
		}
		var parts []string
		for _, one := range list {
			parts = append(parts, shown(one))
		}
		return strings.Join(parts, between), ""
	case "first", "last":
		if len(list) == 0 {
			return nil, ""
		}
		return list[map[string]int{"first": 0, "last": len(list) - 1}[name]], ""
	case "sort":
		slices.SortStableFunc(list, func(a, b any) int { return strings.Compare(shown(a), shown(b)) })
	case "reverse":
		slices.Reverse(list)
	case "uniq":
		var seen []any
		for _, one := range list {
			if !slices.ContainsFunc(seen, func(o any) bool { return same(o, one) }) {
				seen = append(seen, one)
			}
		}
		list = seen
	case "compact":
		list = slices.DeleteFunc(list, func(one any) bool { return one == nil })
	case "map":
		for i, one := range list {
			inner, ok := inside(one, shown(args[0]), true)
			if !ok {
				return nil, fmt.Sprintf("an entry of the list has no %s", quoted(shown(args[0])))
			}
			list[i] = inner
		}
	}
	return list, ""
}

func textFilter(name, s string, args []any) (any, string) {
	arg := func(n int, otherwise string) string {
		if n < len(args) {
			return shown(args[n])
		}
		return otherwise
	}
	switch name {
	case "upcase":
		return strings.ToUpper(s), ""
	case "downcase":
		return strings.ToLower(s), ""
	case "capitalize":
		c, size := utf8.DecodeRuneInString(s)
		if size == 0 {
			return s, ""
		}
		return string(unicode.ToUpper(c)) + strings.ToLower(s[size:]), ""
	case "strip":
		return strings.TrimSpace(s), ""
	case "lstrip":
		return strings.TrimLeftFunc(s, unicode.IsSpace), ""
	case "rstrip":
		return strings.TrimRightFunc(s, unicode.IsSpace), ""
	case "strip_newlines":
		return strings.NewReplacer("\r", "", "\n", "").Replace(s), ""
	case "newline_to_br":
		return strings.ReplaceAll(s, "\n", "<br />\n"), ""
	case "escape":
		return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&#39;").Replace(s), ""
	case "append":
		return s + arg(0, ""), ""
	case "prepend":
		return arg(0, "") + s, ""
	case "remove":
		return replaced(s, arg(0, ""), "")
	case "replace":
		return replaced(s, arg(0, ""), arg(1, ""))
	case "split":
		var out []any
		for one := range strings.SplitSeq(s, arg(0, " ")) {
			out = append(out, one)
		}
		return out, ""
	case "truncate":
		return shortened([]rune(s), args, 50, arg(1, "..."))
	case "truncatewords":
		most := int64(15)
		if len(args) > 0 {
			var ok bool
			if most, ok = args[0].(int64); !ok || most < 0 {
				return nil, "truncatewords needs a number"
			}
		}
		words := strings.Fields(s)
		if int64(len(words)) <= most {
			return s, ""
		}
		return strings.Join(words[:most], " ") + arg(1, "..."), ""
	}
	return nil, fmt.Sprintf("the filter %s is not known", quoted(name))
}

// replaced is strings.ReplaceAll, which puts something between all letters where what
// it looks for is empty.
func replaced(s, what, by string) (any, string) {
	if what == "" {
		return s, ""
	}
	if strings.Count(s, what)*len(by) > maxRendered {
		return nil, "the prompt becomes too long"
	}
	return strings.ReplaceAll(s, what, by), ""
}

func shortened(s []rune, args []any, most int64, end string) (any, string) {
	if len(args) > 0 {
		var ok bool
		if most, ok = args[0].(int64); !ok || most < 0 {
			return nil, "truncate needs a number"
		}
	}
	if int64(len(s)) <= most {
		return string(s), ""
	}
	keep := max(most-int64(utf8.RuneCountInString(end)), 0)
	return string(s[:keep]) + end, ""
}
