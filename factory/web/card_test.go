package web_test

import (
	"strings"
	"testing"

	"forge/factory/web/webtest"
	"forge/internal/work"
)

// The card of an issue that is done says where its work is.
func TestTheCardOfDoneWorkSaysWhere(t *testing.T) {
	w := webtest.New(t)
	const where = "landed on forge/landed as 0123456789ab: git merge forge/landed brings it to your branch"
	w.Put(w.Issue("Landed", work.ColumnReady), func(i *work.Issue) { i.Column, i.Reason = work.ColumnDone, where })
	if board := w.Owner().Get("/p/demo").Body; strings.Count(board, where) != 1 {
		t.Errorf("the board says %d times where the work is:\n%s", strings.Count(board, where), board)
	}
}
