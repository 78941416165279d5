// Package approval is what people are asked, with what they judge, and the one way
// in which they answer.
package approval
