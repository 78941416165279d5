package text

import (
	"crypto/sha256"
	"fmt"
	"strings"
)

// Fence writes data into a prompt, below a title of the program's own, between
// two lines that carry a hash of it. No text can hold its own hash, so none can
// close its fence; the prompt says what stands between the lines is data.
func Fence(b *strings.Builder, title, data string) {
	data = strings.TrimRight(data, "\n")
	sum := sha256.Sum256([]byte(data))
	mark := fmt.Sprintf("%x", sum[:8])
	b.WriteString("\n## " + title + "\n\n~~~data-" + mark + "\n")
	b.WriteString(data)
	b.WriteString("\n~~~end-" + mark + "\n")
}

// mostLabel is how many characters of a name a label keeps.
const mostLabel = 60

// Label is a name of the owner's, such as that of a skill, as it may stand
// outside a fence: one line of letters, digits and a few signs that form no
// sentence structure, shortened. It is not for what strangers write: theirs
// stands in a fence.
func Label(name string) string {
	var b strings.Builder
	n := 0
	for _, r := range name {
		if n++; n > mostLabel {
			b.WriteString("…")
			break
		}
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', strings.ContainsRune("-_/. ", r):
			b.WriteRune(r)
		case r > 0x7f && IsWord(r):
			b.WriteRune(r)
		default:
			b.WriteByte('_')
		}
	}
	return strings.Join(strings.Fields(b.String()), " ")
}
