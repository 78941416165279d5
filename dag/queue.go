package dag

// queue is a binary heap of ranks, the smallest first, from which any rank can
// be taken out. container/heap would box every number and know no positions.
type queue struct {
	ranks []int
	at    []int // rank → 1 + position in ranks, 0 = not queued
}

func newQueue(n int) *queue { return &queue{at: make([]int, n)} }

func (q *queue) len() int { return len(q.ranks) }

func (q *queue) push(rank int) {
	q.ranks = append(q.ranks, rank)
	q.at[rank] = len(q.ranks)
	q.up(len(q.ranks) - 1)
}

func (q *queue) pop() int {
	rank := q.ranks[0]
	q.remove(rank)
	return rank
}

func (q *queue) remove(rank int) {
	i, last := q.at[rank]-1, len(q.ranks)-1
	q.swap(i, last)
	q.ranks = q.ranks[:last]
	q.at[rank] = 0
	if i < last {
		q.up(i)
		q.down(i)
	}
}

func (q *queue) up(i int) {
	for i > 0 && q.ranks[i] < q.ranks[(i-1)/2] {
		q.swap(i, (i-1)/2)
		i = (i - 1) / 2
	}
}

func (q *queue) down(i int) {
	for {
		child := 2*i + 1
		if child >= len(q.ranks) {
			return
		}
		if child+1 < len(q.ranks) && q.ranks[child+1] < q.ranks[child] {
			child++
		}
		if q.ranks[i] <= q.ranks[child] {
			return
		}
		q.swap(i, child)
		i = child
	}
}

func (q *queue) swap(i, j int) {
	q.ranks[i], q.ranks[j] = q.ranks[j], q.ranks[i]
	q.at[q.ranks[i]], q.at[q.ranks[j]] = i+1, j+1
}
