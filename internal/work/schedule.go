package work

import "time"

// ScheduleRow is how a schedule of a board stands.
type ScheduleRow struct {
	Project string    `json:"project"`
	Name    string    `json:"name"`
	Due     time.Time `json:"due"`             // the last due time that was decided on
	Issue   int64     `json:"issue,omitempty"` // the last that it put on the board, 0 = none
	Paused  bool      `json:"paused,omitempty"`
	Note    string    `json:"note,omitempty"` // what was decided last
}
