// Package search is an index of texts in a file, and the questions asked of it:
// words and phrases, narrowed by what a text is, where it stands, whose it is and
// when it was written. It can be made anew at any time from what it was made of.
package search
