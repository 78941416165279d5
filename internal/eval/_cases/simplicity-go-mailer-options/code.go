package mail

import (
	"context"
	"fmt"
	"net"
	"net/smtp"
	"time"
)

// Options of a sender.
type Options struct {
	Address string
	From    string
	Timeout time.Duration
	Retries int // how often a failed mail is sent again
	Locale  string
}

// Sender sends mails.
type Sender struct{ opt Options }

// NewSender fills in what was left out.
func NewSender(opt Options) *Sender {
	if opt.Timeout <= 0 {
		opt.Timeout = 30 * time.Second
	}
	if opt.Retries <= 0 {
		opt.Retries = 3
	}
	return &Sender{opt: opt}
}

// Send sends one mail.
func (s *Sender) Send(ctx context.Context, to, subject, body string) error {
	ctx, cancel := context.WithTimeout(ctx, s.opt.Timeout)
	defer cancel()
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", s.opt.Address)
	if err != nil {
		return fmt.Errorf("send mail: %w", err)
	}
	if end, ok := ctx.Deadline(); ok {
		_ = conn.SetDeadline(end)
	}
	c, err := smtp.NewClient(conn, s.opt.Address)
	if err != nil {
		_ = conn.Close()
		return fmt.Errorf("send mail: %w", err)
	}
	defer func() { _ = c.Close() }()
	return deliver(c, s.opt.From, to, subject, body)
}
