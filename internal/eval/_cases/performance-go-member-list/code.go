package teams

import (
	"context"
	"database/sql"
	"fmt"
)

// Team is one team with its members.
type Team struct {
	ID      int64
	Name    string
	Members []string
}

// List is every team of an organisation, by name.
func List(ctx context.Context, db *sql.DB, org int64) ([]Team, error) {
	teams, err := teamsOf(ctx, db, org)
	if err != nil {
		return nil, fmt.Errorf("list teams: %w", err)
	}
	for i := range teams {
		if teams[i].Members, err = membersOf(ctx, db, teams[i].ID); err != nil {
			return nil, fmt.Errorf("list members of team %d: %w", teams[i].ID, err)
		}
	}
	return teams, nil
}

func teamsOf(ctx context.Context, db *sql.DB, org int64) ([]Team, error) {
	rows, err := db.QueryContext(ctx, "SELECT id, name FROM teams WHERE org_id = $1 ORDER BY name", org)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []Team
	for rows.Next() {
		var t Team
		if err := rows.Scan(&t.ID, &t.Name); err != nil {
			return nil, err
		}
		out = append(out, t)
	}
	return out, rows.Err()
}

func membersOf(ctx context.Context, db *sql.DB, team int64) ([]string, error) {
	rows, err := db.QueryContext(ctx, "SELECT name FROM members WHERE team_id = $1 ORDER BY name", team)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []string
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, err
		}
		out = append(out, name)
	}
	return out, rows.Err()
}
