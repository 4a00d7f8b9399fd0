package preflight

import (
	"fmt"
	"slices"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.dev/muster/api/config"
	questions "muster.dev/muster/api/explanation/v1alpha1"
	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/gang/operators/kinds"
)

// right is a right to a resource, or to resource/subresource.
type right struct {
	group, resource string
	verbs           []string
	namespace, name string
	// otherwise says what happens where it is missing, "" if muster does not work then.
	otherwise string
}

func (r right) String() string {
	text := strings.Join(r.verbs, ", ") + " " + r.resource
	if r.group != "" {
		text += "." + r.group
	}
	if r.name != "" {
		text += " " + r.namespace + "/" + r.name
	}
	return text
}

// needed are the rights that muster uses, as it is configured.
func (l *look) needed() []right {
	follow := []string{"list", "watch"}
	var rights []right
	for _, view := range []struct {
		group     string
		resources []string
	}{
		{"", []string{"nodes", "pods", "persistentvolumes", "persistentvolumeclaims", "services", "namespaces", "replicationcontrollers"}},
		{"apps", []string{"replicasets", "statefulsets"}},
		{"storage.k8s.io", []string{"storageclasses", "csinodes", "csidrivers", "volumeattachments"}},
		{"policy", []string{"poddisruptionbudgets"}},
		{"resource.k8s.io", []string{"deviceclasses", "resourceslices", "devicetaintrules", "resourceclaims", "resourceclaimtemplates"}},
		{"apiextensions.k8s.io", []string{"customresourcedefinitions"}},
		{"rescheduling.muster.dev", []string{"reschedulingplans"}},
		{v1alpha1.GroupX, []string{"podgroups"}},
		{v1alpha1.GroupSigs, []string{"podgroups"}},
	} {
		for _, resource := range view.resources {
			rights = append(rights, right{group: view.group, resource: resource, verbs: follow})
		}
	}
	rights = append(rights, l.ofKinds(follow)...)
	rights = append(rights,
		right{resource: "pods", verbs: []string{"get"}},
		right{resource: "pods/status", verbs: []string{"patch"}},
		right{group: "events.k8s.io", resource: "events", verbs: []string{"create", "patch"}, otherwise: "there are no events"},
	)
	for _, group := range []string{v1alpha1.GroupX, v1alpha1.GroupSigs} {
		rights = append(rights, right{group: group, resource: "podgroups", verbs: []string{"get", "patch"}},
			right{group: group, resource: "podgroups/status", verbs: []string{"patch"}})
	}
	rights = append(rights, l.ofKueue(follow)...)
	for _, group := range []string{v1alpha1.GroupKueue, v1alpha1.GroupKAI} {
		rights = append(rights, right{
			group: group, resource: "topologies", verbs: follow, otherwise: "gangs know no levels of a network but the ones that they name",
		})
	}
	const leftHeld = "devices that were allocated for a gang in vain stay held until kube-scheduler takes them back"
	rights = append(rights, right{group: "resource.k8s.io", resource: "resourceclaims", verbs: []string{"get"}, otherwise: leftHeld})
	for _, part := range []string{"status", "binding"} {
		rights = append(rights, right{
			group: "resource.k8s.io", resource: "resourceclaims/" + part, verbs: []string{"update"}, otherwise: leftHeld,
		})
	}
	const unanswered = "people who cannot reach muster's pages get no answer to their Questions"
	rights = append(rights,
		right{group: questions.Group, resource: questions.Resource, verbs: []string{"list", "watch", "delete"}, otherwise: unanswered},
		right{group: questions.Group, resource: questions.Resource + "/status", verbs: []string{"patch"}, otherwise: unanswered})
	if l.gated {
		rights = append(rights, right{resource: "pods", verbs: []string{"patch"}})
	}
	if len(l.pods) < len(l.Config.Profiles) {
		binds := right{resource: "pods/binding", verbs: []string{"create"}}
		if len(l.pods) > 0 { // whether an extender is registered the API does not tell
			binds.otherwise = "profiles with gates: UntilPlace work; the others cannot delegate bind to an extender"
		}
		rights = append(rights, binds)
	}
	if l.Config.Gangs.Evict != config.EvictNever {
		rights = append(
			rights,
			right{resource: "pods", verbs: []string{"delete"}, otherwise: "no pod is evicted for a gang: set gangs.evict: Never"},
		)
	}
	if namespace, name, is := l.schedulerLease(); is {
		rights = append(rights, right{
			group: "coordination.k8s.io", resource: "leases", verbs: follow, namespace: namespace, name: name,
			otherwise: "see the lease of kube-scheduler",
		})
	}
	if l.Config.Load.Source == config.LoadSourceNodeMetric {
		rights = append(rights, right{group: "slo.koordinator.sh", resource: "nodemetrics", verbs: follow})
	}
	if e := l.Config.LeaderElection; e.LeaderElect {
		rights = append(rights,
			right{group: "coordination.k8s.io", resource: "leases", verbs: []string{"create"}, namespace: e.ResourceNamespace},
			right{
				group: "coordination.k8s.io", resource: "leases", verbs: []string{"get", "update"},
				namespace: e.ResourceNamespace, name: e.ResourceName,
			})
		if namespace, name, is := strings.Cut(e.SchedulerLease, "/"); is {
			rights = append(rights,
				right{group: "coordination.k8s.io", resource: "leases", verbs: follow, namespace: namespace, name: name})
		}
	}
	return rights
}

// ofKueue are the rights to answer Kueue's admission check.
func (l *look) ofKueue(verbs []string) (rights []right) {
	if !slices.Contains(l.Config.Gangs.Kinds, config.GangKindKueue) {
		return nil
	}
	const unanswered = "the admission check muster.dev/placeable of Kueue is not answered"
	for _, resource := range []string{"workloads", "admissionchecks", "resourceflavors"} {
		rights = append(rights, right{group: "kueue.x-k8s.io", resource: resource, verbs: verbs, otherwise: unanswered})
	}
	for _, resource := range []string{"workloads/status", "admissionchecks/status"} {
		rights = append(rights, right{group: "kueue.x-k8s.io", resource: resource, verbs: []string{"patch"}, otherwise: unanswered})
	}
	return rights
}

// ofKinds are the rights to read what makes gangs of the kinds that are switched on.
func (l *look) ofKinds(verbs []string) (rights []right) {
	set := kinds.Set(l.Config.Gangs.Kinds)
	for kind, resource := range set.Resources() {
		otherwise := fmt.Sprintf("pods of %s start one by one", kind)
		if resource.BuiltIn {
			otherwise = fmt.Sprintf("pods of %s are left to kube-scheduler", kind)
		}
		rights = append(rights, right{group: resource.Group, resource: resource.Resource, verbs: verbs, otherwise: otherwise})
	}
	if set.ReadsJobs() {
		rights = append(rights, right{
			group: "batch", resource: "jobs", verbs: verbs, otherwise: "pods of Jobs, and of what makes Jobs, start one by one",
		})
	}
	return rights
}

// rights asks for each needed right. The granted ones share one line.
func (l *look) rights() {
	there := 0
	var wanting []Check
	for _, right := range l.needed() {
		if c := l.right(right); c.State == OK {
			there++
		} else {
			wanting = append(wanting, c)
		}
	}
	if there > 0 {
		l.add(Check{Check: "rights", State: OK, Required: true, Found: fmt.Sprintf("%d of %d", there, there+len(wanting))})
	}
	for _, c := range wanting {
		l.add(c)
	}
}

func (l *look) right(r right) Check {
	c := Check{Check: "right to " + r.String(), State: OK, Required: r.otherwise == "", Follows: r.otherwise}
	if c.Required {
		c.Follows = "muster does not work without"
	}
	resource, subresource, _ := strings.Cut(r.resource, "/")
	var refused []string
	for _, verb := range r.verbs {
		review, err := l.Client.AuthorizationV1().SelfSubjectAccessReviews().Create(l.ctx, &authorizationv1.SelfSubjectAccessReview{
			Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &authorizationv1.ResourceAttributes{
				Group: r.group, Resource: resource, Subresource: subresource, Verb: verb, Namespace: r.namespace, Name: r.name,
			}},
		}, metav1.CreateOptions{})
		if err != nil {
			c.State, c.Found = Unknown, err.Error()
			return c
		}
		if !review.Status.Allowed {
			refused = append(refused, verb)
		}
	}
	if len(refused) > 0 {
		c.State, c.Found = Missing, "not allowed: "+strings.Join(refused, ", ")
	}
	return c
}
