package cluster

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
	"unique"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"
	"pgregory.net/rapid"

	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/api/seeded"
)

func trimmed[T runtime.Object](t testing.TB, object T) T {
	t.Helper()
	result, err := Trim(object.DeepCopyObject())
	if err != nil {
		t.Fatal(err)
	}
	return result.(T)
}

// Every field is named, so that a new one in the API fails this test until
// somebody has decided whether muster reads it.
func TestTrimDecidesAboutEveryField(t *testing.T) {
	tests := []struct {
		name          string
		object        func() (object runtime.Object, part any)
		kept, dropped string
	}{
		{
			name:    "pod metadata",
			object:  func() (runtime.Object, any) { p := &corev1.Pod{}; return p, &p.ObjectMeta },
			kept:    "Name Namespace UID ResourceVersion CreationTimestamp DeletionTimestamp Labels Annotations OwnerReferences",
			dropped: "GenerateName SelfLink Generation DeletionGracePeriodSeconds Finalizers ManagedFields",
		},
		{
			name:   "pod spec",
			object: func() (runtime.Object, any) { p := &corev1.Pod{}; return p, &p.Spec },
			kept: "InitContainers Containers TerminationGracePeriodSeconds ActiveDeadlineSeconds NodeSelector NodeName HostNetwork HostUsers " +
				"Affinity SchedulerName Tolerations PriorityClassName Priority PreemptionPolicy Overhead TopologySpreadConstraints SchedulingGates " +
				"ResourceClaims Resources SchedulingGroup",
			dropped: "Volumes EphemeralContainers RestartPolicy DNSPolicy ServiceAccountName DeprecatedServiceAccount " +
				"AutomountServiceAccountToken HostPID HostIPC ShareProcessNamespace SecurityContext ImagePullSecrets Hostname Subdomain HostAliases " +
				"DNSConfig ReadinessGates RuntimeClassName EnableServiceLinks SetHostnameAsFQDN OS HostnameOverride " +
				"EvictionResponders",
		},
		{
			name: "container",
			object: func() (runtime.Object, any) {
				p := &corev1.Pod{Spec: corev1.PodSpec{Containers: make([]corev1.Container, 1)}}
				return p, &p.Spec.Containers[0]
			},
			kept: "Name Image Ports Resources ResizePolicy RestartPolicy RestartPolicyRules",
			dropped: "Command Args WorkingDir EnvFrom Env VolumeMounts VolumeDevices LivenessProbe ReadinessProbe StartupProbe " +
				"Lifecycle TerminationMessagePath TerminationMessagePolicy ImagePullPolicy SecurityContext Stdin StdinOnce TTY",
		},
		{
			name:   "pod status",
			object: func() (runtime.Object, any) { p := &corev1.Pod{}; return p, &p.Status },
			kept:   "Phase Conditions NominatedNodeName StartTime QOSClass AllocatedResources Resources ResourceClaimStatuses",
			dropped: "ObservedGeneration Message Reason HostIP HostIPs PodIP PodIPs InitContainerStatuses ContainerStatuses " +
				"EphemeralContainerStatuses " +
				"Resize ExtendedResourceClaimStatus NodeAllocatableResourceClaimStatuses VolumeHealth",
		},
		{
			name: "pod condition",
			object: func() (runtime.Object, any) {
				p := &corev1.Pod{Status: corev1.PodStatus{Conditions: make([]corev1.PodCondition, 1)}}
				return p, &p.Status.Conditions[0]
			},
			kept:    "Type Status LastTransitionTime Reason",
			dropped: "ObservedGeneration LastProbeTime Message",
		},
		{
			name:    "node spec",
			object:  func() (runtime.Object, any) { n := &corev1.Node{}; return n, &n.Spec },
			kept:    "ProviderID Unschedulable Taints",
			dropped: "PodCIDR PodCIDRs ConfigSource DoNotUseExternalID PodPreemptionPolicy",
		},
		{
			name:    "node status",
			object:  func() (runtime.Object, any) { n := &corev1.Node{}; return n, &n.Status },
			kept:    "Capacity Allocatable Conditions Images DeclaredFeatures",
			dropped: "Phase Addresses DaemonEndpoints NodeInfo VolumesInUse VolumesAttached Config RuntimeHandlers Features",
		},
		{
			name: "node condition",
			object: func() (runtime.Object, any) {
				n := &corev1.Node{Status: corev1.NodeStatus{Conditions: make([]corev1.NodeCondition, 1)}}
				return n, &n.Status.Conditions[0]
			},
			kept:    "Type Status LastTransitionTime Reason Message",
			dropped: "LastHeartbeatTime",
		},
		{
			name:   "service spec",
			object: func() (runtime.Object, any) { s := &corev1.Service{}; return s, &s.Spec },
			kept:   "Selector",
			dropped: "Ports ClusterIP ClusterIPs Type ExternalIPs SessionAffinity LoadBalancerIP LoadBalancerSourceRanges ExternalName " +
				"ExternalTrafficPolicy HealthCheckNodePort PublishNotReadyAddresses SessionAffinityConfig IPFamilies IPFamilyPolicy " +
				"AllocateLoadBalancerNodePorts LoadBalancerClass InternalTrafficPolicy TrafficDistribution",
		},
		{
			name:   "service metadata",
			object: func() (runtime.Object, any) { s := &corev1.Service{}; return s, &s.ObjectMeta },
			kept:   "Name Namespace UID ResourceVersion",
			dropped: "GenerateName SelfLink Generation CreationTimestamp DeletionTimestamp DeletionGracePeriodSeconds Labels Annotations " +
				"OwnerReferences Finalizers ManagedFields",
		},
		{
			name:    "replication controller spec",
			object:  func() (runtime.Object, any) { c := &corev1.ReplicationController{}; return c, &c.Spec },
			kept:    "Selector Replicas",
			dropped: "MinReadySeconds Template",
		},
		{
			name:    "replica set spec",
			object:  func() (runtime.Object, any) { s := &appsv1.ReplicaSet{}; return s, &s.Spec },
			kept:    "Selector Replicas",
			dropped: "MinReadySeconds Template",
		},
		{
			name:   "stateful set spec",
			object: func() (runtime.Object, any) { s := &appsv1.StatefulSet{}; return s, &s.Spec },
			kept:   "Selector Replicas",
			dropped: "Template VolumeClaimTemplates ServiceName PodManagementPolicy UpdateStrategy RevisionHistoryLimit MinReadySeconds " +
				"PersistentVolumeClaimRetentionPolicy Ordinals",
		},
		{
			name:   "replica set metadata",
			object: func() (runtime.Object, any) { s := &appsv1.ReplicaSet{}; return s, &s.ObjectMeta },
			kept:   "Name Namespace UID ResourceVersion DeletionTimestamp",
			dropped: "GenerateName SelfLink Generation CreationTimestamp DeletionGracePeriodSeconds Labels Annotations " +
				"OwnerReferences Finalizers ManagedFields",
		},
		{
			name:   "job spec",
			object: func() (runtime.Object, any) { j := &batchv1.Job{}; return j, &j.Spec },
			kept:   "Parallelism Completions CompletionMode Suspend BackoffLimit BackoffLimitPerIndex PodFailurePolicy",
			dropped: "ActiveDeadlineSeconds SuccessPolicy MaxFailedIndexes Selector ManualSelector Template " +
				"TTLSecondsAfterFinished PodReplacementPolicy ManagedBy Scheduling",
		},
		{
			name:   "job status",
			object: func() (runtime.Object, any) { j := &batchv1.Job{}; return j, &j.Status },
			kept:   "Failed",
			dropped: "Conditions StartTime CompletionTime Active Succeeded Terminating CompletedIndexes FailedIndexes " +
				"UncountedTerminatedPods Ready",
		},
		{
			name:   "namespace metadata",
			object: func() (runtime.Object, any) { n := &corev1.Namespace{}; return n, &n.ObjectMeta },
			kept:   "Name Namespace UID ResourceVersion Labels",
			dropped: "GenerateName SelfLink Generation CreationTimestamp DeletionTimestamp DeletionGracePeriodSeconds Annotations " +
				"OwnerReferences Finalizers ManagedFields",
		},
		{
			name:    "persistent volume spec",
			object:  func() (runtime.Object, any) { v := &corev1.PersistentVolume{}; return v, &v.Spec },
			kept:    "Capacity PersistentVolumeSource AccessModes ClaimRef StorageClassName VolumeMode NodeAffinity VolumeAttributesClassName",
			dropped: "PersistentVolumeReclaimPolicy MountOptions",
		},
		{
			name:    "persistent volume status",
			object:  func() (runtime.Object, any) { v := &corev1.PersistentVolume{}; return v, &v.Status },
			kept:    "Phase",
			dropped: "Message Reason LastPhaseTransitionTime",
		},
		{
			name:   "persistent volume claim status",
			object: func() (runtime.Object, any) { c := &corev1.PersistentVolumeClaim{}; return c, &c.Status },
			kept:   "Phase",
			dropped: "AccessModes Capacity Conditions AllocatedResources AllocatedResourceStatuses CurrentVolumeAttributesClassName " +
				"ModifyVolumeStatus HealthStatus",
		},
		{
			name:    "source of a volume attachment",
			object:  func() (runtime.Object, any) { a := &storagev1.VolumeAttachment{}; return a, &a.Spec.Source },
			kept:    "PersistentVolumeName",
			dropped: "InlineVolumeSpec",
		},
		{
			name:    "volume attachment status",
			object:  func() (runtime.Object, any) { a := &storagev1.VolumeAttachment{}; return a, &a.Status },
			dropped: "Attached AttachmentMetadata AttachError DetachError",
		},
		{
			name:   "CSI driver",
			object: func() (runtime.Object, any) { d := &storagev1.CSIDriver{}; return d, &d.Spec },
			kept:   "PreventPodSchedulingIfMissing",
			dropped: "AttachRequired PodInfoOnMount VolumeLifecycleModes StorageCapacity FSGroupPolicy TokenRequests RequiresRepublish " +
				"SELinuxMount NodeAllocatableUpdatePeriodSeconds ServiceAccountTokenInSecrets",
		},
		{
			name: "volume",
			object: func() (runtime.Object, any) {
				p := &corev1.Pod{Spec: corev1.PodSpec{Volumes: make([]corev1.Volume, 1)}}
				return p, &p.Spec.Volumes[0].VolumeSource
			},
			kept: "HostPath EmptyDir GCEPersistentDisk AWSElasticBlockStore ISCSI PersistentVolumeClaim RBD Cinder VsphereVolume AzureDisk " +
				"PortworxVolume CSI Ephemeral Image",
			dropped: "GitRepo Secret NFS Glusterfs FlexVolume CephFS Flocker DownwardAPI FC AzureFile ConfigMap Quobyte PhotonPersistentDisk " +
				"Projected ScaleIO StorageOS",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			kept, dropped := map[string]bool{}, map[string]bool{}
			_, part := test.object()
			for i := range reflect.TypeOf(part).Elem().NumField() {
				object, part := test.object()
				field := reflect.ValueOf(part).Elem().Field(i)
				name := reflect.TypeOf(part).Elem().Field(i).Name
				fillField(field)
				want := fmt.Sprint(field.Interface())
				if _, err := Trim(object); err != nil {
					t.Fatal(err)
				}
				// A volume that is dropped leaves its list, and the old element as it was.
				if p, ok := object.(*corev1.Pod); ok && test.name == "volume" {
					if len(p.Spec.Volumes) == 0 {
						dropped[name] = true
						continue
					}
					field = reflect.ValueOf(p.Spec.Volumes[0].VolumeSource).Field(i)
				}
				switch {
				case field.IsZero():
					dropped[name] = true
				case fmt.Sprint(field.Interface()) == want:
					kept[name] = true
				default:
					t.Errorf("%s was changed from %s to %v", name, want, field.Interface())
				}
			}
			if diff := cmp.Diff(slices.Sorted(slices.Values(strings.Fields(test.kept))), slices.Sorted(maps.Keys(kept))); diff != "" {
				t.Errorf("kept fields (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(slices.Sorted(slices.Values(strings.Fields(test.dropped))), slices.Sorted(maps.Keys(dropped))); diff != "" {
				t.Errorf("dropped fields (-want +got):\n%s", diff)
			}
		})
	}
}

// fillField gives a field some value that is not zero.
func fillField(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString("x")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int32, reflect.Int64:
		v.SetInt(7)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem())
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[metav1.Time]() {
			v.Set(reflect.ValueOf(metav1.Unix(7, 0)))
			return
		}
		for _, field := range v.Fields() {
			fillField(field)
		}
	default:
		panic("no value for a " + v.Type().String())
	}
}

func TestTrimDropsManagedFieldsAndTheLastAppliedConfiguration(t *testing.T) {
	noted := metav1.ObjectMeta{
		Name:          "x",
		Annotations:   map[string]string{corev1.LastAppliedConfigAnnotation: "{}", "keep": "me"},
		ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubectl"}},
	}
	custom, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&metav1.PartialObjectMetadata{ObjectMeta: noted})
	if err != nil {
		t.Fatal(err)
	}
	for _, object := range []runtime.Object{
		&corev1.Pod{ObjectMeta: noted},
		&corev1.Node{ObjectMeta: noted},
		&corev1.PersistentVolumeClaim{ObjectMeta: noted},
		&policyv1.PodDisruptionBudget{ObjectMeta: noted},
		&metav1.PartialObjectMetadata{ObjectMeta: noted},
		&unstructured.Unstructured{Object: custom},
	} {
		t.Run(fmt.Sprintf("%T", object), func(t *testing.T) {
			metadata := trimmed(t, object).(metav1.Object)
			if diff := cmp.Diff(map[string]string{"keep": "me"}, metadata.GetAnnotations()); diff != "" {
				t.Errorf("annotations (-want +got):\n%s", diff)
			}
			if len(metadata.GetManagedFields()) > 0 {
				t.Errorf("managedFields are still there: %v", metadata.GetManagedFields())
			}
		})
	}
}

// A Job whose pods ask to be near each other, in whatever words, has them start together, unless it says something else.
func TestTrimKeepsOfAJobWhichOfItsPodsStartTogether(t *testing.T) {
	const scope = v1alpha1.AnnotationGangScope
	near := map[string]string{v1alpha1.AnnotationKueueRequiredTopology: "example.com/rack"}
	kai := map[string]string{v1alpha1.AnnotationKAITopology: "network", v1alpha1.AnnotationKAIRequiredTopology: "rack"}
	for name, test := range map[string]struct{ job, template, want map[string]string }{
		"nothing":                {map[string]string{"x": "y"}, map[string]string{"x": "y"}, nil},
		"a scope":                {map[string]string{scope: "job"}, nil, map[string]string{scope: "job"}},
		"near each other":        {nil, near, map[string]string{scope: "all"}},
		"near, and one by one":   {map[string]string{scope: "none"}, near, map[string]string{scope: "none"}},
		"wherever there is room": {nil, map[string]string{"kueue.x-k8s.io/podset-unconstrained-topology": "true"}, nil},
		"placed by Kueue already": {
			nil, map[string]string{v1alpha1.AnnotationKueueWorkload: "w", v1alpha1.AnnotationKueueRequiredTopology: "r"}, nil,
		},
		"in KAI's words": {kai, nil, map[string]string{
			v1alpha1.AnnotationKAITopology: "network", v1alpha1.AnnotationKAIRequiredTopology: "rack", scope: "all",
		}},
		"in KAI's words on the template":           {nil, kai, map[string]string{scope: "all"}},
		"in the words of Kueue in the wrong place": {near, nil, nil},
		"more than is a name": {
			map[string]string{scope: strings.Repeat("x", 1000)}, nil, map[string]string{scope: strings.Repeat("x", 400)},
		},
	} {
		t.Run(name, func(t *testing.T) {
			job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "x", Annotations: test.job}}
			job.Spec.Template.Annotations = test.template
			for range 2 {
				if diff := cmp.Diff(test.want, trimmed(t, job).GetAnnotations()); diff != "" {
					t.Errorf("annotations (-want +got):\n%s", diff)
				}
			}
		})
	}
}

func TestTrimKeepsWhoNominatedAPod(t *testing.T) {
	owns := func(manager, fields string) metav1.ManagedFieldsEntry {
		return metav1.ManagedFieldsEntry{
			Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate, Subresource: "status",
			FieldsV1: metav1.NewFieldsV1(fields),
		}
	}
	controller := owns("kube-controller-manager", `{"f:spec":{"f:containers":{}}}`)
	scheduler := owns("kube-scheduler", `{"f:status":{"f:conditions":{}}}`)
	nominator := owns("somebody", `{"f:status":{"f:nominatedNodeName":{},"f:phase":{}}}`)
	for name, test := range map[string]struct {
		managers []metav1.ManagedFieldsEntry
		want     string
	}{
		"nobody has written anything": {nil, ""},
		"nobody has nominated it":     {[]metav1.ManagedFieldsEntry{controller, scheduler}, ""},
		"somebody has":                {[]metav1.ManagedFieldsEntry{controller, scheduler, nominator}, "somebody"},
	} {
		t.Run(name, func(t *testing.T) {
			pod := podObject("web", func(p *corev1.Pod) { p.ManagedFields = test.managers })
			once := trimmed(t, pod)
			for _, object := range []*corev1.Pod{once, trimmed(t, once)} {
				if got := NewPod(object).NominatedBy(); got != test.want {
					t.Errorf("nominated by %q, want %q", got, test.want)
				}
				if len(object.ManagedFields) > 1 {
					t.Errorf("%d managers are kept", len(object.ManagedFields))
				}
			}
		})
	}
}

func TestTrimLeavesATombstoneAlone(t *testing.T) {
	pod := podObject("web", func(p *corev1.Pod) { p.Spec.Hostname = "shared with readers" })
	tombstone := cache.DeletedFinalStateUnknown{Key: "default/web", Obj: pod}
	got, err := Trim(tombstone)
	if err != nil {
		t.Fatal(err)
	}
	if got != tombstone || pod.Spec.Hostname == "" {
		t.Errorf("the object in the tombstone was touched: %v", pod.Spec)
	}
}

func TestTrimRefusesWhatHasNoMetadata(t *testing.T) {
	if _, err := Trim("x"); err == nil {
		t.Error("no error")
	}
}

func TestTrimKeepsOnlyContainerStatusesThatTellOfAResize(t *testing.T) {
	pod := podObject("web", func(p *corev1.Pod) {
		p.Status.ContainerStatuses = []corev1.ContainerStatus{
			{Name: "old kubelet", ContainerID: "c0"},
			{
				Name:               "main",
				ContainerID:        "c1",
				AllocatedResources: amounts("cpu", "1"),
				Resources:          &corev1.ResourceRequirements{Requests: amounts("cpu", "2"), Limits: amounts("cpu", "3")},
			},
		}
	})
	want := []corev1.ContainerStatus{
		{Name: "main", AllocatedResources: amounts("cpu", "1"), Resources: &corev1.ResourceRequirements{Requests: amounts("cpu", "2")}},
	}
	if diff := cmp.Diff(want, trimmed(t, pod).Status.ContainerStatuses); diff != "" {
		t.Errorf("container statuses (-want +got):\n%s", diff)
	}
}

func TestAPodMeansTheSameTrimmed(t *testing.T) {
	seeded.Check(t, func(t *rapid.T) {
		object := richPod(t)
		full := NewPod(object.DeepCopy())
		once, err := Trim(object)
		if err != nil {
			t.Fatal(err)
		}
		short := NewPod(once.(*corev1.Pod).DeepCopy())
		if diff := cmp.Diff(derived(full), derived(short), cmpopts.EquateComparable(unique.Handle[string]{}, ScalarName{})); diff != "" {
			t.Fatalf("derived from the full and from the trimmed pod (-full +trimmed):\n%s", diff)
		}
		twice, err := Trim(once)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(short.Pod, twice); diff != "" {
			t.Fatalf("trimmed once and twice (-once +twice):\n%s", diff)
		}
	})
}

// derived is a Pod without its API object.
func derived(pod *Pod) Pod {
	d := *pod
	d.Pod = nil
	return d
}

// richPod draws a pod that may have of everything that PodRequests looks at.
func richPod(t *rapid.T) *corev1.Pod {
	list := rapid.Custom(func(t *rapid.T) corev1.ResourceList {
		list := corev1.ResourceList{}
		for _, name := range []corev1.ResourceName{"cpu", "memory", "ephemeral-storage", "hugepages-2Mi", "nvidia.com/gpu"} {
			if rapid.Bool().Draw(t, "has") {
				list[name] = *resource.NewMilliQuantity(rapid.Int64Range(0, 1e7).Draw(t, "milli"), resource.DecimalSI)
			}
		}
		return list
	})
	requirements := rapid.Custom(func(t *rapid.T) *corev1.ResourceRequirements {
		return rapid.SampledFrom([]*corev1.ResourceRequirements{nil, {}, {Requests: list.Draw(t, "requests"), Limits: list.Draw(t, "limits")}}).
			Draw(t, "resources")
	})
	one := func(name string) corev1.Container {
		c := corev1.Container{Name: name, Image: "nginx", Command: []string{"run"}, Env: []corev1.EnvVar{{Name: "A", Value: "b"}}}
		if r := requirements.Draw(t, name); r != nil {
			c.Resources = *r
		}
		if rapid.Bool().Draw(t, "sidecar") {
			c.RestartPolicy = new(
				rapid.SampledFrom([]corev1.ContainerRestartPolicy{corev1.ContainerRestartPolicyAlways, "Never"}).Draw(t, "restart"),
			)
		}
		if rapid.Bool().Draw(t, "port") {
			c.Ports = []corev1.ContainerPort{
				{
					ContainerPort: 80,
					HostPort:      rapid.Int32Range(0, 3).Draw(t, "hostPort"),
					HostIP:        rapid.SampledFrom([]string{"", "10.0.0.1"}).Draw(t, "ip"),
				},
			}
		}
		return c
	}
	status := func(name string) corev1.ContainerStatus {
		return corev1.ContainerStatus{
			Name:               name,
			Ready:              true,
			AllocatedResources: list.Draw(t, "allocated"),
			Resources:          requirements.Draw(t, "actuated"),
		}
	}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "rich", UID: "rich", Finalizers: []string{"x"}},
		Spec: corev1.PodSpec{
			InitContainers: []corev1.Container{one("init-0"), one("init-1")},
			Containers:     []corev1.Container{one("main-0"), one("main-1")},
			Overhead:       rapid.SampledFrom([]corev1.ResourceList{nil, list.Draw(t, "overhead")}).Draw(t, "with overhead"),
			Resources:      requirements.Draw(t, "pod level"),
		},
		Status: corev1.PodStatus{
			AllocatedResources: list.Draw(t, "pod allocated"),
			Resources:          requirements.Draw(t, "pod actuated"),
		},
	}
	if rapid.Bool().Draw(t, "reports resources") {
		pod.Status.InitContainerStatuses = []corev1.ContainerStatus{status("init-0"), status("init-1")}
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{status("main-1"), status("main-0")}
	}
	if reason := rapid.SampledFrom([]string{"", corev1.PodReasonDeferred, corev1.PodReasonInfeasible}).Draw(t, "resize"); reason != "" {
		pod.Status.Conditions = []corev1.PodCondition{
			{
				Type:          corev1.PodResizePending,
				Status:        corev1.ConditionTrue,
				Reason:        reason,
				Message:       "no room",
				LastProbeTime: metav1.NewTime(time.Unix(9, 0)),
			},
		}
	}
	return pod
}

// An API server takes "1e30000000" for an amount. To add it to another one takes for ever.
func TestAmountsThatNoQuantityStandsForAreCapped(t *testing.T) {
	beyond := func() corev1.ResourceList { return amounts("cpu", "1e30000000", "memory", "1Gi") }
	requirements := func() corev1.ResourceRequirements {
		return corev1.ResourceRequirements{Requests: beyond(), Limits: beyond()}
	}
	level, actuated := requirements(), requirements()
	pod := podObject("p", func(p *corev1.Pod) {
		p.Spec.InitContainers = []corev1.Container{{Name: "i", Resources: requirements()}}
		p.Spec.Containers = []corev1.Container{{Name: "a", Resources: requirements()}, container("b", "cpu", "1")}
		p.Spec.Overhead, p.Spec.Resources = beyond(), &level
		p.Status.AllocatedResources, p.Status.Resources = beyond(), &actuated
		p.Status.ContainerStatuses = []corev1.ContainerStatus{
			{Name: "a", AllocatedResources: beyond(), Resources: &corev1.ResourceRequirements{Requests: beyond()}},
		}
	})
	node := nodeObject("n", func(n *corev1.Node) { n.Status.Capacity, n.Status.Allocatable = beyond(), beyond() })
	volume := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "v"}, Spec: corev1.PersistentVolumeSpec{Capacity: beyond()}}
	for _, object := range []any{pod, node, volume} {
		if _, err := Trim(object); err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(text, []byte("1e30000000")) || !bytes.Contains(text, []byte(`"9223372036854775"`)) ||
			!bytes.Contains(text, []byte(`"1Gi"`)) {
			t.Errorf("%T is trimmed to %s", object, text)
		}
	}
	if got := NewPod(pod).Requests; got.MilliCPU != math.MaxInt64 {
		t.Errorf("the pod requests %d thousandths of a CPU", got.MilliCPU)
	}
}
