package predicates

import "muster.dev/muster/cluster"

// JudgeFit is [Profile.Judge] without the scores, for callers that only ask where a pod fits.
func (p *Profile) JudgeFit(pod *cluster.Pod, snap *cluster.Snapshot) *Judgement {
	j := &Judgement{
		profile: p, pod: pod, snap: snap,
		checks: make([]Check, len(p.predicates)),
	}
	all := indexesOf(snap)
	for i := range p.predicates {
		j.prepareCheck(i, snap, all)
	}
	return j
}

// Minds reports whether it might say something else, on any node, if a pod came to one or went,
// besides that there is more or less room. It is the same for pods of one class.
func (j *Judgement) Minds(pod *cluster.Pod) bool {
	for _, check := range j.checks {
		d, digests := check.(Digest)
		if !digests {
			continue
		}
		if m, ok := d.(mindful); !ok || m.minds(pod) {
			return true
		}
	}
	return false
}

// Verdicts visits all verdicts against the node, in the order of the profile's plugins.
func (j *Judgement) Verdicts(node *cluster.Node, visit func(Verdict)) {
	for _, check := range j.checks {
		if check == nil {
			continue
		}
		if v := check.Verdict(node); v != Fits {
			visit(v)
		}
	}
}

// OfRoom reports whether the node lacks room: some resource, or a pod too many.
func (v Verdict) OfRoom() bool {
	code := v &^ hopeless
	return code >= insufficientScalar || code >= tooManyPods && code <= insufficientEphemeralStorage
}
