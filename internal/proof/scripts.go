package proof

import (
	"encoding/json"
	"strings"
)

// scriptsOf are the scripts of a manifest by name; of lists all of it.
func (sv *survey) scriptsOf(manifest string) map[string]string {
	if sv.files[manifest] == nil {
		return nil
	}
	if sv.scripts == nil {
		sv.scripts = map[string]map[string]string{}
	}
	if got, ok := sv.scripts[manifest]; ok {
		return got
	}
	out := map[string]string{}
	sv.scripts[manifest] = out
	var read struct {
		Scripts map[string]any `json:"scripts"`
		Tasks   map[string]any `json:"tasks"`
	}
	content := sv.content(manifest)
	if json.Unmarshal(content, &read) != nil && json.Unmarshal(withoutComments(content), &read) != nil {
		return out
	}
	for _, table := range []map[string]any{read.Scripts, read.Tasks} {
		for name, v := range table {
			switch v := v.(type) {
			case string:
				out[name] = v
			case []any:
				var lines []string
				for _, one := range v {
					if s, ok := one.(string); ok {
						lines = append(lines, s)
					}
				}
				out[name] = strings.Join(lines, "\n")
			}
		}
	}
	return out
}
