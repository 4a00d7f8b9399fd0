package reschedulerfaults

import (
	"iter"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"muster.dev/muster/api/rescheduling/v1alpha1"
	"muster.dev/muster/e2e/campaigns/faultcampaign"
)

const (
	// pendingLimit is how long what replaces an evicted pod may wait for a node.
	pendingLimit = time.Minute
	// endSlack is how long after its expiry a plan may end.
	endSlack = 30 * time.Second
	// slack is how old what a process knows may be, and how much the times in plans are rounded.
	slack = 1500 * time.Millisecond
	// frozen is how long a rescheduler may have been frozen before it goes on with what it was at.
	frozen = 2*leaseDuration + slack
)

// finding is something that must not be, of one of the kinds below or of the kinds that campaigns share.
type finding = faultcampaign.Finding

// Kinds of findings.
const (
	pendingTooLong = "pending too long"
	budgetIgnored  = "PodDisruptionBudget ignored"
	overBudget     = "over a budget"
	cooling        = "evicted within a cool-down"
	stolen         = "room stolen"
	returned       = "returned to where it was"
	withoutPlan    = "evicted without a plan"
	nowhere        = "evicted without a place to go to"
	protected      = "evicted though it must not be"
	neverEnds      = "a plan does not end"
	wordless       = "a plan failed without a word"
	bothEvict      = "two replicas evict at once"
	paused         = "evicted in a stricter mode"
	unapproved     = "evicted without approval"
	unreplaced     = "evicted and not replaced"
	markLeft       = "a mark is left"
)

// tally holds the numbers of a run.
type tally struct {
	plans     map[v1alpha1.Phase]int  // by how they ended
	by        map[v1alpha1.Policy]int // evictions
	evictions int
	moved     int // pods
	placed    int // pods that room was made for
	marked    int // nodes
	marksLeft int
	lost      int // pods that were evicted and have not been replaced
}

// story is all that is judged of a run.
type story struct {
	entries   []entry // in their order
	evictions []eviction
	settings
	pauses []pause
	end    time.Time

	final *state // at the end
}

// move is an eviction that was granted, and what the plan says of it, whether it was deleted since or not.
type move struct {
	eviction
	plan *planLife      // nil when none says anything
	step *v1alpha1.Step // of the plan
	life *podLife       // of the pod, nil when nothing is known of it
}

// mayBeReplacedBy says that a pod is one that the controller of the evicted one could have made in its place.
func (m *move) mayBeReplacedBy(pod *corev1.Pod) bool {
	return controllerOf(pod) == m.step.Controller.UID && (m.step.Controller.Kind != string(statefulSet) || pod.Name == m.pod)
}

// judge says what must not have been.
func (s *story) judge() (findings []finding, t tally) {
	s.final = newState()
	for _, e := range s.entries {
		s.final.apply(e)
	}
	for _, judge := range []func() []finding{
		s.judgePlans, s.judgeEvictions, s.judgePending, s.judgeReturns, s.judgeThefts, s.judgeRates, s.judgeDown, s.judgeReplicas,
		s.judgePauses, s.judgeApproval, s.judgeMarks, s.judgeProtected, s.judgeSingles, s.judgeLost,
	} {
		findings = append(findings, judge()...)
	}
	return findings, s.tally()
}

func (s *story) tally() tally {
	t := tally{plans: map[v1alpha1.Phase]int{}, by: map[v1alpha1.Policy]int{}, marksLeft: len(s.judgeMarks()), lost: len(s.lost())}
	for _, m := range s.moves(s.final) {
		t.evictions++
		if m.plan != nil {
			t.by[m.plan.object.Spec.Policy]++
		}
	}
	for _, n := range s.final.nodes {
		if n.marked {
			t.marked++
		}
	}
	for _, p := range s.final.plans {
		t.plans[p.object.Status.Phase]++
		for i := range p.object.Spec.Steps {
			if p.object.Step(i).Phase == v1alpha1.StepMoved {
				t.moved++
			}
		}
		for _, b := range p.object.Spec.Beneficiaries {
			if pod := s.final.pods[b.UID]; pod != nil && pod.object.Spec.NodeName == b.Node && pod.bound.After(p.since) {
				t.placed++
			}
		}
	}
	return t
}

// replay is the history, one entry after the other, with what was before it.
func (s *story) replay() iter.Seq2[entry, *state] {
	return func(yield func(entry, *state) bool) {
		before := newState()
		for _, e := range s.entries {
			if !yield(e, before) {
				return
			}
			before.apply(e)
		}
	}
}

// leaving are the moments at which pods begin to leave, with what was before them.
func (s *story) leaving() iter.Seq2[*corev1.Pod, *state] {
	return func(yield func(*corev1.Pod, *state) bool) {
		for e, before := range s.replay() {
			if e.pod == nil || e.pod.DeletionTimestamp == nil {
				continue
			}
			if was := before.pods[e.pod.UID]; was != nil && was.leaves.IsZero() && !yield(e.pod, before) {
				return
			}
		}
	}
}

// granted is the eviction of a pod that was granted, nil when none was.
func (s *story) granted(uid types.UID) *eviction {
	for i := range s.evictions {
		if e := &s.evictions[i]; e.granted && e.uid == uid {
			return e
		}
	}
	return nil
}

// moves are the evictions that a state knows of, in their order.
func (s *story) moves(known *state) (moves []move) { return movesOf(s.evictions, known) }

func movesOf(evictions []eviction, known *state) (moves []move) {
	for _, e := range evictions {
		if !e.granted {
			continue
		}
		m := move{eviction: e, life: known.pods[e.uid]}
		for _, uid := range slices.Sorted(maps.Keys(known.plans)) {
			p := known.plans[uid]
			if step := p.step(e.uid); step != nil && p.since.Before(e.answered) && (m.plan == nil || p.rather(m.plan, &e)) {
				m.plan, m.step = p, step
			}
		}
		moves = append(moves, m)
	}
	slices.SortStableFunc(moves, func(a, b move) int { return a.answered.Compare(b.answered) })
	seen := sets.New[types.UID]() // the API server grants the eviction of a pod that is leaving once more
	return slices.DeleteFunc(moves, func(m move) bool {
		again := seen.Has(m.uid)
		seen.Insert(m.uid)
		return again
	})
}

// rather says that an eviction is of this plan and not of another one, which moves the pod as well: of one that has got to
// that step, or else of one that had not ended then, or of the later one.
func (p *planLife) rather(other *planLife, e *eviction) bool {
	if mine, its := p.evicts(e.uid), other.evicts(e.uid); mine != its {
		return mine
	}
	return other.endedBy(e.asked) || !p.endedBy(e.asked) && p.since.After(other.since)
}

// judgeRates holds evictions against rates and cool-downs. Each one counts that the API server has granted, by the pod that it
// was of, though its plan may be gone.
func (s *story) judgeRates() (findings []finding) {
	var earlier []move
	for _, m := range s.moves(s.final) {
		if m.life == nil {
			continue // nothing is known of the pod; judgeEvictions finds an eviction by name alone
		}
		findings = append(findings, s.judgeRate("all", s.budgets.rate, earlier, m, func(move) bool { return true })...)
		if isWeb(m) {
			findings = append(findings, s.judgeRate(tierWeb, s.budgets.webRate, earlier, m, isWeb)...)
		}
		for _, before := range earlier {
			findings = append(findings, s.judgeCoolDown(before, m)...)
		}
		earlier = append(earlier, m)
	}
	return findings
}

// judgeCoolDown holds an eviction against one before it, of another plan.
func (s *story) judgeCoolDown(before, m move) (findings []finding) {
	if m.plan != nil && before.plan == m.plan {
		return nil
	}
	passed := m.answered.Sub(before.answered)
	tell := func(same string) {
		findings = append(findings, faultcampaign.Found(
			cooling, "pod %s by %s, %s after pod %s of the same %s by %s",
			m.pod, m.plan.name(), passed.Round(time.Millisecond), before.pod, same, before.plan.name(),
		))
	}
	controller := controllerOf(m.life.object)
	if controller != "" && controllerOf(before.life.object) == controller && passed+slack < s.budgets.workloadCoolDown {
		tell("workload")
	}
	if before.life.object.Spec.NodeName == m.life.object.Spec.NodeName && passed+slack < s.budgets.workloadCoolDown/10 {
		tell("node")
	}
	return findings
}

// name returns the name of the plan in findings.
func (p *planLife) name() string {
	switch {
	case p == nil:
		return "no plan"
	case p.gone:
		return "plan " + p.object.Name + ", which is deleted"
	}
	return "plan " + p.object.Name
}

func isWeb(m move) bool { return m.life.object.Labels[tierLabel] == tierWeb }

func (s *story) judgeRate(name string, r rate, earlier []move, m move, counts func(move) bool) []finding {
	recent := 1
	for _, before := range earlier {
		if counts(before) && m.answered.Sub(before.answered)+slack < r.per {
			recent++
		}
	}
	if r.evictions == 0 || recent <= r.evictions {
		return nil
	}
	return []finding{faultcampaign.Found(overBudget, "pod %s is the eviction %d of %s in %s, of %d", m.pod, recent, name, r.per, r.evictions)}
}

// judgeDown holds each eviction of a pod of a tier against how many others were down then, and
// had been for long enough to be known.
func (s *story) judgeDown() (findings []finding) {
	if s.budgets.webDown == 0 {
		return nil
	}
	for pod, before := range s.leaving() {
		e := s.granted(pod.UID)
		if e == nil || pod.Labels[tierLabel] != tierWeb {
			continue
		}
		if down := 1 + before.down(pod.UID, e.asked.Add(-slack)); down > s.budgets.webDown {
			findings = append(findings, faultcampaign.Found(
				overBudget, "pod %s is the number %d of %s that is down, of %d", pod.Name, down, tierWeb, s.budgets.webDown,
			))
		}
	}
	return findings
}

// down is how many other pods of the tier were down before a time.
func (s *state) down(but types.UID, before time.Time) (down int) {
	for uid, p := range s.pods {
		if uid != but && !p.gone && p.object.Labels[tierLabel] == tierWeb && !p.downSince.IsZero() && p.downSince.Before(before) {
			down++
		}
	}
	return down
}

// judgeProtected looks for evictions of pods that nobody may move: those whose labels say that something forbids it, and
// those with claims, unless these are allowed.
func (s *story) judgeProtected() (findings []finding) {
	for _, m := range s.moves(s.final) {
		if m.life == nil {
			continue
		}
		if why := m.life.object.Labels[staysLabel]; why != "" {
			findings = append(findings, faultcampaign.Found(protected, "pod %s: %s", m.pod, why))
		}
		for i := range m.life.object.Spec.Volumes {
			if !s.allowClaims && m.life.object.Spec.Volumes[i].PersistentVolumeClaim != nil {
				findings = append(findings, faultcampaign.Found(protected, "pod %s has a claim", m.pod))
			}
		}
	}
	return findings
}

// judgeSingles looks for evictions of the only pod of a controller that is ready, unless these are allowed: it is so for long
// enough to be known, and none of the others is, or was lately. A gang is moved whole, and Jobs do not serve anyone.
func (s *story) judgeSingles() (findings []finding) {
	for pod, before := range s.leaving() {
		e := s.granted(pod.UID)
		if e == nil || s.allowSingle || isMember(pod) || ofJob(pod) {
			continue
		}
		if before.pods[pod.UID].upSince.Before(e.asked.Add(-slack)) && !before.othersWork(pod.UID, controllerOf(pod), e.asked.Add(-slack)) {
			findings = append(findings, faultcampaign.Found(protected, "pod %s is the only one of its controller that is ready", pod.Name))
		}
	}
	return findings
}

func ofJob(pod *corev1.Pod) bool {
	owner := metav1.GetControllerOfNoCopy(pod)
	return owner != nil && owner.Kind == string(batch)
}
