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

	"muster.dev/muster/server/admission"
)

// policies tells whether the policies that gate pods are there, as this muster wants them.
func (l *look) policies() error {
	wanted, err := policies(admission.GatePolicies(l.members, l.pods, l.Config.Gangs.Kinds))
	for i, want := range wanted {
		l.policy(Check{
			Check: []string{"policy that gates members", "policy that gates pods of no group"}[i], Follows: "pods are gated when they are created",
		}, "nobody is gated yet", "muster gate-policy", want)
	}
	return err
}

// policy is a policy that changes pods, with its bindings.
type policy struct {
	*admissionregistrationv1.MutatingAdmissionPolicy
	bindings []*admissionregistrationv1.MutatingAdmissionPolicyBinding
}

// policies reads what a command of muster's prints.
func policies(printed string) (all []policy, err error) {
	for document := range strings.SplitSeq(printed, "\n---\n") {
		object, err := runtime.Decode(scheme.Codecs.UniversalDeserializer(), []byte(document))
		if err != nil {
			return nil, err
		}
		switch object := object.(type) {
		case *admissionregistrationv1.MutatingAdmissionPolicy:
			all = append(all, policy{MutatingAdmissionPolicy: object})
		case *admissionregistrationv1.MutatingAdmissionPolicyBinding:
			all[len(all)-1].bindings = append(all[len(all)-1].bindings, object)
		}
	}
	return all, nil
}

// usualName returns the name of policies that nobody has named: of an installation on the nodes of a control plane if only such one is
// there. Each installation has the policy that keeps records muster's own.
func (l *look) usualName() string {
	usual, isThere := l.Config.LeaderElection.ResourceName, func(name string) bool {
		_, err := l.Client.AdmissionregistrationV1().ValidatingAdmissionPolicies().Get(l.ctx, name+"-records", metav1.GetOptions{})
		return err == nil
	}
	if !isThere(usual) && isThere(admission.HostPolicyName) {
		return admission.HostPolicyName
	}
	return usual
}

// named returns the name here of an object that is printed for a muster of the usual name.
func (l *look) named(printed string) string {
	return l.Name + strings.TrimPrefix(printed, admission.PolicyName)
}

// policy tells whether a policy is there, in one of the forms that a command prints. Without says what is so while it is not.
func (l *look) policy(c Check, without, command string, forms ...policy) {
	name := l.named(forms[0].Name)
	c.State, c.Found = OK, name+" is current"
	registration := l.Client.AdmissionregistrationV1()
	got, err := registration.MutatingAdmissionPolicies().Get(l.ctx, name, metav1.GetOptions{})
	current := err == nil && slices.ContainsFunc(forms, func(want policy) bool { return samePolicy(&got.Spec, &want.Spec) })
	for _, want := range forms[0].bindings {
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
		c.Follows = without + ": install the chart, or " + command + " | kubectl apply --server-side -f -"
	case err != nil:
		c.State, c.Found, c.Follows = Unknown, err.Error(), "ask as somebody who may read policies"
	case !current:
		c.State, c.Required, c.Found = Missing, true, name+" differs from what "+command+" prints"
		c.Follows = "upgrade the chart, or apply what " + command + " prints"
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

// webhook tells whether the API server asks muster at some paths. Without says what is so while it does not.
func (l *look) webhook(c Check, without string, paths ...string) {
	c.State, c.Found = OK, l.Name+" is registered"
	got, err := l.Client.AdmissionregistrationV1().MutatingWebhookConfigurations().Get(l.ctx, l.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		c.State, c.Found, c.Follows = Missing, err.Error(), without+": install the chart, or register the webhook"
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
				c.Follows = without + ", until what has signed muster's certificate is there"
			}
		}
	}
	l.add(c)
}

// gatesByWebhook tells whether the API server asks muster for gates.
func (l *look) gatesByWebhook() {
	paths := []string{"/webhook/gates"}
	if len(l.pods) > 0 {
		paths = append(paths, "/webhook/ahead")
	}
	l.webhook(Check{Check: "webhook that gates pods", Follows: "pods are gated when they are created"}, "nobody is gated yet", paths...)
}

func calls(c *admissionregistrationv1.WebhookClientConfig, path string) bool {
	if c.Service != nil {
		return c.Service.Path != nil && *c.Service.Path == path
	}
	return c.URL != nil && strings.HasSuffix(*c.URL, path)
}
