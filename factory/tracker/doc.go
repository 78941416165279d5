// Package tracker brings issues of a code host onto the board and tells the
// host what became of them: whose text counts, when it holds an issue that it
// changed, and what is posted back.
package tracker
