package gitlab

import (
	"context"
	"fmt"
	"net/http"

	"forge/internal/host"
	"forge/internal/work"
)

// Pictures uploads pictures to the project, but those that the text of the merge
// request shows already. GitLab lets nobody below a maintainer take uploads away:
// those of earlier texts stay there, unseen.
func (h *Host) Pictures(ctx context.Context, number int64, all []work.PullPicture) ([]string, error) {
	if len(all) == 0 {
		return nil, nil
	}
	is, err := h.Pull(ctx, number)
	if err != nil {
		return nil, err
	}
	there := host.Uploaded(is.Body)
	var addresses []string
	for _, one := range all {
		name := host.PictureName(one.Sum)
		if there[name] == "" {
			var made struct{ URL string }
			err := h.ask(ctx, h.api, fmt.Sprintf("put pictures on merge request %d", number), http.MethodPost, "/uploads", host.File{Field: "file", Name: name, Data: one.Data}, &made)
			if err != nil {
				return nil, err
			}
			there[name] = made.URL
		}
		addresses = append(addresses, there[name])
	}
	return addresses, nil
}
