package web

import (
	"context"
	"fmt"
	"time"
)

// floorEvery is how often it is looked at, at most, how a loop stands: that it
// lives is written all the time.
const floorEvery = time.Second

// floorSeen is what was told of a project's loop.
type floorSeen struct {
	at  time.Time
	due bool // something was written since
	// all and cards are how it stood, for the head of a board and for its cards.
	all, cards string
}

// lookAtFloor tells that the loop stands otherwise than before.
func (f *feed) lookAtFloor(ctx context.Context) error {
	if f.project.Floor == nil {
		return nil
	}
	now := time.Now()
	if now.Sub(f.floor.at) < floorEvery {
		f.floor.due = true
		return nil
	}
	standing, err := f.server.floors.now(ctx, f.server, f.project)
	if err != nil {
		return err
	}
	was := f.floor
	f.floor = floorSeen{
		at:    now,
		all:   fmt.Sprint(standing.Serving, standing.Paused, standing.Drain, standing.Running, standing.Note),
		cards: fmt.Sprint(standing.Serving, standing.Paused, standing.Drain, len(standing.Running) > 0, standing.Note, standing.Later),
	}
	if was.at.IsZero() {
		return nil
	}
	if was.all != f.floor.all {
		f.server.hub.Publish(FloorTopic(f.project.ID), "1")
	}
	if was.cards != f.floor.cards {
		return f.publish(boardMessage{Action: "floor"})
	}
	return nil
}
