// Package agenttrial measures which agent is good in a repository: changes of its
// past, whose tests failed before and pass after, are done again by each agent, from
// a repository that ends where the author began, and proven with the author's tests,
// which no agent sees.
package agenttrial
