// Package boundedtest is for tests that read what somebody wrote to do harm: such texts, what reading
// one takes, and how much that may be.
//
// The tests are fuzz targets of the packages that read input. Their seeds run with all other tests,
// and "make fuzz" has each of them look for texts that nobody thought of.
package boundedtest
