package tracker

// AskWriters asks, once each, of everybody whose word may count whether they may
// write, and notes it. It ends at the first error: who was not asked by then is not
// among the writers.
func (r *Reading) AskWriters(may func(who string) (bool, error)) error {
	ask := func(who string) error {
		if _, asked := r.Writers[who]; asked || who == "" {
			return nil
		}
		writes, err := may(who)
		if err == nil {
			r.Writers[who] = writes
		}
		return err
	}
	for _, e := range r.Events {
		if e.Kind != Labelled && e.Kind != Reopened {
			continue
		}
		if err := ask(e.By); err != nil {
			return err
		}
	}
	for _, c := range r.Comments {
		if err := ask(c.By); err != nil {
			return err
		}
	}
	return nil
}
