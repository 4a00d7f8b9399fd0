// Package console is what a muster shows of itself: pages under /debug/ that answer people in text and
// programs in JSON, the page that draws them, and whether it is alive and ready.
//
// Pages read. They ask what they were made with, and change nothing: neither the view of the cluster nor
// what is remembered of pods. What they tell has no secrets of the objects that it is about.
package console
