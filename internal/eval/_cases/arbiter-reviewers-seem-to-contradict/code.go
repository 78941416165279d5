package bank

import (
	"context"
	"database/sql"
	"errors"
)

// ErrFunds says that an account has too little.
var ErrFunds = errors.New("not enough funds")

// Transfer moves cents from one account to another.
func Transfer(ctx context.Context, db *sql.DB, from, to, cents int64) error {
	var balance int64
	if err := db.QueryRowContext(ctx, "SELECT cents FROM accounts WHERE id = $1", from).Scan(&balance); err != nil {
		return err
	}
	if balance < cents {
		return ErrFunds
	}
	if _, err := db.ExecContext(ctx, "UPDATE accounts SET cents = cents - $1 WHERE id = $2", cents, from); err != nil {
		return err
	}
	_, err := db.ExecContext(ctx, "UPDATE accounts SET cents = cents + $1 WHERE id = $2", cents, to)
	return err
}
