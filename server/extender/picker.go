package extender

import (
	"context"
	"errors"
	"slices"

	"k8s.io/apimachinery/pkg/util/sets"

	"muster.dev/muster/cluster"
	"muster.dev/muster/gang/core"
	"muster.dev/muster/predicates"
)

// picker picks nodes for pods: it finds what filter answers.
type picker struct {
	cluster *cluster.Cluster
	// offers are filter's answers about pods that are not bound yet.
	offers *offers
	// pick breaks ties: it returns a number from 0 to n-1.
	pick func(n int) int
}

// answer answers about a pod for itself. The scheduler asks again, so any former decision about the pod is
// void, except as advice. A pod that counts on a node counts on until it is decided.
func (p *picker) answer(q *request, m *memory, left sets.Set[string]) (answer, error) {
	if q.picksNode() {
		chosen, node, err := p.choose(q, m, left)
		if node == "" {
			p.cluster.Release(q.pod.UID)
		}
		return chosen, err
	}
	p.cluster.Release(q.pod.UID)
	view := q.view()
	defer view.Close()
	sifted := p.sift(q, m, &view, left)
	if len(sifted.offered) == 1 { // kube-scheduler does not call prioritize
		p.expect(q, view.Snapshot.Node(sifted.offered[0]))
	}
	p.offers.put(q.pod.UID, view.Snapshot.Generation, sifted.offered)
	return sifted, nil
}

// judge returns the verdicts of a profile on a pod as if the pod counted nowhere yet, while it
// counts on.
func (p *picker) judge(by *predicates.VerdictStore, pod *cluster.Pod) predicates.View {
	return by.ViewWithout(pod, p.cluster.Assumed(pod.UID))
}

// choose answers with the best candidate that fits, and assumes the pod there at
// once, so that the next call counts it. It says which; "" when there is none.
func (p *picker) choose(q *request, m *memory, left sets.Set[string]) (chosen answer, node string, err error) {
	found, err := p.assume(q, func(pod *cluster.Pod) (best candidate, ok bool) {
		view := p.judge(q.store, pod)
		defer view.Close()
		chosen = m.judge(&view, pod, q.nodes.in(view.Snapshot), left)
		i := m.best(&view, &chosen, p.pick)
		if i < 0 {
			return candidate{}, false
		}
		return candidate{chosen.places[i], view.Basis(chosen.offered[i]), view.Snapshot}, true
	})
	switch {
	case err == nil:
		return p.offer(q, m, &found), found.on.Node.Name, nil
	case errors.Is(err, errNoCandidate):
		return chosen, "", nil
	case errors.Is(err, q.ctx.Err()):
		return answer{}, "", err
	}
	return answer{failure: err.Error()}, "", nil
}

// wouldChoose answers with the best candidate by a view, and keeps nothing of it.
func (p *picker) wouldChoose(q *request, m *memory, view *predicates.View) answer {
	judged := m.judge(view, q.pod, q.nodes.in(view.Snapshot), nil)
	if i := m.best(view, &judged, p.pick); i >= 0 {
		return m.only(judged.places[i], judged.offered[i], judged.nodes)
	}
	return judged
}

// confirm answers with the node that was planned for the pod ahead of the call, and
// assumes the pod there again, if it is among the candidates and the pod still fits it.
// kube-scheduler asks about that node alone once it knows of the nomination. It is not done
// when there is nothing to confirm.
func (p *picker) confirm(q *request, m *memory, planned string, left sets.Set[string]) (confirmed answer, done bool, err error) {
	if planned == "" {
		return answer{}, false, nil
	}
	if q.ctx.Err() != nil {
		return answer{}, true, q.ctx.Err()
	}
	found, err := p.assume(q, func(pod *cluster.Pod) (candidate, bool) { return p.named(q, pod, planned, left) })
	switch {
	case err == nil:
		return p.offer(q, m, &found), true, nil
	case errors.Is(err, q.ctx.Err()):
		return answer{}, true, err
	}
	return answer{}, false, nil // choose will say why
}

// named returns the candidate of a name; it says false when there is none that fits.
func (p *picker) named(q *request, pod *cluster.Pod, node string, left sets.Set[string]) (found candidate, ok bool) {
	view := p.judge(q.store, pod)
	defer view.Close()
	n := view.Snapshot.NodeByName(node)
	if n == nil || verdict(&view, n.Index, left) != predicates.Fits {
		return candidate{}, false
	}
	at := slices.Index(q.nodes.in(view.Snapshot).indexes, n.Index)
	return candidate{at, view.Basis(n.Index), view.Snapshot}, at >= 0
}

// missed reports whether the scheduler may have missed the node that was planned for the pod: it did not look at all nodes, that one is not
// among the candidates, and the pod fits it still.
func (p *picker) missed(q *request, planned string, left sets.Set[string]) bool {
	view := p.judge(q.store, latest(q.pod, p.cluster))
	defer view.Close()
	n, candidates := view.Snapshot.NodeByName(planned), q.nodes.in(view.Snapshot).indexes
	return len(candidates) >= core.LeastSample && n != nil && verdict(&view, n.Index, left) == predicates.Fits &&
		!slices.Contains(candidates, n.Index)
}

// candidate is one of a request that fits, as it was judged on a snapshot.
type candidate struct {
	at   int // where it stands in the request
	on   cluster.Basis
	snap *cluster.Snapshot
}

// offer answers with one candidate, and notes that the pod may be bound there as it was judged.
func (p *picker) offer(q *request, m *memory, found *candidate) answer {
	only := m.only(found.at, found.on.Node.Index, candidates{names: found.snap.NodeNames})
	p.offers.put(q.pod.UID, found.snap.Generation, only.offered)
	return only
}

// sift answers with the candidates that fit by a view, or the best of them where the profile has a shortlist.
func (p *picker) sift(q *request, m *memory, view *predicates.View, left sets.Set[string]) answer {
	sifted := m.judge(view, q.pod, q.nodes.in(view.Snapshot), left)
	m.shorten(view, &sifted, q.store.Profile.Shortlist, p.pick)
	return sifted
}

// refuse answers with no node, for one reason.
func (p *picker) refuse(q *request, reason string) answer {
	return answer{nodes: q.nodes.in(p.cluster.Snapshot()), reason: reason}
}

var errNoCandidate = errors.New("no candidate will do")

// assume has the pod of a request count on the candidate that is found for it, and returns the candidate.
func (p *picker) assume(q *request, find func(pod *cluster.Pod) (candidate, bool)) (found candidate, err error) {
	err = count(q.ctx, p.cluster, q.pod, func(pod *cluster.Pod) (on cluster.Basis, err error) {
		var ok bool
		if found, ok = find(pod); !ok {
			return on, errNoCandidate
		}
		return found.on, nil
	})
	return found, err
}

// count has a pod count on a node in the state in which judge found that it fits there. If the node, or
// what else was read of the cluster, has changed since, judge is asked again about the pod as the watch shows it now,
// until it objects or the call ends.
func count(ctx context.Context, in *cluster.Cluster, pod *cluster.Pod, judge func(*cluster.Pod) (on cluster.Basis, err error)) error {
	for {
		on, err := judge(pod)
		if err != nil {
			return err
		}
		if err := in.AssumeAsJudged(pod, on); !errors.Is(err, cluster.ErrNodeChanged) {
			return err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		pod = latest(pod, in)
	}
}

// latest returns a pod as the watch shows it now, as it is if that shows it no more.
func latest(pod *cluster.Pod, in *cluster.Cluster) *cluster.Pod {
	if now := in.PendingPod(pod.UID); now != nil {
		return now
	}
	return pod
}
