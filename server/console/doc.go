// Package console shows a muster that runs: pages under /debug/, the page that draws them, and its health.
//
// The pages answer people in text and programs in JSON.
//
// Pages read. They ask what they were made with, and change nothing: neither the view of the cluster nor
// what is remembered of pods. What they tell has no secrets of the objects that it is about.
package console
