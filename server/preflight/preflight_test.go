package preflight

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"
	fakediscovery "k8s.io/client-go/discovery/fake"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"muster.dev/muster/api/config"
	"muster.dev/muster/inspect"
	"muster.dev/muster/server/admission"
)

const someFeatures = `# TYPE kubernetes_feature_enabled gauge
kubernetes_feature_enabled{name="TaintTolerationComparisonOperators",stage="ALPHA"} 0
kubernetes_feature_enabled{name="DRANodeAllocatableResources",stage="ALPHA"} 0
kubernetes_feature_enabled{name="DynamicResourceAllocation",stage=""} 1
`

func metrics(text string) func(context.Context) (io.ReadCloser, error) {
	return func(context.Context) (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(text)), nil }
}

// report is about a cluster of a version, on which all is allowed but some resources.
func report(t *testing.T, served string, policies bool, refused []string, change func(*config.Configuration)) (*Report, string) {
	t.Helper()
	return run(t, options(served, policies, refused, change))
}

// options look at such a cluster, which has some objects.
func options(served string, policies bool, refused []string, change func(*config.Configuration), objects ...runtime.Object) Options {
	client := fake.NewClientset(objects...)
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
	cfg.Profiles[0].NodeSelection, cfg.Profiles[0].Gates = config.NodeSelectionMuster, config.GatesUntilPlace
	change(cfg)
	return Options{Client: client, Config: cfg, Name: "muster", Metrics: metrics(someFeatures)}
}

func run(t *testing.T, o Options) (*Report, string) {
	t.Helper()
	r, err := Run(t.Context(), o)
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
		"all that it needs": {"v1.36.3", true, nil, func(*config.Configuration) {}, true, "OK yes MutatingAdmissionPolicy"},
		"a suffix of a provider": {
			"v1.36.2-gke.1353000", true, nil, func(*config.Configuration) {}, true, "OK yes Kubernetes 1.30.0 v1.36.2-gke.1353000",
		},
		"an old version": {"v1.29.9", true, nil, func(*config.Configuration) {}, false, "MISSING yes Kubernetes 1.30.0 v1.29.9"},
		"no policies":    {"v1.33.1", false, nil, func(*config.Configuration) {}, false, "MISSING yes MutatingAdmissionPolicy"},
		"no policies, and a webhook": {
			"v1.33.1", false, nil, func(c *config.Configuration) { c.Serving.WebhookListen = ":8886" }, true,
			"MISSING no MutatingAdmissionPolicy",
		},
		"a right that it needs": {
			"v1.36.3", true,
			[]string{"patch pods"},
			func(*config.Configuration) {}, false,
			"MISSING yes right to patch pods not allowed: patch",
		},
		"a right that it can do without": {
			"v1.36.3", true, []string{"delete pods"}, func(*config.Configuration) {}, true, "MISSING no right to delete pods not allowed: delete",
		},
		"the owners of pods": {
			"v1.36.3", true,
			[]string{"watch jobsets"},
			func(*config.Configuration) {}, true,
			"MISSING no right to list, watch jobsets.jobset.x-k8s.io not allowed: watch pods of JobSet start one by one",
		},
		"owners of a kind that is off": {
			"v1.36.3", true, []string{"watch jobsets"}, func(c *config.Configuration) { c.Gangs.Kinds = nil }, true, "OK yes rights",
		},
		"Jobs, which stand between": {
			"v1.36.3", true,
			[]string{"list jobs"},
			func(c *config.Configuration) { c.Gangs.Kinds = []config.GangKind{config.GangKindJobSet} },
			true, "MISSING no right to list, watch jobs.batch not allowed: list pods of Jobs, and of what makes Jobs, start one by one",
		},
		"groups of Kubernetes' own": {
			"v1.36.3", true,
			[]string{"list podgroups"},
			func(c *config.Configuration) {
				c.Gangs.Kinds = []config.GangKind{config.GangKindKubernetesPodGroup}
			},
			false, "MISSING no right to list, watch podgroups.scheduling.k8s.io not allowed: list pods of KubernetesPodGroup are left",
		},
		"a right that other profiles may need": {
			"v1.36.3", true, []string{"create pods"}, func(c *config.Configuration) {
				c.Profiles = append(c.Profiles, c.Profiles[0])
				c.Profiles[1].SchedulerName, c.Profiles[1].Gates = "other", config.GatesNever
			}, true, "MISSING no right to create pods/binding not allowed: create",
		},
		"a right that all profiles need": {
			"v1.36.3", true,
			[]string{"create pods"},
			func(c *config.Configuration) { c.Profiles[0].Gates = config.GatesNever },
			false, "MISSING yes right to create pods/binding not allowed: create",
		},
		"no profile that places gated pods": {
			"v1.36.3", true, nil, func(c *config.Configuration) { c.Profiles[0].Gates = config.GatesNever }, true,
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

func TestALeaseThatMustNotBeReadIsToldFromOneThatCouldNotBe(t *testing.T) {
	for name, test := range map[string]struct {
		err  error
		want State
		says string
	}{
		"forbidden":   {apierrors.NewForbidden(schema.GroupResource{Resource: "leases"}, "kube-scheduler", nil), Missing, "must not be read: "},
		"unreachable": {errors.New("connection refused"), Unknown, "could not be read: connection refused"},
		"overloaded":  {apierrors.NewTooManyRequestsError("busy"), Unknown, "could not be read: "},
	} {
		t.Run(name, func(t *testing.T) {
			client := fake.NewClientset()
			client.PrependReactor("list", "leases", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, test.err })
			cfg := config.Default()
			cfg.Profiles[0].NodeSelection, cfg.Profiles[0].Gates = config.NodeSelectionMuster, config.GatesUntilPlace
			l := &look{Options: Options{Client: client, Config: cfg}, ctx: t.Context(), report: &Report{}, pods: []string{"default-scheduler"}}
			l.scheduler()
			if c := l.report.Checks[0]; c.State != test.want || !strings.HasPrefix(c.Found, test.says) {
				t.Errorf("%s: %s, want %s: %s", c.State, c.Found, test.want, test.says)
			}
		})
	}
}

func TestAPolicyIsCurrentThatDiffersInDefaultsAlone(t *testing.T) {
	type spec = admissionregistrationv1.MutatingAdmissionPolicySpec
	labelled := &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}
	for name, test := range map[string]struct {
		change func(*spec)
		same   bool
	}{
		"nothing": {func(*spec) {}, true},
		"defaults": {func(s *spec) {
			s.MatchConstraints.NamespaceSelector, s.MatchConstraints.ObjectSelector = &metav1.LabelSelector{}, &metav1.LabelSelector{}
			s.MatchConstraints.MatchPolicy = new(admissionregistrationv1.Equivalent)
		}, true},
		"who is refused when it fails": {func(s *spec) { s.FailurePolicy = new(admissionregistrationv1.Fail) }, false},
		"the failure policy left out":  {func(s *spec) { s.FailurePolicy = nil }, false},
		"whether it is called again":   {func(s *spec) { s.ReinvocationPolicy = admissionregistrationv1.NeverReinvocationPolicy }, false},
		"namespaces":                   {func(s *spec) { s.MatchConstraints.NamespaceSelector = labelled }, false},
		"objects":                      {func(s *spec) { s.MatchConstraints.ObjectSelector = labelled }, false},
		"how versions match":           {func(s *spec) { s.MatchConstraints.MatchPolicy = new(admissionregistrationv1.Exact) }, false},
		"what is left out":             {func(s *spec) { s.MatchConstraints.ExcludeResourceRules = s.MatchConstraints.ResourceRules }, false},
		"operations":                   {func(s *spec) { s.MatchConstraints.ResourceRules[0].Operations = nil }, false},
		"conditions":                   {func(s *spec) { s.MatchConditions = s.MatchConditions[1:] }, false},
		"no constraints":               {func(s *spec) { s.MatchConstraints = nil }, false},
		"parameters":                   {func(s *spec) { s.ParamKind = &admissionregistrationv1.ParamKind{Kind: "ConfigMap"} }, false},
	} {
		t.Run(name, func(t *testing.T) {
			all, err := policies(admission.GatePolicies([]string{"default-scheduler"}, nil, config.GangKinds()))
			if err != nil {
				t.Fatal(err)
			}
			want := all[0]
			got := want.DeepCopy()
			test.change(&got.Spec)
			if same := samePolicy(&got.Spec, &want.Spec); same != test.same {
				t.Errorf("the same: %t", same)
			}
		})
	}
}

func TestTheFileOfKubeSchedulerIsComparedWithTheProfiles(t *testing.T) {
	const stock = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
	packs := func(c *config.Configuration) {
		c.Profiles[0].NodeSelection = config.NodeSelectionScheduler
		c.Profiles[0].NodeResourcesFitArgs().ScoringStrategy.Type = config.MostAllocated
	}
	for name, test := range map[string]struct {
		change func(*config.Configuration)
		file   string
		passes bool
		says   []string
	}{
		"no file": {packs, "", true, []string{"UNKNOWN no extender the API does not tell"}},
		"as the profiles ask": {
			func(*config.Configuration) {}, stock + "extenders: [{urlPrefix: http://m, filterVerb: filter}]", true,
			[]string{"OK yes extender"},
		},
		"as they do not": {packs, stock, false, []string{
			"MISSING yes extender profiles[0].pluginConfig: NodeResourcesFit has other arguments",
			"MISSING yes extender extenders: none has a filterVerb: muster is not asked",
		}},
		"no file of kube-scheduler's": {packs, "kind: Pod", false, []string{"MISSING yes extender", "mend the file"}},
	} {
		t.Run(name, func(t *testing.T) {
			o := options("v1.36.3", true, nil, test.change)
			o.Scheduler = []byte(test.file)
			r, text := run(t, o)
			said := strings.Join(strings.Fields(text), " ")
			for _, says := range test.says {
				if !strings.Contains(said, says) {
					t.Errorf("it does not say %q:\n%s", says, text)
				}
			}
			if r.Passes() != test.passes {
				t.Errorf("passes: %t, want %t:\n%s", r.Passes(), test.passes, text)
			}
		})
	}
}

func TestPoliciesAreLookedForByTheNameOfTheirInstallation(t *testing.T) {
	records := func(name string) runtime.Object {
		return &admissionregistrationv1.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: name + "-records"}}
	}
	for name, test := range map[string]struct {
		there []runtime.Object
		given string
		want  string
	}{
		"of none":                    {want: "muster"},
		"of the chart":               {there: []runtime.Object{records("muster")}, want: "muster"},
		"of muster install on nodes": {there: []runtime.Object{records("muster-host")}, want: "muster-host"},
		"of both":                    {there: []runtime.Object{records("muster-host"), records("muster")}, want: "muster"},
		"of muster install, and another is asked about": {there: []runtime.Object{records("muster-host")}, given: "theirs", want: "theirs"},
	} {
		t.Run(name, func(t *testing.T) {
			o := options("v1.37.0", true, nil, func(*config.Configuration) {}, test.there...)
			o.Name = test.given
			_, text := run(t, o)
			if want := fmt.Sprintf("%q not found", test.want); !strings.Contains(text, want) {
				t.Errorf("it has not %s:\n%s", want, text)
			}
		})
	}
}
