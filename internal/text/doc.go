// Package text has the rules for text that somebody else wrote: what of it
// nobody would see, how it is cut, how it stands in a prompt as data, and how it
// stands on a terminal or on a page of a code host without acting there.
package text
