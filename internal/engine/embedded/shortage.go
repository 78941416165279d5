package embedded

import "forge/internal/shortage"

// short is what there is no more of where the run is worked on, "" = nothing.
func (r *session) short() string {
	if r.Room == nil {
		return ""
	}
	return shortage.Of(r.Room())
}

// due says that something could be begun.
func (r *session) due() bool {
	_, due := r.under.Next(r.s, nil)
	return due
}
