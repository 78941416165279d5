package postgres

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
)

// connector makes the connections of a pool.
type connector struct {
	server  *Server
	config  *pgx.ConnConfig
	reading bool
}

// Connect waits for a server that is away.
func (c *connector) Connect(ctx context.Context) (driver.Conn, error) {
	var conn driver.Conn
	err := c.server.wait(ctx, c.server.patience, func() (err error) {
		conn, err = stdlib.GetConnector(*c.config).Connect(ctx)
		return plain(err)
	})
	if err != nil {
		return nil, err
	}
	return &connection{Conn: conn.(*stdlib.Conn), server: c.server, reading: c.reading}, nil
}

// Driver is the driver below.
func (c *connector) Driver() driver.Driver { return stdlib.GetDefaultDriver() }

// connection takes the SQL of the journal. Statements are prepared by pgx when
// they come the first time.
type connection struct {
	*stdlib.Conn
	server  *Server
	reading bool
}

// lostError is an error after which the connection is closed.
type lostError struct{ err error }

func (e *lostError) Error() string { return e.err.Error() }
func (e *lostError) Unwrap() error { return e.err }

func (c *connection) lost(err error) error {
	switch {
	case err == nil, errors.Is(err, context.Canceled):
		return err
	case errors.Is(err, driver.ErrBadConn):
		// By that name database/sql would try again on a connection that is gone.
		return &lostError{errors.New("the connection was closed")}
	case c.Conn.Conn().IsClosed():
		return &lostError{err}
	}
	return err
}

// CheckNamedValue makes of an argument what a column takes: numbers for yes and
// no, as in the file; texts as they can be stored.
func (c *connection) CheckNamedValue(v *driver.NamedValue) error {
	value, err := driver.DefaultParameterConverter.ConvertValue(v.Value)
	if err != nil {
		return err
	}
	switch is := value.(type) {
	case bool:
		value = int64(0)
		if is {
			value = int64(1)
		}
	case string:
		value = storable(is)
	}
	v.Value = value
	return nil
}

// PrepareContext is as of driver.ConnPrepareContext.
func (c *connection) PrepareContext(_ context.Context, query string) (driver.Stmt, error) {
	return &statement{connection: c, query: query}, nil
}

// ExecContext is as of driver.ExecerContext.
func (c *connection) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	result, err := c.Conn.ExecContext(ctx, c.server.translated(query), args)
	return result, c.lost(err)
}

// QueryContext is as of driver.QueryerContext. All rows are read before it
// returns, so that nothing can be lost in the middle of them; on a connection
// for reading a query that was lost is carried out again by database/sql.
func (c *connection) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	read, err := c.query(ctx, c.server.translated(query), args)
	if err = c.lost(err); err == nil {
		return read, nil
	}
	var lost *lostError
	if c.reading && ctx.Err() == nil && errors.As(err, &lost) {
		return nil, fmt.Errorf("%w: %w", driver.ErrBadConn, err)
	}
	return nil, err
}

func (c *connection) query(ctx context.Context, query string, args []driver.NamedValue) (*rows, error) {
	result, err := c.Conn.QueryContext(ctx, query, args)
	if err != nil {
		return nil, err
	}
	read := &rows{columns: slices.Clone(result.Columns())}
	for {
		row := make([]driver.Value, len(read.columns))
		err := result.Next(row)
		if errors.Is(err, io.EOF) {
			return read, result.Close()
		}
		if err != nil {
			_ = result.Close()
			return nil, err
		}
		for i, value := range row {
			if text, is := value.(string); is {
				row[i] = stored(text)
			}
		}
		read.values = append(read.values, row)
	}
}

// statement is one that pgx prepares.
type statement struct {
	connection *connection
	query      string
}

func (s *statement) Close() error  { return nil }
func (s *statement) NumInput() int { return -1 }

func (s *statement) Exec([]driver.Value) (driver.Result, error) { return nil, driver.ErrSkip }
func (s *statement) Query([]driver.Value) (driver.Rows, error)  { return nil, driver.ErrSkip }

func (s *statement) ExecContext(ctx context.Context, args []driver.NamedValue) (driver.Result, error) {
	return s.connection.ExecContext(ctx, s.query, args)
}

func (s *statement) QueryContext(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	return s.connection.QueryContext(ctx, s.query, args)
}

// rows are the rows of a query, read.
type rows struct {
	columns []string
	values  [][]driver.Value
}

func (r *rows) Columns() []string { return r.columns }
func (r *rows) Close() error      { r.values = nil; return nil }

func (r *rows) Next(into []driver.Value) error {
	if len(r.values) == 0 {
		return io.EOF
	}
	copy(into, r.values[0])
	r.values = r.values[1:]
	return nil
}
