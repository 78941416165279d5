package eval

import "math"

// assign chooses pairs of rows and columns, each in one pair at most, so that
// the sum of their weights is as large as it can be; a weight of 0 or less is
// no pair. It returns the column of each row, -1 for none. It is the Hungarian
// method with potentials, in O(rows² · columns).
func assign(weights [][]int) []int {
	rows, columns := len(weights), 0
	for _, r := range weights {
		columns = max(columns, len(r))
	}
	// Each row has a column of its own beside the real ones, at no cost: none.
	width := columns + rows
	cost := func(i, j int) int {
		if j < len(weights[i]) && weights[i][j] > 0 {
			return -weights[i][j]
		}
		return 0
	}
	// Rows and columns count from 1; 0 is where a search starts.
	u, v := make([]int, rows+1), make([]int, width+1)
	rowOf, way := make([]int, width+1), make([]int, width+1)
	for i := 1; i <= rows; i++ {
		rowOf[0] = i
		least, used := make([]int, width+1), make([]bool, width+1)
		for j := range least {
			least[j] = math.MaxInt
		}
		at := 0
		for rowOf[at] != 0 {
			used[at] = true
			row, next, delta := rowOf[at], 0, math.MaxInt
			for j := 1; j <= width; j++ {
				if used[j] {
					continue
				}
				if c := cost(row-1, j-1) - u[row] - v[j]; c < least[j] {
					least[j], way[j] = c, at
				}
				if least[j] < delta {
					delta, next = least[j], j
				}
			}
			for j := 0; j <= width; j++ {
				switch {
				case used[j]:
					u[rowOf[j]] += delta
					v[j] -= delta
				case j > 0:
					least[j] -= delta
				}
			}
			at = next
		}
		for at != 0 {
			rowOf[at] = rowOf[way[at]]
			at = way[at]
		}
	}
	out := make([]int, rows)
	for i := range out {
		out[i] = -1
	}
	for j := 1; j <= columns; j++ {
		if i := rowOf[j]; i > 0 && cost(i-1, j-1) < 0 {
			out[i-1] = j - 1
		}
	}
	return out
}
