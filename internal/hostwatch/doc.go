// Package hostwatch watches the code host of a project: it reads pull requests
// where something happened, and takes what people decided there as answers.
package hostwatch
