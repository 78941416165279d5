package orders

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
)

// Publisher sends events to other services.
type Publisher interface {
	Publish(ctx context.Context, topic string, key string, body []byte) error
}

// Service places orders.
type Service struct {
	db  *sql.DB
	bus Publisher
	log *slog.Logger
}

// New is a service on a database and a bus.
func New(db *sql.DB, bus Publisher, log *slog.Logger) *Service {
	return &Service{db: db, bus: bus, log: log}
}

// Place stores an order and tells the warehouse.
func (s *Service) Place(ctx context.Context, o Order) error {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("place order %s: %w", o.ID, err)
	}
	defer func() { _ = tx.Rollback() }()
	if err := insert(ctx, tx, o); err != nil {
		return fmt.Errorf("place order %s: %w", o.ID, err)
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("place order %s: %w", o.ID, err)
	}
	if err := s.bus.Publish(ctx, "orders.placed", o.ID, o.encode()); err != nil {
		s.log.Warn("the warehouse was not told", "order", o.ID, "err", err)
	}
	return nil
}

func insert(ctx context.Context, tx *sql.Tx, o Order) error {
	_, err := tx.ExecContext(ctx, "INSERT INTO orders (id, body) VALUES ($1, $2)", o.ID, o.encode())
	return err
}
