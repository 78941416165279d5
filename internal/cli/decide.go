package cli

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"forge/gates"
	"forge/internal/refusal"
	"forge/review"
)

// maxDecideLine bounds one line of forge decide, in bytes.
const maxDecideLine = 16 << 20

func (a *App) decideCommand() *cli.Command {
	kinds := slices.Concat(gates.DecideKinds(), review.DecideKinds())
	slices.Sort(kinds)
	return &cli.Command{
		Name: "decide", Usage: "ask the functions that a run asks: JSON objects in, one per line, one answer each",
		ArgsUsage: strings.Join(kinds, "|"),
		Action: func(c *cli.Context) error {
			kind, err := oneArg(c.Args().Slice(), "kind")
			if err != nil {
				return err
			}
			if !slices.Contains(kinds, kind) {
				fix := "the kinds are " + strings.Join(kinds, ", ")
				if near := gates.Nearest(kind, kinds); near != "" {
					fix = fmt.Sprintf("did you mean %q? %s", near, fix)
				}
				return refusal.New(fix, "forge decide: unknown kind %q", kind)
			}
			return a.decide(kind)
		},
	}
}

// decide answers every line, and only then says whether one was unusable.
func (a *App) decide(kind string) error {
	in := bufio.NewReaderSize(a.Stdin, 64<<10)
	out := bufio.NewWriter(a.Stdout)
	unusable := false
	for {
		line, tooLong, err := readLine(in)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return errors.Join(fmt.Errorf("read standard input: %w", err), out.Flush())
		}
		answer, bad := decideLine(kind, line, tooLong)
		unusable = unusable || bad
		if _, err := fmt.Fprintf(out, "%s\n", answer); err != nil {
			return fmt.Errorf("write the answer: %w", err)
		}
		// Who writes one line and waits for its answer gets it.
		if in.Buffered() == 0 {
			if err := out.Flush(); err != nil {
				return fmt.Errorf("write the answer: %w", err)
			}
		}
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("write the answer: %w", err)
	}
	if unusable {
		return codeError(exitUsage)
	}
	return nil
}

func decideLine(kind string, line []byte, tooLong bool) (answer []byte, bad bool) {
	ask := gates.DecideLine
	if slices.Contains(review.DecideKinds(), kind) {
		ask = review.DecideLine
	}
	var err error
	if tooLong {
		err = &gates.DecideError{Code: gates.CodeBadValue, Message: fmt.Sprintf("the line has more than %d bytes", maxDecideLine)}
	} else if answer, err = ask(kind, line); err == nil {
		return answer, false
	}
	var known *gates.DecideError
	var value *review.ValueError
	switch {
	case errors.As(err, &known):
	case errors.As(err, &value):
		known = &gates.DecideError{Code: value.Code, Message: value.Message}
	default:
		known = &gates.DecideError{Code: gates.CodeBadValue, Message: err.Error()}
	}
	answer, err = json.Marshal(known)
	if err != nil { // two strings always marshal
		answer = []byte(`{"error":"` + gates.CodeBadValue + `","message":"the line cannot be answered"}`)
	}
	return answer, true
}

// readLine reads one line without its end. Of a line that is too long the rest
// is skipped. The last line needs no end; io.EOF says that there is none left.
func readLine(in *bufio.Reader) (line []byte, tooLong bool, err error) {
	for {
		part, err := in.ReadSlice('\n')
		if len(line)+len(part) > maxDecideLine+1 {
			tooLong, line = true, line[:0]
		}
		if !tooLong {
			line = append(line, part...)
		}
		switch {
		case err == nil:
			return trimEnd(line), tooLong, nil
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF) && (len(line) > 0 || tooLong):
			return line, tooLong, nil
		}
		return nil, false, err
	}
}

func trimEnd(line []byte) []byte {
	if n := len(line); n > 0 && line[n-1] == '\n' {
		line = line[:n-1]
	}
	return line
}
