package preflight

import (
	"errors"
	"strings"
	"testing"

	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	fakediscovery "k8s.io/client-go/discovery/fake"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"muster.dev/muster/api/config"
)

func TestWhoStartsKubernetesOwnGroupsIsTold(t *testing.T) {
	group := func(name string, conditions ...string) runtime.Object {
		g := &schedulingv1beta1.PodGroup{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "team"}}
		for _, condition := range conditions {
			g.Status.Conditions = append(g.Status.Conditions, metav1.Condition{Type: condition, Status: metav1.ConditionFalse})
		}
		return g
	}
	tried := group("tried", schedulingv1beta1.DisruptionTarget, schedulingv1beta1.PodGroupInitiallyScheduled)
	for name, test := range map[string]struct {
		unserved, forbidden, serves bool
		groups                      []runtime.Object
		state                       State // "" for no check
		found, follows              string
	}{
		"the cluster has none":  {unserved: true, serves: true},
		"they must not be read": {forbidden: true, state: Unknown, found: "forbidden", follows: "not known"},
		"there are none yet":    {state: OK, found: "0 of 0"},
		"they are for muster": {
			serves: true, groups: []runtime.Object{group("a"), group("b")}, state: OK, found: "0 of 2", follows: "muster starts them",
		},
		"kube-scheduler starts them, and muster helps": {
			serves: true, groups: []runtime.Object{group("a"), tried}, state: OK, found: "1 of 2", follows: "at the places that muster shows",
		},
		"they are for kube-scheduler": {
			groups: []runtime.Object{group("a"), tried}, state: OK, found: "1 of 2", follows: "kube-scheduler starts them whole by itself",
		},
		"nobody seems to start them": {
			groups: []runtime.Object{group("a", schedulingv1beta1.DisruptionTarget)},
			state:  Unknown, found: "0 of 1", follows: "add KubernetesPodGroup",
		},
	} {
		t.Run(name, func(t *testing.T) {
			client := fake.NewClientset(test.groups...)
			if !test.unserved {
				client.Discovery().(*fakediscovery.FakeDiscovery).Resources = []*metav1.APIResourceList{{
					GroupVersion: "scheduling.k8s.io/v1beta1", APIResources: []metav1.APIResource{{Name: "podgroups"}},
				}}
			}
			client.PrependReactor("list", "podgroups", func(clienttesting.Action) (bool, runtime.Object, error) {
				return test.forbidden, nil, apierrors.NewForbidden(schedulingv1beta1.Resource("podgroups"), "", errors.New("no"))
			})
			cfg := config.Default()
			if !test.serves {
				cfg.Gangs.Kinds = nil
			}
			l := &look{Options: Options{Client: client, Config: cfg}, ctx: t.Context(), report: &Report{}}
			l.nativeGroups()
			var c Check
			if len(l.report.Checks) > 0 {
				c = l.report.Checks[0]
			}
			if c.State != test.state || !strings.Contains(c.Found, test.found) || !strings.Contains(c.Follows, test.follows) || c.Required {
				t.Errorf("the check is %+v", c)
			}
		})
	}
}
