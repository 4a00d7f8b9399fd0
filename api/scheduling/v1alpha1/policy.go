package v1alpha1

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"muster.dev/muster/api/fields"
)

// MatchPolicy says which pods count towards minMember.
type MatchPolicy string

// Match policies.
const (
	// MatchWaitingAndBound counts pods that wait with a place and pods that are bound and
	// have not failed.
	MatchWaitingAndBound MatchPolicy = "waiting-and-bound"
	// MatchOnceSatisfied asks for nothing more once minMember pods were bound.
	MatchOnceSatisfied MatchPolicy = "once-satisfied"
	// MatchOnlyWaiting counts pods that wait with a place: each batch of minMember pods
	// starts as one.
	MatchOnlyWaiting MatchPolicy = "only-waiting"
)

// GangMode says what becomes of the others when a pod cannot have a place.
type GangMode string

// Gang modes.
const (
	// GangStrict takes the places of all others away.
	GangStrict GangMode = "Strict"
	// GangNonStrict lets them keep their places until their time is over.
	GangNonStrict GangMode = "NonStrict"
)

// Policy says how a group starts, by its annotations.
type Policy struct {
	MatchPolicy MatchPolicy
	GangMode    GangMode
	// Groups have to start together, in order and each once; none when the group is on its own.
	// The group itself need not be among them.
	Groups []types.NamespacedName
	// Topology says how near to each other its pods have to be.
	Topology Topology
	// ReserveAfter is how long the group waits at least before room is booked for it: [ReserveNever] for ever, 0 for as long as the
	// configuration says.
	ReserveAfter time.Duration
	// PreemptAfter is how long the group waits for room before others are evicted for it.
	PreemptAfter time.Duration
}

// ReserveNever is longer than any group waits.
const ReserveNever = time.Duration(math.MaxInt64)

// DecodePolicy reads the annotations of a PodGroup or, of a group without an object,
// of its pods. What is not there is MatchWaitingAndBound and GangStrict; pods that are of their group by
// [AnnotationKoordinatorName] have Koordinator's default, MatchOnceSatisfied. The error is an
// Aggregate that names each annotation and its value.
func DecodePolicy(annotations map[string]string) (Policy, error) {
	var errs field.ErrorList
	policy := Policy{
		MatchPolicy: matchPolicy(&errs, annotations),
		GangMode:    oneOf(&errs, annotations, saidBy(annotations, AnnotationGangMode, AnnotationKoordinatorMode), GangStrict, GangNonStrict),
	}
	key := saidBy(annotations, AnnotationGroups, AnnotationKoordinatorGroups)
	if value, ok := annotations[key]; ok {
		policy.Groups = groups(&errs, annotation(key), value)
	}
	policy.Topology = topology(&errs, annotations)
	policy.ReserveAfter, policy.PreemptAfter = reserveAfter(&errs, annotations), duration(&errs, annotations, AnnotationPreemptAfter)
	if policy.MatchPolicy == MatchOnlyWaiting && len(policy.Topology.Slices) > 0 {
		errs = append(errs, field.Forbidden(annotation(AnnotationTopologySlices), "batches (only-waiting) have no slices"))
	}
	if policy.MatchPolicy == MatchOnlyWaiting && len(policy.Topology.Shares) > 0 {
		errs = append(errs, field.Forbidden(annotation(AnnotationTopologyShares), "batches (only-waiting) have no shares"))
	}
	if len(errs) > 0 {
		return Policy{}, errs.ToAggregate()
	}
	return policy, nil
}

// DecodeMinMember reads the minMember of a group without an object off a pod; it is 0
// when the pod does not say. The error names the annotation and its value.
func DecodeMinMember(annotations map[string]string) (int32, error) {
	key := saidBy(annotations, AnnotationMinMember, AnnotationKoordinatorMinAvailable)
	value, ok := annotations[key]
	if !ok {
		return 0, nil
	}
	minMember, err := strconv.ParseInt(value, 10, 32)
	if err != nil || minMember < 1 {
		return 0, field.Invalid(annotation(key), fields.Brief(value), mustBeMinMember)
	}
	return int32(minMember), nil
}

// DecodeWaitingTime reads how long a group without an object may take off a pod; it is 0 when the pod does not say.
// The error names the annotation and its value.
func DecodeWaitingTime(annotations map[string]string) (time.Duration, error) {
	value, ok := annotations[AnnotationKoordinatorWaitingTime]
	if !ok {
		return 0, nil
	}
	limit, err := time.ParseDuration(value)
	if err != nil || limit <= 0 {
		return 0, field.Invalid(annotation(AnnotationKoordinatorWaitingTime), fields.Brief(value), `must be a duration such as "600s"`)
	}
	return limit, nil
}

// reserveAfter reads how long a group waits at least before room is booked for it.
func reserveAfter(errs *field.ErrorList, annotations map[string]string) time.Duration {
	text, said := annotations[AnnotationReserveAfter]
	if !said {
		return 0
	}
	after, err := time.ParseDuration(text)
	switch {
	case err != nil || after < 0:
		*errs = append(
			*errs, field.Invalid(annotation(AnnotationReserveAfter), fields.Brief(text), `must be a duration such as "30m", or "0", which is never`),
		)
	case after == 0:
		return ReserveNever
	}
	return after
}

// matchPolicy reads the match policy in muster's words or else in Koordinator's.
func matchPolicy(errs *field.ErrorList, annotations map[string]string) MatchPolicy {
	if _, ok := annotations[AnnotationMatchPolicy]; ok {
		return oneOf(errs, annotations, AnnotationMatchPolicy, MatchWaitingAndBound, MatchOnceSatisfied, MatchOnlyWaiting)
	}
	if _, ok := annotations[AnnotationKoordinatorMatchPolicy]; !ok && annotations[AnnotationKoordinatorName] == "" {
		return MatchWaitingAndBound
	}
	policy := oneOf(errs, annotations, AnnotationKoordinatorMatchPolicy, MatchOnceSatisfied, waitingAndRunning, MatchOnlyWaiting)
	if policy == waitingAndRunning {
		return MatchWaitingAndBound
	}
	return policy
}

// waitingAndRunning is Koordinator's name for MatchWaitingAndBound.
const waitingAndRunning MatchPolicy = "waiting-and-running"

// saidBy is which of some annotations counts: the first one that is there, muster's own if there is none.
func saidBy(annotations map[string]string, own string, others ...string) string {
	if _, ok := annotations[own]; ok {
		return own
	}
	for _, other := range others {
		if _, ok := annotations[other]; ok {
			return other
		}
	}
	return own
}

func annotation(key string) *field.Path {
	return field.NewPath("metadata", "annotations").Key(key)
}

// oneOf reads an annotation that is one of the values, the first one by default.
func oneOf[T ~string](errs *field.ErrorList, annotations map[string]string, key string, values ...T) T {
	value, ok := annotations[key]
	if !ok {
		return values[0]
	}
	if !slices.Contains(values, T(value)) {
		*errs = append(*errs, field.NotSupported(annotation(key), T(fields.Brief(value)), values))
	}
	return T(value)
}

const (
	// maxGroups is how many groups may have to start together.
	maxGroups = 100
	// maxGroupsLength is how long the annotation may be that names them, in bytes: their names have
	// 63 and 253 at most.
	maxGroupsLength = 32 << 10
)

func groups(errs *field.ErrorList, path *field.Path, value string) []types.NamespacedName {
	if len(value) > maxGroupsLength {
		*errs = append(*errs, field.TooLong(path, "", maxGroupsLength))
		return nil
	}
	var names []string
	if json.Unmarshal([]byte(value), &names) != nil {
		*errs = append(*errs, field.Invalid(path, fields.Brief(value), `must be a JSON list such as ["namespace/name"]`))
		return nil
	}
	if len(names) > maxGroups {
		*errs = append(*errs, field.TooMany(path, len(names), maxGroups))
		return nil
	}
	var groups []types.NamespacedName
	for i, name := range names {
		namespace, name, _ := strings.Cut(name, "/")
		if len(validation.IsDNS1123Label(namespace)) > 0 || !isGroupName(name) {
			*errs = append(*errs, field.Invalid(path.Index(i), fields.Brief(names[i]), "must be namespace/name"))
			continue
		}
		groups = append(groups, types.NamespacedName{Namespace: namespace, Name: name})
	}
	slices.SortFunc(groups, func(a, b types.NamespacedName) int { return strings.Compare(a.String(), b.String()) })
	return slices.Compact(groups)
}

// isGroupName says whether a text can be the name of a group: that of an object, or the value of a
// label.
func isGroupName(text string) bool {
	return text != "" && (len(validation.IsDNS1123Subdomain(text)) == 0 || len(validation.IsValidLabelValue(text)) == 0)
}
