package servertest

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"

	"muster.dev/muster/api/config"
	"muster.dev/muster/api/config/v1alpha2"
	"muster.dev/muster/api/rescheduling/v1alpha1"
	"muster.dev/muster/cluster"
	"muster.dev/muster/gang"
	"muster.dev/muster/gang/record"
	"muster.dev/muster/placement/nomination"
	"muster.dev/muster/predicates"
	"muster.dev/muster/rescheduler/reservation"
)

// document scores nodes by resources alone, so that scores can be told by heart.
const document = `
apiVersion: ` + v1alpha2.APIVersion + `
kind: ` + v1alpha2.Kind + `
profiles:
  - schedulerName: default-scheduler
    plugins:
      score:
        enabled: [{name: NodeResourcesFit}, {name: NodeResourcesBalancedAllocation}]
        disabled: [{name: "*"}]
  - schedulerName: other
`

// LoadProfiles go by load alone: default-scheduler by LoadAware, requests by what is asked for.
const LoadProfiles = `
profiles:
  - schedulerName: default-scheduler
    plugins:
      filter:
        enabled: [{name: LoadAware}]
      score:
        enabled: [{name: LoadAware}]
        disabled: [{name: "*"}]
    pluginConfig:
      - name: LoadAware
        args: {resourceWeights: {cpu: 1}}
  - schedulerName: requests
    plugins:
      score:
        enabled: [{name: NodeResourcesFit}]
        disabled: [{name: "*"}]
`

// Config is a configuration of some profiles, or with "" of one that goes by resources alone and one that is
// called other. The first of them selects nodes as is said, if it is said.
func Config(t testing.TB, profiles string, selection config.NodeSelection) *config.Configuration {
	t.Helper()
	text := document
	if profiles != "" {
		text, _, _ = strings.Cut(document, "profiles:\n")
		text += profiles
	}
	cfg, err := v1alpha2.Decode([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if selection != "" {
		cfg.Profiles[0].NodeSelection = selection
	}
	return cfg
}

// Gangs is a Manager that plans gangs when it is asked, and never ahead. The Keeper may be nil.
func Gangs(c *cluster.Cluster, profiles *predicates.Profiles, reserved *reservation.Keeper) *gang.Manager {
	log, registry := slog.New(slog.DiscardHandler), prometheus.NewRegistry()
	o := gang.Options{
		Logger: log, Registerer: registry, Clock: clock.RealClock{}, Cluster: c, Profiles: profiles,
		Limits: gang.DefaultLimits(30*time.Second, 5*time.Second, time.Minute),
		Writer: nomination.NewWriter(log, registry, clock.RealClock{}, nomination.DefaultWriteLimits(500)),
		Epoch:  func() record.Epoch { return record.Epoch{} },
	}
	if o.Reservations = reserved; reserved == nil {
		o.Reservations = reservation.New(reservation.Options{Logger: log, Clock: clock.RealClock{}, Cluster: c, Profiles: profiles})
	}
	manager := gang.New(o)
	manager.Follow()
	return manager
}

// Small is a pod of 2 CPUs that a ReplicaSet has made.
func Small(name string) *corev1.Pod {
	pod := Pod(name, "2")
	pod.Labels = map[string]string{"app": "small"}
	pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "rs", UID: "rs", Controller: new(true)}}
	return pod
}

// Move is a plan by which a pod of Small moves from n1 to n2, so that another one has room on n1.
func Move(from, beneficiary *corev1.Pod, expires time.Time) *v1alpha1.ReschedulingPlan {
	copied := *from
	copied.Spec.NodeName = ""
	return &v1alpha1.ReschedulingPlan{
		ObjectMeta: metav1.ObjectMeta{Name: "p", UID: "plan"},
		Spec: v1alpha1.ReschedulingPlanSpec{
			Policy:  v1alpha1.MakeRoom,
			Mode:    v1alpha1.Auto,
			Expires: metav1.NewTime(expires),
			Beneficiaries: []v1alpha1.Beneficiary{
				{PodReference: v1alpha1.PodReference{Namespace: "default", Name: beneficiary.Name, UID: beneficiary.UID}, Node: "n1"},
			},
			Steps: []v1alpha1.Step{{
				Pod:        v1alpha1.PodReference{Namespace: "default", Name: from.Name, UID: from.UID},
				Controller: v1alpha1.Controller{Kind: "ReplicaSet", Name: "rs", UID: "rs"},
				From:       "n1",
				To:         "n2",
				Replacement: corev1.PodTemplateSpec{
					ObjectMeta: metav1.ObjectMeta{Labels: copied.Labels, OwnerReferences: copied.OwnerReferences},
					Spec:       copied.Spec,
				},
			}},
		},
	}
}
