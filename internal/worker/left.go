package worker

import (
	"context"

	"forge/internal/journal"
	"forge/internal/work"
)

// Left are the issues of the board that are ready or begun, and those of them
// whose claim is to be taken up later.
func (s *Worker) Left(ctx context.Context) (issues []work.Issue, later map[int64]bool, err error) {
	held, err := s.Journal.Claims(ctx, s.Project)
	if err != nil {
		return nil, nil, err
	}
	later = map[int64]bool{}
	for id, c := range held {
		later[id] = c.Later.After(s.Now())
	}
	for _, column := range []work.Column{work.ColumnReady, work.ColumnInProgress, work.ColumnInReview} {
		for after := ""; ; {
			page, err := s.Journal.Issues(ctx, work.IssueFilter{Project: s.Project, Column: column}, journal.MaxIssuePage, after)
			if err != nil {
				return nil, nil, err
			}
			issues = append(issues, page...)
			if len(page) < journal.MaxIssuePage {
				break
			}
			after = page[len(page)-1].Rank
		}
	}
	return issues, later, nil
}
