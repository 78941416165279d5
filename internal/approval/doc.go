// Package approval is what people are asked, with what they judge.
package approval
