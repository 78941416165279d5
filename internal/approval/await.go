package approval

import (
	"context"
	"time"

	"forge/internal/project"
	"forge/internal/refusal"
	"forge/internal/work"
)

// await looks again and again until something is so, or the time is over.
func await(ctx context.Context, most time.Duration, look func() (done bool, err error)) error {
	for end := time.Now().Add(most); ; {
		if done, err := look(); err != nil || done || time.Now().After(end) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// AwaitTold waits a moment until the process that drives the run has taken the
// message, and an agent that listens as well, and says what became of it.
func AwaitTold(ctx context.Context, p *project.Checkout, told work.Told, most time.Duration) (work.Told, error) {
	err := await(ctx, most, func() (bool, error) {
		now, refused, err := Heard(ctx, p, told)
		if err != nil {
			return false, err
		}
		if refused != "" {
			return false, refusal.New("forge status shows the phases", "nobody will read it: %s", refused)
		}
		told = now
		return now.Taken && !(now.Midway && now.State == work.MessageQueued), nil
	})
	return told, err
}

// AwaitRewind waits a moment until the process that drives the run has set the phase
// back, and says what became of it.
func AwaitRewind(ctx context.Context, p *project.Checkout, back work.Rewound, most time.Duration) (work.Rewound, error) {
	err := await(ctx, most, func() (bool, error) {
		now, refused, err := SetBack(ctx, p, back.Run, back)
		if err != nil {
			return false, err
		}
		if refused != "" {
			return false, refusal.New("forge status "+back.Run+" shows where it stands", "nothing was set back: %s", refused)
		}
		back = now
		return now.State == work.RewindDone, nil
	})
	return back, err
}
