package predicates

import (
	"math"
	"unsafe"

	"muster.dev/muster/cluster"
)

// spreadDomains are the failure domains that pods are to be spread over: how many of
// these pods each has, and the fewest that one has. A domain is there while one of its
// nodes counts, pods or none.
//
// The fewest are kept with the number of domains that have as few. When the last of
// those got more or is gone, all domains are looked at; but then the minimum rose, which
// may turn the verdicts on all nodes anyway.
//
// An update is follow, then put for each node that changed, then settle. Suppositions
// are puts after that, and settle.
type spreadDomains struct {
	key    string
	was    *cluster.Domains // the domains of the numbers below
	now    *cluster.Domains // the domains that put moves to
	shares []spreadShare    // by node index
	pods   []int32          // by domain
	nodes  []int32          // by domain: nodes that count

	there  int32 // domains
	fewest int32 // pods in one of them; math.MaxInt32 when there is none
	having int32 // domains that have the fewest
}

// spreadShare is the share of a node in its domain: 0 when the node does not count, else one more than the
// number of its pods that are spread.
type spreadShare int16

// shareOf returns the share of a node that counts, with up to mostMatching pods.
func shareOf(pods int16) spreadShare { return spreadShare(pods) + 1 }

func (s spreadShare) nodes() int32 { return int32(min(s, 1)) }

func (s spreadShare) pods() int32 { return int32(s) - s.nodes() }

// follow prepares for the nodes of a snapshot.
func (d *spreadDomains) follow(snap *cluster.Snapshot) {
	d.now = snap.Domains(d.key)
	if d.was == nil {
		d.was, d.fewest = d.now, math.MaxInt32
	}
	d.shares = atLeast(d.shares, snap.IndexEnd())
	d.pods, d.nodes = atLeast(d.pods, d.now.End()), atLeast(d.nodes, d.now.End())
}

// put replaces the share of a node, 0 for one that is gone. It calls changed for each
// domain that has another number of pods now.
func (d *spreadDomains) put(index int32, share spreadShare, changed func(domain, before, after int32)) {
	from, to := d.was.Of(index), d.now.Of(index)
	before := d.shares[index]
	d.shares[index] = share
	if from == to {
		d.replace(to, before, share, changed)
		return
	}
	d.replace(from, before, 0, changed)
	d.replace(to, 0, share, changed)
}

// replace replaces one share in a domain.
func (d *spreadDomains) replace(domain int32, share, by spreadShare, changed func(domain, before, after int32)) {
	if domain < 0 || share == by {
		return
	}
	before := d.pods[domain]
	d.leave(domain)
	d.pods[domain] += by.pods() - share.pods()
	d.nodes[domain] += by.nodes() - share.nodes()
	d.enter(domain)
	if after := d.pods[domain]; after != before {
		changed(domain, before, after)
	}
}

// leave takes a domain out of the minimum.
func (d *spreadDomains) leave(domain int32) {
	if d.nodes[domain] == 0 {
		return
	}
	d.there--
	if d.pods[domain] == d.fewest {
		d.having--
	}
}

// enter takes a domain into the minimum.
func (d *spreadDomains) enter(domain int32) {
	if d.nodes[domain] == 0 {
		return
	}
	d.there++
	switch pods := d.pods[domain]; {
	case pods < d.fewest:
		d.fewest, d.having = pods, 1
	case pods == d.fewest:
		d.having++
	}
}

// settle ends an update: the numbers are of the domains that were followed to, and the
// minimum is right.
func (d *spreadDomains) settle() {
	d.was = d.now
	if d.having > 0 {
		return
	}
	d.there, d.fewest = 0, math.MaxInt32
	for domain := range d.nodes {
		d.enter(int32(domain))
	}
}

// minimum returns the number that the skew of a domain is measured against: the fewest pods of a domain, or 0 while
// there are fewer domains than minDomains.
func (d *spreadDomains) minimum(minDomains int32) int32 {
	if d.there < minDomains {
		return 0
	}
	return d.fewest
}

// size is in bytes. The domains belong to the snapshot.
func (d *spreadDomains) size() int64 {
	return int64(cap(d.pods)+cap(d.nodes))*int64(unsafe.Sizeof(int32(0))) + int64(cap(d.shares))*int64(unsafe.Sizeof(spreadShare(0)))
}
