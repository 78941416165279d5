package host

import (
	"context"
	"strings"

	"forge/internal/text"
	"forge/internal/work"
)

// PictureName is what the file of a picture is called on a host: whatever is called so
// is Forge's, and holds just that.
func PictureName(sum string) string {
	return "forge-" + sum[:min(len(sum), 32)] + ".png"
}

var pictureName = text.Lazy(`^forge-[0-9a-f]{32}\.png$`)

// IsPicture says that a file is called as pictures of Forge's are.
func IsPicture(name string) bool { return pictureName().MatchString(name) }

// TextOnly is a host that takes no pictures.
type TextOnly struct{}

// Pictures takes none.
func (TextOnly) Pictures(context.Context, int64, []work.PullPicture) ([]string, error) {
	return nil, nil
}

var uploaded = text.Lazy(`\]\((/uploads/[0-9a-f]{32}/(forge-[0-9a-f]{32}\.png))\)`)

// Uploaded are the addresses of the pictures that a text shows, below the project, by
// the names of their files. Where two are called the same, neither is one.
func Uploaded(body string) map[string]string {
	out := map[string]string{}
	for _, m := range uploaded().FindAllStringSubmatch(body, -1) {
		if was, twice := out[m[2]]; twice && was != m[1] {
			out[m[2]] = ""
			continue
		}
		out[m[2]] = strings.Clone(m[1])
	}
	return out
}
