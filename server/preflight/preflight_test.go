package preflight

import (
	"bytes"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/version"
	fakediscovery "k8s.io/client-go/discovery/fake"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"muster.dev/muster/api/config"
	"muster.dev/muster/inspect"
)

// look is a report on a cluster of a version, on which all is allowed but some resources.
func report(t *testing.T, served string, policies bool, refused []string, change func(*config.Configuration)) (*Report, string) {
	t.Helper()
	client := fake.NewClientset()
	discovery := client.Discovery().(*fakediscovery.FakeDiscovery)
	discovery.FakedServerVersion = &version.Info{GitVersion: served}
	resources := []metav1.APIResource{{Name: "validatingadmissionpolicies"}}
	if policies {
		resources = append(resources, metav1.APIResource{Name: "mutatingadmissionpolicies"})
	}
	discovery.Resources = []*metav1.APIResourceList{{GroupVersion: "admissionregistration.k8s.io/v1", APIResources: resources}}
	client.PrependReactor("create", "selfsubjectaccessreviews", func(action clienttesting.Action) (bool, runtime.Object, error) {
		review := action.(clienttesting.CreateAction).GetObject().(*authorizationv1.SelfSubjectAccessReview)
		asked := review.Spec.ResourceAttributes
		review.Status.Allowed = true
		for _, resource := range refused {
			if asked.Verb+" "+asked.Resource == resource {
				review.Status.Allowed = false
			}
		}
		return true, review, nil
	})
	cfg := config.Default()
	cfg.Profiles[0].NodeSelection = config.NodeSelectionAhead
	change(cfg)
	r, err := Run(t.Context(), Options{Client: client, Config: cfg, Name: "muster"})
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	if err := inspect.Print(&text, r, inspect.Text); err != nil {
		t.Fatal(err)
	}
	return r, text.String()
}

func TestWhatAClusterAllowsDecidesWhetherMusterWorksThere(t *testing.T) {
	for name, test := range map[string]struct {
		version  string
		policies bool
		refused  []string
		change   func(*config.Configuration)
		passes   bool
		says     string // with one space between cells
	}{
		"all that it needs":      {"v1.36.3", true, nil, func(*config.Configuration) {}, true, "OK yes MutatingAdmissionPolicy"},
		"a suffix of a provider": {"v1.36.2-gke.1353000", true, nil, func(*config.Configuration) {}, true, "OK yes Kubernetes 1.30.0 v1.36.2-gke.1353000"},
		"an old version":         {"v1.29.9", true, nil, func(*config.Configuration) {}, false, "MISSING yes Kubernetes 1.30.0 v1.29.9"},
		"no policies":            {"v1.33.1", false, nil, func(*config.Configuration) {}, false, "MISSING yes MutatingAdmissionPolicy"},
		"no policies, and a webhook": {
			"v1.33.1", false, nil, func(c *config.Configuration) { c.Gangs.GatedBy = config.GatedByWebhook }, true, "MISSING no MutatingAdmissionPolicy",
		},
		"a right that it needs": {
			"v1.36.3", true, []string{"patch pods"}, func(*config.Configuration) {}, false,
			"MISSING yes right to patch pods not allowed: patch",
		},
		"a right that it can do without": {
			"v1.36.3", true, []string{"delete pods"}, func(*config.Configuration) {}, true, "MISSING no right to delete pods not allowed: delete",
		},
		"places by affinity": {
			"v1.36.3", true, nil, func(c *config.Configuration) { c.Ahead.Reserve = config.ReserveByPin }, true,
			"holds pods to nodes by their affinity and lifts the gates after 250ms",
		},
		"no profile of Ahead": {
			"v1.36.3", true, nil, func(c *config.Configuration) { c.Profiles[0].NodeSelection = config.NodeSelectionExtender }, true,
			"need it: see 'muster scheduler-config'",
		},
	} {
		t.Run(name, func(t *testing.T) {
			r, text := report(t, test.version, test.policies, test.refused, test.change)
			if r.Passes() != test.passes || !strings.Contains(strings.Join(strings.Fields(text), " "), test.says) {
				t.Errorf("passes: %t, want %t and that it says %q:\n%s", r.Passes(), test.passes, test.says, text)
			}
		})
	}
}
