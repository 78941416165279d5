package postgres

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"net"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"forge/internal/journal"
)

// Explain is as of journal.Server. The codes are those of appendix A of
// Postgres's manual.
func (s *Server) Explain(err error) error {
	var refused *pgconn.PgError
	if errors.As(err, &refused) {
		switch code := refused.Code; {
		case strings.HasPrefix(code, "08"), strings.HasPrefix(code, "57P0"), // connections, shutdown and start
			code == "53300",                  // too many connections
			code == "25P03",                  // stood still in a transaction
			code == "40P01", code == "40001": // one of two had to give way: it begins again
			return journal.ErrServer
		case code == "55P03":
			return journal.ErrLocked
		case code == "53100":
			return journal.ErrFull
		case code == "42501", code == "25006", strings.HasPrefix(code, "28"):
			return journal.ErrReadOnly
		}
		return nil
	}
	var lost *lostError
	var connect *pgconn.ConnectError
	var network net.Error
	switch {
	case errors.Is(err, context.Canceled):
		return nil
	case errors.As(err, &lost), errors.As(err, &connect), errors.As(err, &network), errors.Is(err, driver.ErrBadConn), errors.Is(err, sql.ErrConnDone),
		errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, context.DeadlineExceeded):
		return journal.ErrServer
	}
	return nil
}
