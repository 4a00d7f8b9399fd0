// Package faultcampaign has the parts that campaigns of seeded faults against real components share.
//
// A [Campaign] performs the script of each seed on one of some lanes, adds up what came of it in a
// [Report], and tells at once what was found. A [Lane] is a control plane with muster, a stock
// kube-scheduler, and relays where calls between them are spoiled as a [Trouble] says: that is a
// function of the seed and of the call, so that a script is one of its seed to the calls that are
// spoiled. A [Diary] plays a script and keeps what was done, in an episode.Episode.
//
// What scripts do beyond that, and how a history is judged, is each campaign's own.
package faultcampaign
