package preflight

import (
	"cmp"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/ptr"

	"muster.dev/muster/api/config"
	"muster.dev/muster/server/admission"
)

// policies tells whether the policies that gate pods are there, as this muster wants them.
func (l *look) policies() error {
	wanted, err := gatePolicies(l.members, l.pods, l.Config.Gangs.Kinds)
	for i, policy := range wanted {
		l.policy([]string{"policy that gates members", "policy that gates pods of no group"}[i], policy)
	}
	return err
}

// gatePolicy is a policy that gates pods, with its bindings.
type gatePolicy struct {
	*admissionregistrationv1.MutatingAdmissionPolicy
	bindings []*admissionregistrationv1.MutatingAdmissionPolicyBinding
}

// gatePolicies reads what 'muster gate-policy' prints.
func gatePolicies(ofMembers, ofPods []string, kinds []config.GangKind) (all []gatePolicy, err error) {
	for document := range strings.SplitSeq(admission.GatePolicies(ofMembers, ofPods, kinds), "\n---\n") {
		object, err := runtime.Decode(scheme.Codecs.UniversalDeserializer(), []byte(document))
		if err != nil {
			return nil, err
		}
		switch object := object.(type) {
		case *admissionregistrationv1.MutatingAdmissionPolicy:
			all = append(all, gatePolicy{MutatingAdmissionPolicy: object})
		case *admissionregistrationv1.MutatingAdmissionPolicyBinding:
			all[len(all)-1].bindings = append(all[len(all)-1].bindings, object)
		}
	}
	return all, nil
}

// named returns the name here of an object that is printed for a muster of the usual name.
func (l *look) named(printed string) string {
	return l.Name + strings.TrimPrefix(printed, admission.PolicyName)
}

func (l *look) policy(what string, want gatePolicy) {
	c := Check{Check: what, State: OK, Found: l.named(want.Name) + " is current", Follows: "pods are gated when they are created"}
	registration := l.Client.AdmissionregistrationV1()
	got, err := registration.MutatingAdmissionPolicies().Get(l.ctx, l.named(want.Name), metav1.GetOptions{})
	current := err == nil && samePolicy(&got.Spec, &want.Spec)
	for _, want := range want.bindings {
		if err != nil {
			break
		}
		var got *admissionregistrationv1.MutatingAdmissionPolicyBinding
		if got, err = registration.MutatingAdmissionPolicyBindings().Get(l.ctx, l.named(want.Name), metav1.GetOptions{}); err == nil {
			current = current && got.Spec.PolicyName == l.named(want.Spec.PolicyName) &&
				sameMatches(got.Spec.MatchResources, want.Spec.MatchResources)
		}
	}
	switch {
	case apierrors.IsNotFound(err):
		c.State, c.Found = Missing, err.Error()
		c.Follows = "nobody is gated yet: install the chart, or muster gate-policy | kubectl apply --server-side -f -"
	case err != nil:
		c.State, c.Found, c.Follows = Unknown, err.Error(), "ask as somebody who may read policies"
	case !current:
		c.State, c.Required, c.Found = Missing, true, l.named(want.Name)+" differs from what muster gate-policy prints"
		c.Follows = "upgrade the chart, or apply what muster gate-policy prints"
	}
	l.add(c)
}

// samePolicy compares policies, ignoring defaults of the API server.
func samePolicy(got, want *admissionregistrationv1.MutatingAdmissionPolicySpec) bool {
	return equality.Semantic.DeepEqual(got.MatchConditions, want.MatchConditions) &&
		equality.Semantic.DeepEqual(got.Mutations, want.Mutations) && equality.Semantic.DeepEqual(got.Variables, want.Variables) &&
		equality.Semantic.DeepEqual(got.ParamKind, want.ParamKind) &&
		ptr.Deref(got.FailurePolicy, admissionregistrationv1.Fail) == ptr.Deref(want.FailurePolicy, admissionregistrationv1.Fail) &&
		orNever(got.ReinvocationPolicy) == orNever(want.ReinvocationPolicy) && sameMatches(got.MatchConstraints, want.MatchConstraints)
}

func orNever(p admissionregistrationv1.ReinvocationPolicyType) admissionregistrationv1.ReinvocationPolicyType {
	return cmp.Or(p, admissionregistrationv1.NeverReinvocationPolicy)
}

// sameMatches compares what requests are selected, with the defaults of the API server.
func sameMatches(got, want *admissionregistrationv1.MatchResources) bool {
	return equality.Semantic.DeepEqual(withDefaults(got), withDefaults(want))
}

// withDefaults is a copy in which nothing is left out that has a default.
func withDefaults(m *admissionregistrationv1.MatchResources) *admissionregistrationv1.MatchResources {
	if m = m.DeepCopy(); m == nil {
		m = &admissionregistrationv1.MatchResources{}
	}
	for _, s := range []**metav1.LabelSelector{&m.NamespaceSelector, &m.ObjectSelector} {
		if *s == nil {
			*s = &metav1.LabelSelector{}
		}
	}
	if m.MatchPolicy == nil {
		m.MatchPolicy = new(admissionregistrationv1.Equivalent)
	}
	for _, rules := range [][]admissionregistrationv1.NamedRuleWithOperations{m.ResourceRules, m.ExcludeResourceRules} {
		for i := range rules {
			if rules[i].Scope == nil {
				rules[i].Scope = new(admissionregistrationv1.AllScopes)
			}
		}
	}
	return m
}

// webhook tells whether the API server asks muster for gates.
func (l *look) webhook() {
	c := Check{Check: "webhook that gates pods", State: OK, Found: l.Name + " is registered", Follows: "pods are gated when they are created"}
	paths := []string{"/webhook/gates"}
	if len(l.pods) > 0 {
		paths = append(paths, "/webhook/ahead")
	}
	got, err := l.Client.AdmissionregistrationV1().MutatingWebhookConfigurations().Get(l.ctx, l.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		c.State, c.Found, c.Follows = Missing, err.Error(), "nobody is gated yet: install the chart, or register the webhook"
	case err != nil:
		c.State, c.Found, c.Follows = Unknown, err.Error(), "ask as somebody who may read webhook configurations"
	default:
		for _, path := range paths {
			if !slices.ContainsFunc(got.Webhooks, func(w admissionregistrationv1.MutatingWebhook) bool { return calls(&w.ClientConfig, path) }) {
				c.State, c.Required, c.Found, c.Follows = Missing, true, l.Name+" does not ask at "+path, "upgrade the chart"
			}
		}
		for i := range got.Webhooks {
			if len(got.Webhooks[i].ClientConfig.CABundle) == 0 {
				c.State, c.Required, c.Found = Missing, true, got.Webhooks[i].Name+" has no caBundle"
				c.Follows = "nobody is gated, until what has signed muster's certificate is there"
			}
		}
	}
	l.add(c)
}

func calls(c *admissionregistrationv1.WebhookClientConfig, path string) bool {
	if c.Service != nil {
		return c.Service.Path != nil && *c.Service.Path == path
	}
	return c.URL != nil && strings.HasSuffix(*c.URL, path)
}
