package search

import (
	"math"
	"math/bits"
)

// How a vector is kept in two or three bits a number. It is turned first, which changes
// no angle: numbers of a model differ much in size, and one that is near zero for all
// texts would waste its bits. Turned at random, each number is of about the size of
// the others and spread as a bell, whatever the model; for that the best places to
// cut and the best values in between are known (S. Lloyd, 1982; J. Max, 1960). So do
// M. Gao and C. Long, RaBitQ (2024).

// fewNumbers are as many numbers of a vector as need a second bit of their sizes: the
// more there are, the less it matters that each is known roughly.
const fewNumbers = 512

// sizeBits are kept of how large each of so many numbers is.
func sizeBits(dims int) int {
	if dims <= fewNumbers {
		return 2
	}
	return 1
}

// sizeCuts are where sizes are cut, beside the mean size of the vector's numbers, for
// two bits; of one bit only the middle cut is left, so that the higher bit of two is it.
func sizeCuts() [3]float32 { return [3]float32{0.5006, 1.050, 1.748} }

// sizeMeans are what sizes stand for, by how many bits they have.
func sizeMeans(bits int) [4]float32 {
	if bits == 1 {
		return [4]float32{0.4787, 1.565}
	}
	return [4]float32{0.2451, 0.7560, 1.344, 2.152}
}

// sizes are those of a vector's numbers.
type sizes struct {
	bits  int
	bytes []byte
}

func newSizes(dims int) sizes { return sizes{sizeBits(dims), make([]byte, sizesLen(dims))} }

func (s sizes) at(n int) byte {
	n *= s.bits
	return s.bytes[n/8] >> (n % 8) & (1<<s.bits - 1)
}

// set sets a size that is zero.
func (s sizes) set(n int, size byte) {
	n *= s.bits
	s.bytes[n/8] |= size << (n % 8)
}

// turned is a vector turned in a way that is the same for all of its length.
func turned(vector []float32) []float32 {
	out := append([]float32(nil), vector...)
	if len(out) == 0 {
		return out
	}
	// What a Hadamard matrix mixes is a power of two long: first from the beginning,
	// then up to the end, until all were mixed with all.
	long := 1 << (bits.Len(uint(len(out))) - 1)
	seed := uint64(0)
	for round := range 4 {
		for n := range out {
			if n%64 == 0 {
				seed = mixed(uint64(round)<<32 | uint64(n)) //nolint:gosec // both are small
			}
			if seed>>(n%64)&1 == 1 {
				out[n] = -out[n]
			}
		}
		if round%2 == 0 {
			hadamard(out[:long])
		} else {
			hadamard(out[len(out)-long:])
		}
	}
	return out
}

// mixed is a number that looks like none of the others that are given (splitmix64).
func mixed(n uint64) uint64 {
	n += 0x9e3779b97f4a7c15
	n = (n ^ n>>30) * 0xbf58476d1ce4e5b9
	n = (n ^ n>>27) * 0x94d049bb133111eb
	return n ^ n>>31
}

// hadamard turns numbers in place, as many as a power of two.
func hadamard(x []float32) {
	for half := 1; half < len(x); half *= 2 {
		for at := 0; at < len(x); at += 2 * half {
			for n := at; n < at+half; n++ {
				x[n], x[n+half] = x[n]+x[n+half], x[n]-x[n+half]
			}
		}
	}
	scale := float32(1 / math.Sqrt(float64(len(x))))
	for n := range x {
		x[n] *= scale
	}
}

// coded is a vector as it is kept: the signs of its numbers, turned, and their sizes.
func coded(vector []float32) (signs, rough []byte) {
	x := turned(vector)
	square := float64(0)
	for _, one := range x {
		square += float64(one) * float64(one)
	}
	mean := float32(math.Sqrt(square / float64(len(x))))

	s := newSizes(len(x))
	for n, one := range x {
		size := byte(0)
		for _, cut := range sizeCuts() {
			if max(one, -one) > cut*mean {
				size++
			}
		}
		s.set(n, size>>(2-s.bits))
	}
	return signsOf(x), s.bytes
}

// signsLen is how many bytes the signs of so many numbers take, and sizesLen their sizes.
func signsLen(dims int) int { return (dims + 7) / 8 }

func sizesLen(dims int) int { return (dims*sizeBits(dims) + 7) / 8 }

// signsOf has a bit for each number of a vector that is above zero.
func signsOf(vector []float32) []byte {
	out := make([]byte, (len(vector)+7)/8)
	for n, x := range vector {
		if x > 0 {
			out[n/8] |= 1 << (n % 8)
		}
	}
	return out
}

// likeness is the cosine of the angle between a turned vector and one as coded keeps
// it, up to the length of q and to how near what is kept of a vector is to it, which is
// about the same for all.
func likeness(q []float32, signs, rough []byte) float64 {
	s := sizes{sizeBits(len(q)), rough}
	means := sizeMeans(s.bits)
	dot, square := float32(0), float32(0)
	for n, one := range q {
		x := means[s.at(n)]
		square += x * x
		if signs[n/8]>>(n%8)&1 == 1 {
			dot += one * x
		} else {
			dot -= one * x
		}
	}
	return float64(dot) / math.Sqrt(float64(square))
}
