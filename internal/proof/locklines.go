package proof

import (
	"fmt"
	"strings"
)

// readGoSum reads checksums: one line says nothing without go.mod, so that
// lines may be added, and none may change or go.
func readGoSum(data []byte) (lockFile, error) {
	var out lockFile
	for line := range strings.Lines(string(data)) {
		parts := strings.Fields(line)
		if len(parts) == 0 {
			continue
		}
		if len(parts) != 3 || !strings.HasPrefix(parts[2], "h1:") {
			return lockFile{}, fmt.Errorf("%q is no checksum", strings.TrimSpace(line))
		}
		out.packages = append(out.packages, locked{key: parts[0] + " " + parts[1], name: parts[0] + "@" + strings.TrimSuffix(parts[1], "/go.mod"), body: parts[2], registry: true})
	}
	return out, nil
}

// readVendorList reads the modules of a vendor folder, each with its packages.
// What replaces one leads elsewhere and may not change.
func readVendorList(data []byte) (lockFile, error) {
	var out lockFile
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSpace(line)
		head, isHead := strings.CutPrefix(line, "# ")
		words := strings.Fields(head)
		switch {
		case line == "":
		case isHead && len(words) == 2 && strings.HasPrefix(words[1], "v"):
			out.packages = append(out.packages, locked{key: words[0], name: words[0], body: line + "\n", registry: true})
		case isHead || len(out.packages) == 0:
			out.rest += line + "\n"
		default:
			last := &out.packages[len(out.packages)-1]
			last.body += line + "\n"
		}
	}
	return out, nil
}

// block is a line with those that are indented below it.
type block struct {
	head string
	body []string
}

// blocks splits lines by their indentation.
func blocks(lines []string, indent int) []block {
	var out []block
	prefix := strings.Repeat(" ", indent)
	for _, line := range lines {
		if strings.HasPrefix(line, prefix) && !strings.HasPrefix(line, prefix+" ") {
			out = append(out, block{head: strings.TrimSpace(line)})
		} else if len(out) > 0 {
			out[len(out)-1].body = append(out[len(out)-1].body, line)
		} else {
			out = append(out, block{body: []string{line}})
		}
	}
	return out
}

func linesOf(data []byte) []string {
	var out []string
	for line := range strings.Lines(string(data)) {
		line = strings.TrimRight(line, " \r\n")
		if trimmed := strings.TrimSpace(line); trimmed != "" && trimmed[0] != '#' {
			out = append(out, line)
		}
	}
	return out
}

var yarnName = expr(`^"?(@?[^@"]+)@`)

// readYarnLock reads both forms of it, yarn's first and that of berry.
func readYarnLock(data []byte) (lockFile, error) {
	var out lockFile
	for _, b := range blocks(linesOf(data), 0) {
		if strings.HasPrefix(b.head, "__metadata") {
			out.rest += b.head + strings.Join(b.body, "\n")
			continue
		}
		found := yarnName().FindStringSubmatch(b.head)
		if found == nil {
			return lockFile{}, fmt.Errorf("%q is no package", b.head)
		}
		body := strings.Join(b.body, "\n")
		p := locked{name: found[1], body: body}
		version := ""
		for _, line := range b.body {
			key, value, _ := strings.Cut(strings.TrimSpace(line), " ")
			value = strings.Trim(value, `"`)
			switch strings.TrimSuffix(key, ":") {
			case "version":
				if version == "" {
					version = value
				}
			case "resolved":
				p.registry = publicRegistry(value, p.name)
			case "resolution":
				p.registry = strings.HasPrefix(value, p.name+"@npm:")
				p.own = strings.Contains(value, "@workspace:")
			}
		}
		for _, lead := range []string{"@file:", "@link:", "@portal:", "@patch:", "@git", "@http", "@npm:" + "@", "::"} {
			p.registry = p.registry && !strings.Contains(b.head, lead)
		}
		if p.key = p.name + " " + version; p.own {
			p.key, p.needs, p.body = p.name, b.body, ""
		}
		out.packages = append(out.packages, p)
	}
	return out, nil
}

var pnpmName = expr(`^'?/?(@[^/]+/[^@/]+|[^@/']+)[@/]`)

// readPnpmLock reads packages and snapshots by entry; what the project itself
// needs may grow.
func readPnpmLock(data []byte) (lockFile, error) {
	var out lockFile
	for _, section := range blocks(linesOf(data), 0) {
		switch section.head {
		case "packages:", "snapshots:":
			for _, b := range blocks(section.body, 2) {
				found := pnpmName().FindStringSubmatch(b.head)
				if found == nil {
					return lockFile{}, fmt.Errorf("%q is no package", b.head)
				}
				body := strings.Join(b.body, "\n")
				ok := section.head == "snapshots:" || strings.Contains(body, "resolution: {integrity:") && !strings.Contains(body, "tarball:") && !strings.Contains(body, "requiresBuild: true")
				ok = ok && !strings.Contains(b.head, "file:") && !strings.Contains(b.head, "link:") && !strings.Contains(b.head, "git") && !strings.Contains(b.head, "http")
				// Who needs it apart from whom says nothing of what it is.
				body = strings.ReplaceAll(body, "dev: true", "dev: false")
				out.packages = append(out.packages, locked{key: section.head + b.head, name: found[1], body: body, registry: ok})
			}
		case "importers:", "dependencies:", "optionalDependencies:", "specifiers:":
			for _, line := range section.body {
				if strings.Contains(line, "link:") || strings.Contains(line, "file:") {
					out.rest += line + "\n"
				}
			}
			out.packages = append(out.packages, locked{key: section.head, own: true, needs: section.body})
		default:
			out.rest += section.head + strings.Join(section.body, "\n")
		}
	}
	return out, nil
}

var gemName = expr(`^([\w.-]+)`)

// readGemLock reads the specs of its GEM sections by gem.
func readGemLock(data []byte) (lockFile, error) {
	var out lockFile
	for _, section := range blocks(linesOf(data), 0) {
		switch section.head {
		case "GEM":
			for _, b := range blocks(section.body, 4) {
				if b.head == "" {
					out.rest += strings.Join(b.body, "\n")
					continue
				}
				found := gemName().FindStringSubmatch(b.head)
				if found == nil {
					return lockFile{}, fmt.Errorf("%q is no gem", b.head)
				}
				out.packages = append(out.packages, locked{key: found[1], name: found[1], body: b.head + strings.Join(b.body, "\n"), registry: true})
			}
		case "DEPENDENCIES", "CHECKSUMS":
			for _, line := range section.body {
				if strings.HasSuffix(line, "!") {
					out.rest += line
				}
			}
			out.packages = append(out.packages, locked{key: section.head, own: true, needs: section.body})
		default:
			out.rest += section.head + strings.Join(section.body, "\n")
		}
	}
	return out, nil
}
