package admission

import (
	"fmt"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	reschedulingv1alpha1 "muster.dev/muster/api/rescheduling/v1alpha1"
	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/gang/record"
	"muster.dev/muster/placement/nomination"
	"muster.dev/muster/rescheduler/scaleup"
)

// Account is an identity that programs write to the API server with, and which of them do.
type Account struct {
	// Name names the policy and its binding.
	Name string
	// User is the API server's name for the account, as in system:serviceaccount:kube-system:muster.
	User string
	// Who writes with it.
	Muster, Rescheduler, Scheduler bool
}

// AccountPolicy has the API server refuse an account what its programs never do, though their role
// lets them: roles know resources, and not fields. Of pods they change their own annotations and
// conditions and the nominated node, and take off muster's gates; what is deleted was told to be, and
// nothing is deleted at once. So an attacker who takes such a program over cannot run code in the
// pods of others, or have them take the place of others.
//
// It bounds one account and nobody else, and is in force by its binding.
func AccountPolicy(
	a Account,
) (*admissionregistrationv1.ValidatingAdmissionPolicy, *admissionregistrationv1.ValidatingAdmissionPolicyBinding) {
	version := admissionregistrationv1.SchemeGroupVersion.String()
	meta := metav1.ObjectMeta{Name: a.Name}
	policy := &admissionregistrationv1.ValidatingAdmissionPolicy{
		TypeMeta: metav1.TypeMeta{APIVersion: version, Kind: "ValidatingAdmissionPolicy"}, ObjectMeta: meta,
		Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
			FailurePolicy:    new(admissionregistrationv1.Fail),
			MatchConstraints: a.writes(),
			MatchConditions: []admissionregistrationv1.MatchCondition{
				{Name: "account", Expression: fmt.Sprintf("request.userInfo.username == %q", a.User)},
			},
			Variables:   a.variables(),
			Validations: a.validations(),
		},
	}
	binding := &admissionregistrationv1.ValidatingAdmissionPolicyBinding{
		TypeMeta: metav1.TypeMeta{APIVersion: version, Kind: "ValidatingAdmissionPolicyBinding"}, ObjectMeta: meta,
		Spec: admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName: a.Name, ValidationActions: []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny},
		},
	}
	return policy, binding
}

// The resources that the policy is about, as variables.resource names them.
const (
	resourcePods        = "pods"
	resourcePodStatus   = "pods/status"
	resourcePodBinding  = "pods/binding"
	resourceNodes       = "nodes"
	resourcePodGroups   = "podgroups"
	resourcePodTemplate = "podtemplates"
	resourceRequests    = "provisioningrequests"
	resourceConfigMaps  = "configmaps"
	resourceClaimStatus = "resourceclaims/status"
)

// writes selects the requests that the policy looks at.
func (a Account) writes() *admissionregistrationv1.MatchResources {
	var rules []admissionregistrationv1.NamedRuleWithOperations
	rule := func(group, version string, resources []string, operations ...admissionregistrationv1.OperationType) {
		rules = append(rules, admissionregistrationv1.NamedRuleWithOperations{RuleWithOperations: admissionregistrationv1.RuleWithOperations{
			Operations: operations,
			Rule: admissionregistrationv1.Rule{
				APIGroups:   []string{group},
				APIVersions: []string{version},
				Resources:   resources,
				Scope:       new(admissionregistrationv1.AllScopes),
			},
		}})
	}
	rule("", "v1", []string{resourcePods, resourcePodStatus}, admissionregistrationv1.Update)
	rule("", "v1", []string{resourcePods}, admissionregistrationv1.Delete)
	rule("", "v1", []string{resourcePodBinding}, admissionregistrationv1.Create)
	rule("", "v1", []string{resourceNodes}, admissionregistrationv1.Update)
	if a.Muster {
		rule("", "v1", []string{resourcePods}, admissionregistrationv1.Create)
		for _, group := range []string{v1alpha1.GroupX, v1alpha1.GroupSigs} {
			rule(group, "*", []string{resourcePodGroups}, admissionregistrationv1.Update)
		}
		if !a.Scheduler { // which allocates devices
			rule("resource.k8s.io", "*", []string{resourceClaimStatus}, admissionregistrationv1.Update)
		}
	}
	if a.Rescheduler {
		both := []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Delete}
		rule("", "v1", []string{resourcePodTemplate}, both...)
		rule("autoscaling.x-k8s.io", "*", []string{resourceRequests}, both...)
		rule("", "v1", []string{resourceConfigMaps}, admissionregistrationv1.Create)
	}
	return &admissionregistrationv1.MatchResources{ResourceRules: rules}
}

// variables are what the rules have in common. They are worked out when a rule reads them. With
// dyn, fields that this version of the API does not know are looked at as well.
func (a Account) variables() []admissionregistrationv1.Variable {
	return []admissionregistrationv1.Variable{
		{
			Name:       "resource",
			Expression: `request.?subResource.orValue("") == "" ? request.resource.resource : request.resource.resource + "/" + request.subResource`,
		},
		{Name: "metadata", Expression: "dyn(object.metadata)"},
		{Name: "oldMetadata", Expression: "dyn(oldObject.metadata)"},
		{Name: "annotations", Expression: "dyn(object.metadata.?annotations.orValue({}))"},
		{Name: "oldAnnotations", Expression: "dyn(oldObject.metadata.?annotations.orValue({}))"},
		{Name: "spec", Expression: "dyn(object.?spec.orValue({}))"},
		{Name: "oldSpec", Expression: "dyn(oldObject.?spec.orValue({}))"},
		{Name: "status", Expression: "dyn(object.?status.orValue({}))"},
		{Name: "oldStatus", Expression: "dyn(oldObject.?status.orValue({}))"},
		{Name: "taints", Expression: "dyn(object.?spec.taints.orValue([]))"},
		{Name: "oldTaints", Expression: "dyn(oldObject.?spec.taints.orValue([]))"},
		{Name: "gates", Expression: "dyn(object.?spec.schedulingGates.orValue([]))"},
		{Name: "oldGates", Expression: "dyn(oldObject.?spec.schedulingGates.orValue([]))"},
		{Name: "conditions", Expression: "dyn(object.?status.conditions.orValue([]))"},
		{Name: "oldConditions", Expression: "dyn(oldObject.?status.conditions.orValue([]))"},
		// As the API server sees to it: a pod that does not run goes at once.
		{
			Name: "grace",
			Expression: `!has(oldObject.spec.nodeName) || oldObject.?status.phase.orValue("") in ["Failed", "Succeeded"] ? 0 : ` +
				`oldObject.spec.?terminationGracePeriodSeconds.orValue(30)`,
		},
	}
}

// metadataOfOthers are fields that the API server itself sees to.
func metadataOfOthers() []string {
	return []string{"annotations", "deletionGracePeriodSeconds", "deletionTimestamp", "generation", "managedFields", "resourceVersion"}
}

// statusOfKubelets are the fields of a pod's status that neither muster nor a kube-scheduler writes.
func statusOfKubelets() []string {
	return []string{
		"allocatedResources", "containerStatuses", "ephemeralContainerStatuses", "hostIP", "hostIPs", "initContainerStatuses", "message", "phase",
		"podIP", "podIPs", "qosClass", "reason", "resize", "resourceClaimStatuses", "resources", "startTime",
	}
}

// Above the highest priority that a pod can have, nothing is preempted (system-node-critical).
const unpreemptible = 2000001000

func (a Account) validations() []admissionregistrationv1.Validation {
	validations := []admissionregistrationv1.Validation{
		rule("its metadata except annotations stays as it is",
			changed(resourcePods, resourcePodStatus, resourceNodes, resourcePodGroups),
			unchangedBut("variables.metadata", "variables.oldMetadata", metadataOfOthers())),
		rule("of annotations of pods, it writes its own",
			changed(resourcePods, resourcePodStatus), unchangedBut("variables.annotations", "variables.oldAnnotations", a.podAnnotations())),
		rule("a pod's spec stays as it is, except gates",
			changed(resourcePods), unchangedBut("variables.spec", "variables.oldSpec", []string{"schedulingGates"})),
		rule("of the gates of a pod, it takes its own off", changed(resourcePods), a.gates()),
		rule("of the conditions of a pod, it writes its own", changed(resourcePodStatus), a.conditions()),
		rule("of a pod's status, it writes conditions and the nominated node", changed(resourcePodStatus), a.status()),
		rule("a pod is bound without annotations, and with no labels except its node's topology", `variables.resource == "pods/binding"`,
			"variables.annotations.size() == 0 &&\n  dyn(object.metadata.?labels.orValue({})).all(k, k.startsWith(\"topology.kubernetes.io/\"))"),
		rule("a pod is deleted once its status says that it is disrupted, with its grace period, and not of the highest priority",
			`variables.resource == "pods" && request.operation == "DELETE"`, a.orPlaceholder("variables.oldGates")+fmt.Sprintf(
				"variables.oldConditions.exists(c, c.type == %q && c.status == \"True\") &&\n"+
					"  request.?options.gracePeriodSeconds.orValue(variables.grace) >= variables.grace &&\n  oldObject.spec.?priority.orValue(0) < %d",
				corev1.DisruptionTarget, unpreemptible)),
		rule("of annotations of nodes, it writes its own",
			changed(resourceNodes), unchangedBut("variables.annotations", "variables.oldAnnotations", a.nodeAnnotations())),
		rule("a node's spec stays as it is, but that it is cordoned or tainted",
			changed(resourceNodes), unchangedBut("variables.spec", "variables.oldSpec", []string{"taints", "unschedulable"})),
		rule("of the taints of a node, it writes its own", changed(resourceNodes), a.taints()),
		rule("a node that it cordons says so, and none is uncordoned that it has not cordoned", changed(resourceNodes), fmt.Sprintf(
			"variables.spec.?unschedulable.orValue(false) == variables.oldSpec.?unschedulable.orValue(false) ||\n"+
				"  (variables.spec.?unschedulable.orValue(false) ? variables.annotations : variables.oldAnnotations)[?%q].orValue(\"\") == \"true\"",
			reschedulingv1alpha1.AnnotationCordoned)),
	}
	if a.Muster {
		validations = append(
			validations,
			rule("of pods, it creates placeholders only, which never run",
				`variables.resource == "pods" && request.operation == "CREATE"`, isPlaceholder("variables.gates")),
			rule("of annotations of PodGroups, it writes its own",
				changed(resourcePodGroups), unchangedBut("variables.annotations", "variables.oldAnnotations", []string{record.Annotation})),
			rule("a PodGroup's spec stays as it is", changed(resourcePodGroups), "variables.spec == variables.oldSpec"),
		)
	}
	if a.Muster && !a.Scheduler {
		validations = append(validations, rule(
			"of the status of a claim, it takes back the devices that nobody has reserved",
			changed(resourceClaimStatus),
			"variables.oldStatus.?reservedFor.orValue([]).size() == 0 &&\n  "+
				`variables.status.all(k, !(k in ["allocation", "devices", "reservedFor"]))`,
		))
	}
	if a.Rescheduler {
		validations = append(
			validations,
			rule(
				"requests for nodes, and what they refer to, are its own",
				`variables.resource in ["podtemplates", "provisioningrequests"]`,
				fmt.Sprintf(
					"(request.operation == \"DELETE\" ? oldObject : object).metadata.?labels[?%q].orValue(\"\") == \"true\"", scaleup.LabelRequest),
			),
			rule("of ConfigMaps, it creates the record of evictions only",
				fmt.Sprintf("variables.resource == %q", resourceConfigMaps), `variables.metadata.?name.orValue("").endsWith("-rescheduler-evictions")`),
		)
	}
	return validations
}

// isPlaceholder says that a pod with gates keeps room for another one, and does nothing else. Nobody with the account can
// take that gate off.
func isPlaceholder(gates string) string {
	return fmt.Sprintf("%s.exists(gate, gate.name == %q)", gates, v1alpha1.PlaceholderGate)
}

// orPlaceholder leaves placeholder pods out of what follows, for the account that creates them.
func (a Account) orPlaceholder(gates string) string {
	if !a.Muster {
		return ""
	}
	return isPlaceholder(gates) + " ||\n  "
}

// rule demands something where a condition holds.
func rule(message, where, demands string) admissionregistrationv1.Validation {
	return admissionregistrationv1.Validation{
		Message:    "muster's account: " + message,
		Expression: "!(" + where + ") ||\n" + demands,
		Reason:     new(metav1.StatusReasonForbidden),
	}
}

// changed is that objects of resources are.
func changed(resources ...string) string {
	return fmt.Sprintf(`request.operation == "UPDATE" && variables.resource in %s`, celList(resources))
}

// unchangedBut requires two maps to be equal except for some keys.
func unchangedBut(after, before string, keys []string) string {
	return fmt.Sprintf(
		"%[1]s.all(k, k in %[3]s ||\n  k in %[2]s && %[1]s[k] == %[2]s[k]) &&\n%[2]s.all(k, k in %[3]s ||\n  k in %[1]s)",
		after,
		before,
		celList(keys),
	)
}

// podAnnotations lists the annotations that the account writes on pods.
func (a Account) podAnnotations() (keys []string) {
	keys = []string{}
	if a.Muster {
		keys = append(keys, nomination.AnnotationWoken)
	}
	if a.Rescheduler {
		keys = append(keys, reschedulingv1alpha1.AnnotationSeparateFrom, reschedulingv1alpha1.AnnotationSeparateWhy)
	}
	return keys
}

// gates says which gates there may be after a change.
func (a Account) gates() string {
	if !a.Muster {
		return "variables.gates == variables.oldGates"
	}
	// A pod may have any number of gates: each is looked at once for each of muster's.
	rules := []string{"variables.gates == variables.oldGates"}
	for _, others := range []string{
		fmt.Sprintf("gate.name != %q", v1alpha1.SchedulingGate), fmt.Sprintf("gate.name != %q", v1alpha1.AheadGate),
		fmt.Sprintf("!(gate.name in %s)", celList([]string{v1alpha1.SchedulingGate, v1alpha1.AheadGate})),
	} {
		rules = append(rules, fmt.Sprintf("variables.gates == variables.oldGates.filter(gate, %s)", others))
	}
	return strings.Join(rules, " ||\n")
}

// conditions requires that others' conditions stay, in any order.
func (a Account) conditions() string {
	var types []corev1.PodConditionType
	if a.Scheduler {
		types = append(types, corev1.PodScheduled)
	}
	if a.Muster || a.Scheduler {
		types = append(types, corev1.DisruptionTarget)
	}
	if a.Rescheduler {
		types = append(types, scaleup.ConditionRearrangingHelps)
	}
	return fmt.Sprintf(
		"variables.conditions.all(c, c.type in %[1]s ||\n  c in variables.oldConditions) &&\nvariables.oldConditions.all(c, c.type in %[1]s "+
			"||\n  c in variables.conditions)",
		celList(types),
	)
}

// status says which fields of a pod's status stay. Later versions of a kube-scheduler may write some
// that there are not yet; muster does not.
func (a Account) status() string {
	if !a.Scheduler {
		return unchangedBut("variables.status", "variables.oldStatus", []string{"conditions", "nominatedNodeName"})
	}
	return celList(statusOfKubelets()) + ".all(k,\n  variables.status[?k] == variables.oldStatus[?k])"
}

// taints requires that others' taints stay.
func (a Account) taints() string {
	if !a.Rescheduler {
		return "variables.taints == variables.oldTaints"
	}
	own := fmt.Sprintf("taint.key == %q && taint.effect == %q", reschedulingv1alpha1.TaintClosed, corev1.TaintEffectNoSchedule)
	return fmt.Sprintf(
		"variables.taints.all(taint, %[1]s ||\n  taint in variables.oldTaints) &&\nvariables.oldTaints.all(taint, %[1]s ||\n"+
			"  taint in variables.taints)",
		own,
	)
}

// nodeAnnotations lists the annotations that the account writes on nodes.
func (a Account) nodeAnnotations() []string {
	if !a.Rescheduler {
		return []string{}
	}
	return []string{
		reschedulingv1alpha1.AnnotationClosedUntil, reschedulingv1alpha1.AnnotationCordoned, reschedulingv1alpha1.AnnotationEmptied,
		reschedulingv1alpha1.AnnotationEmptying,
		reschedulingv1alpha1.AnnotationRemovable, reschedulingv1alpha1.AnnotationRemovableSteps,
	}
}
