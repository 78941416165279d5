package pullrequest

import (
	"context"
	"slices"

	"forge/internal/project"
	"forge/internal/text"
	"forge/internal/work"
)

// Bounds of the pictures that one pull request shows.
const (
	mostPictureBytes  = 1 << 20 // of one
	mostPicturesBytes = 4 << 20 // of all
)

// PicturesOf reads the pictures that proofs of a project keep; nil = they are for
// nobody outside. In a sandbox without a network, and without a variable that is named
// as a secret, a page draws what its commit holds. Files that no commit has, which
// [worktree] brings there, may be secrets, and nothing finds one in a picture.
func PicturesOf(p *project.Checkout, set work.Worktree) func(ctx context.Context, sum string) ([]byte, error) {
	if len(set.Copy)+len(set.Link) > 0 {
		return nil
	}
	return p.Journal.Blob
}

// OpenWith opens a pull request whose text shows pages, or brings it up to date. Where
// its number is not known yet it is opened without pictures first. That they cannot be
// put there holds nothing up: the text says so.
func (h *Port) OpenWith(ctx context.Context, number int64, pages []work.PageShown, open func(pictures text.Markdown) (number int64, err error)) error {
	if len(pages) == 0 {
		_, err := open(text.Markdown{})
		return err
	}
	all := h.pictures(ctx, pages)
	if number == 0 && len(all) > 0 {
		var err error
		if number, err = open(text.Markdown{}); err != nil {
			return err
		}
	}
	at := map[string]string{}
	if len(all) > 0 {
		addresses, err := h.Host.Pictures(ctx, number, all)
		if err != nil {
			h.warn("the pictures of pages are not on the code host", "pull request", number, "err", err)
		}
		for i, address := range addresses[:min(len(addresses), len(all))] {
			at[all[i].Sum] = address
		}
	}
	_, err := open(tellPages(pages, at))
	return err
}

func (h *Port) warn(what any, pairs ...any) {
	if h.Warn != nil {
		h.Warn(what, pairs...)
	}
}

// pictures are those of pages that a pull request shows, each once, within the bounds.
func (h *Port) pictures(ctx context.Context, pages []work.PageShown) []work.PullPicture {
	if h.Picture == nil {
		return nil
	}
	var out []work.PullPicture
	left := mostPicturesBytes
	for _, page := range pages {
		for _, sum := range shownOf(page) {
			if sum == "" || slices.ContainsFunc(out, func(p work.PullPicture) bool { return p.Sum == sum }) {
				continue
			}
			data, err := h.Picture(ctx, sum)
			if err != nil || len(data) > mostPictureBytes || len(data) > left {
				continue // the text says where it is
			}
			left -= len(data)
			out = append(out, work.PullPicture{Sum: sum, Data: data})
		}
	}
	return out
}

// shownOf are the pictures of a page that a pull request shows: before, after and what
// differs. One that looks as before is shown once.
func shownOf(page work.PageShown) [3]string {
	if page.Changed == 0 {
		return [3]string{"", page.After, ""}
	}
	return [3]string{page.Before, page.After, page.Marked}
}

// tellPages shows pages: each in a line, and its pictures, where they are on the host.
func tellPages(pages []work.PageShown, at map[string]string) text.Markdown {
	var all []text.Markdown
	away := false
	for _, page := range pages {
		all = append(all, text.Format("%s\n\n", page.Line()))
		var heads, rule, cells text.Markdown
		for i, sum := range shownOf(page) {
			word := [3]text.Markdown{text.Own("Before"), text.Own("After"), text.Own("What differs")}[i]
			picture := text.Picture(word.String()+": "+page.URL, at[sum])
			if sum == "" {
				continue
			}
			if at[sum] == "" || picture.Empty() {
				away = true
				continue
			}
			heads, rule = text.Format("%s| %s ", heads, word), text.Format("%s| --- ", rule)
			cells = text.Format("%s| %s ", cells, picture)
		}
		if !cells.Empty() {
			all = append(all, text.Format("%s|\n%s|\n%s|\n\n", heads, rule, cells))
		}
	}
	if away {
		all = append(all, text.Own("Pictures that are not here are on the page of the run.\n"))
	}
	return text.Join("", all...)
}
