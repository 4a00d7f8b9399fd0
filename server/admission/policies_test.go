package admission

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"muster.dev/muster/api/config"
	reschedulingv1alpha1 "muster.dev/muster/api/rescheduling/v1alpha1"
	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/gang/operators/kinds"
	"muster.dev/muster/gang/record"
	"muster.dev/muster/placement/nomination"
	"muster.dev/muster/rescheduler/scaleup"
)

// Templates cannot name constants.
func TestPoliciesSayWhatTheProgramSays(t *testing.T) {
	some := []string{"default-scheduler"}
	gates, managed := GatePolicies(some, some, config.GangKinds()), ManagedPolicy(some)
	records, whole := RecordPolicy("muster-records"), SchedulerPolicy(claiming(config.GangKindJobSet), true)
	muster := Account{Name: "m", Muster: true}.Policy()
	rescheduler := Account{Name: "r", Rescheduler: true}.Policy()
	says := func(policy, text string) {
		t.Helper()
		if !strings.Contains(policy, text) {
			t.Errorf("nothing says %s in\n%s", text, policy)
		}
	}
	for _, label := range v1alpha1.GroupLabels() {
		for _, policy := range []string{gates, whole} {
			says(policy, fmt.Sprintf("%q", label))
		}
		says(managed, fmt.Sprintf("{key: %s, operator: Exists}", label))
		if group := v1alpha1.APIGroupOf(label); group != "" {
			says(muster, fmt.Sprintf("{apiGroups: [%s]", group))
			says(records, fmt.Sprintf("{apiGroups: [%s]", group))
		}
	}
	for _, kind := range config.GangKinds() {
		of := GatePolicies(some, nil, []config.GangKind{kind})
		signs := kinds.Set([]config.GangKind{kind}).Signs()
		for _, owner := range signs.Owners {
			says(of, fmt.Sprintf("%q", owner.Group+"/"+owner.Kind))
		}
		for _, mark := range slices.Concat(signs.Labels, signs.Annotations) {
			says(of, fmt.Sprintf("%q", mark))
		}
	}
	for _, name := range ownNames() {
		says(whole, fmt.Sprintf("%q", name))
	}
	says(whole, fmt.Sprintf("%q", labelName))
	for _, gate := range []string{v1alpha1.SchedulingGate, v1alpha1.AheadGate} {
		says(gates, fmt.Sprintf("{name: %q}", gate))
		says(gates, fmt.Sprintf("gate.name == %q", gate))
		says(muster, fmt.Sprintf("gate.name != %q", gate))
	}
	for _, class := range systemClasses() {
		says(gates, fmt.Sprintf("%q", class))
		says(whole, fmt.Sprintf("%q", class))
	}
	says(gates, fmt.Sprintf("owner.kind == %q", kindDaemonSet))
	says(gates, v1alpha1.LabelAhead+`: "true"`)
	says(gates, fmt.Sprintf("%q", v1alpha1.AnnotationKoordinatorName))
	says(managed, v1alpha1.LabelManaged+`: "true"`)
	says(managed, fmt.Sprintf(`requests: {%q: "1", %q: "1"}`, v1alpha1.ResourceManaged, v1alpha1.ResourceBound))
	says(whole, fmt.Sprintf("labels[%q]", v1alpha1.LabelScheduler))
	says(whole, fmt.Sprintf("{key: %s, operator: DoesNotExist}", v1alpha1.LabelScheduler))
	says(whole, fmt.Sprintf("{name: %q}", v1alpha1.AheadGate))
	says(whole, fmt.Sprintf("schedulerName == %q", corev1.DefaultSchedulerName))
	says(records, fmt.Sprintf("%q", record.Annotation))
	says(muster, fmt.Sprintf("[%q]", record.Annotation))
	says(muster, fmt.Sprintf("[%q]", nomination.AnnotationWoken))
	says(muster, fmt.Sprintf("gate.name == %q", v1alpha1.PlaceholderGate))
	for _, annotation := range []string{
		reschedulingv1alpha1.AnnotationSeparateFrom, reschedulingv1alpha1.AnnotationSeparateWhy, reschedulingv1alpha1.AnnotationClosedUntil,
		reschedulingv1alpha1.AnnotationCordoned, reschedulingv1alpha1.AnnotationEmptied, reschedulingv1alpha1.AnnotationEmptying,
		reschedulingv1alpha1.AnnotationRemovable, reschedulingv1alpha1.AnnotationRemovableSteps,
		string(scaleup.ConditionRearrangingHelps), scaleup.LabelRequest, reschedulingv1alpha1.TaintClosed,
	} {
		says(rescheduler, fmt.Sprintf("%q", annotation))
	}
}

// claiming returns a configuration with a profile that is the default for a kind.
func claiming(kind config.GangKind) *config.Configuration {
	cfg := config.Default()
	cfg.Gangs.Kinds = config.GangKinds()
	p := &cfg.Profiles[0]
	p.SchedulerName, p.DefaultFor = "batch", []config.GangKind{kind}
	p.NodeSelection, p.Gates, p.Shortlist = config.NodeSelectionMuster, config.GatesUntilPlace, nil
	return cfg
}

// A profile may be the default for the kinds that the policies know pods by, and for no other.
func TestAProfileIsTheDefaultForKindsThatPodsShow(t *testing.T) {
	for _, kind := range config.GangKinds() {
		cfg := claiming(kind)
		shown := policy("shows", map[string]any{"kinds": []config.GangKind{kind}}) != "\n"
		if errs := cfg.Validate(); shown != (len(errs) == 0) {
			t.Errorf("pods show %s: %t, and a profile that is the default for it has the errors %v", kind, shown, errs)
		}
	}
}
