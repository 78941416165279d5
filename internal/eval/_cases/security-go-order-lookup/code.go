package shop

import (
	"database/sql"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
)

// Order is one order as its customer sees it.
type Order struct {
	ID      int64  `json:"id"`
	Email   string `json:"email"`
	Address string `json:"address"`
	Total   int64  `json:"total_cents"`
}

// Orders serves the orders of customers.
type Orders struct {
	DB *sql.DB
}

const orderColumns = "id, email, address, total_cents"

// Show answers GET /orders/{id}.
func (o *Orders) Show(w http.ResponseWriter, r *http.Request) {
	if _, ok := CustomerFrom(r.Context()); !ok {
		http.Error(w, "sign in first", http.StatusUnauthorized)
		return
	}
	id, err := strconv.ParseInt(r.PathValue("id"), 10, 64)
	if err != nil {
		http.Error(w, "no such order", http.StatusNotFound)
		return
	}
	var order Order
	row := o.DB.QueryRowContext(r.Context(), "SELECT "+orderColumns+" FROM orders WHERE id = $1", id)
	switch err := row.Scan(&order.ID, &order.Email, &order.Address, &order.Total); {
	case errors.Is(err, sql.ErrNoRows):
		http.Error(w, "no such order", http.StatusNotFound)
		return
	case err != nil:
		http.Error(w, "try again later", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	_ = json.NewEncoder(w).Encode(order)
}
