package agent

import "bytes"

// logLineBytes are read of a line that a program logs; the rest is passed over.
const logLineBytes = 8 << 10

// logLines is an io.Writer that hands over what a program logs, line by line.
// A line is valid until the call returns.
type logLines struct {
	to   func(line []byte)
	line []byte
}

// Write reads on. It never fails.
func (l *logLines) Write(p []byte) (int, error) {
	n := len(p)
	for {
		i := bytes.IndexByte(p, '\n')
		part := p
		if i >= 0 {
			part = p[:i]
		}
		l.line = append(l.line, part[:min(len(part), logLineBytes-len(l.line))]...)
		if i < 0 {
			return n, nil
		}
		l.to(bytes.TrimSuffix(l.line, []byte("\r")))
		l.line, p = l.line[:0], p[i+1:]
	}
}

// logValue reads a value of a line of the form key=value key="va\"lue"; "" when
// the line has no such key.
func logValue(line []byte, key string) string {
	for len(line) > 0 {
		line = bytes.TrimLeft(line, " ")
		i := bytes.IndexAny(line, "= ")
		if i < 0 {
			return ""
		}
		if line[i] == ' ' {
			line = line[i:]
			continue
		}
		found := string(line[:i]) == key
		value := line[i+1:]
		if len(value) == 0 || value[0] != '"' {
			end := bytes.IndexByte(value, ' ')
			if end < 0 {
				end = len(value)
			}
			if found {
				return string(value[:end])
			}
			line = value[end:]
			continue
		}
		text, rest := quotedValue(value[1:])
		if found {
			return text
		}
		line = rest
	}
	return ""
}

// quotedValue reads up to a quote that no backslash stands before, or to the
// end of a line that was cut.
func quotedValue(b []byte) (text string, rest []byte) {
	var out []byte
	for i := 0; i < len(b); i++ {
		switch {
		case b[i] == '"':
			return string(out), b[i+1:]
		case b[i] == '\\' && i+1 < len(b):
			i++
			switch b[i] {
			case 'n':
				out = append(out, '\n')
			case 't':
				out = append(out, '\t')
			default:
				out = append(out, b[i])
			}
		default:
			out = append(out, b[i])
		}
	}
	return string(out), nil
}
