package gitea

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	"forge/internal/host"
	"forge/internal/work"
)

// asset is a file that is attached to a pull request.
type asset struct {
	ID      int64  `json:"id"`
	Name    string `json:"name"`
	Size    int64  `json:"size"`
	Address string `json:"browser_download_url"`
}

// Pictures attaches pictures to a pull request, each once, and takes away those of
// Forge's that are not among them.
func (h *Host) Pictures(ctx context.Context, number int64, all []work.PullPicture) ([]string, error) {
	do, path := fmt.Sprintf("put pictures on pull request %d", number), issuePath(number)+"/assets"
	var there []asset
	if _, t := h.ask(ctx, request{do: do, path: path}, &there); t != nil {
		return nil, t
	}

	var addresses, wanted []string
	for _, one := range all {
		name := host.PictureName(one.Sum)
		wanted = append(wanted, name)
		at := slices.IndexFunc(there, func(a asset) bool { return a.Name == name && a.Size == int64(len(one.Data)) })
		if at >= 0 {
			addresses = append(addresses, there[at].Address)
			continue
		}
		var made asset
		if _, t := h.ask(ctx, request{do: do, method: http.MethodPost, path: path, body: host.File{Field: "attachment", Name: name, Data: one.Data}}, &made); t != nil {
			return nil, t
		}
		there = append(there, made) // the same picture may be shown twice
		addresses = append(addresses, made.Address)
	}

	for _, one := range there {
		if host.IsPicture(one.Name) && !slices.Contains(wanted, one.Name) {
			_, t := h.ask(ctx, request{do: do, method: http.MethodDelete, path: fmt.Sprintf("%s/%d", path, one.ID)}, nil)
			if t != nil && t.Status != http.StatusNotFound {
				return nil, t
			}
		}
	}
	return addresses, nil
}
