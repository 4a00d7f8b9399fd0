// Package fuzzcampaign has every fuzz target of the main module look for input that breaks it, one
// after the other, each for its share of the time. Then it measures how much memory a call takes for
// its body.
package fuzzcampaign
