package conformance

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	storagehelpers "k8s.io/component-helpers/storage/volume"

	"muster.dev/muster/api/config"
)

// mostRivalled is how many nodes there are at most for pods to be rivals for.
const mostRivalled = 4

// draw draws the profile, the objects and the pods: of few kinds, mostly in each other's way. A quarter of the
// clusters is as wild as a [Scenario].
func (i *Interleaving) draw() {
	s := i.source
	if i.wild = s.chance(25); i.wild {
		i.scenario = &Scenario{Profile: s.profile(compared()), Objects: s.objects()}
		for n := range 4 {
			pod := s.pod(fmt.Sprintf("pending-%d", n))
			pod.Spec.NodeName, pod.Spec.SchedulerName = "", corev1.DefaultSchedulerName
			makeAttachable(s, pod)
			i.templates = append(i.templates, pod)
		}
		return
	}
	i.scenario = &Scenario{Profile: rivalsProfile(s, i.Mode.Offload), Objects: rivalsObjects(s)}
	for n := range 1 + s.upTo(2) {
		i.templates = append(i.templates, s.rival(n))
	}
}

// rivalsProfile draws a profile of most of the predicates, or with offload of all.
func rivalsProfile(s *source, all bool) Profile {
	var profile Profile
	for _, known := range config.KnownPlugins() {
		for _, plugin := range compared() {
			if plugin.name == known.Name && known.Filter != config.Never && (all || s.chance(85)) {
				profile.Filter = append(profile.Filter, known.Name)
			}
		}
	}
	if s.chance(50) {
		profile.Score = []ScorePlugin{{Name: config.NodeResourcesFit, Weight: 1}}
	}
	return profile
}

func (i *Interleaving) drawNode(name string) *corev1.Node {
	if i.wild {
		return i.source.node(name)
	}
	return i.source.rivalled(name)
}

// rivalled draws a node that has room for few pods.
func (s *source) rivalled(name string) *corev1.Node {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
		corev1.LabelHostname: name, zoneLabel: one(s, "a", "b"), diskLabel: one(s, "ssd", "ssd", ""),
	}}}
	node.Status.Allocatable = corev1.ResourceList{
		corev1.ResourceCPU:    *resource.NewQuantity(one(s, int64(2), 4, 8), resource.DecimalSI),
		corev1.ResourceMemory: resource.MustParse("16Gi"),
		corev1.ResourcePods:   *resource.NewQuantity(one(s, int64(2), 110), resource.DecimalSI),
	}
	return node
}

// rival draws a template of pods that are in each other's way, or need each other.
func (s *source) rival(n int) *corev1.Pod {
	labels := map[string]string{"app": one(s, "web", "db")}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Labels: labels},
		Spec:       corev1.PodSpec{SchedulerName: corev1.DefaultSchedulerName, Containers: []corev1.Container{{Name: "main"}}},
	}
	if s.chance(40) {
		employ(s, pod)
	}
	requests := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(one(s, "100m", "1", "2", "3"))}
	pod.Spec.Containers[0].Resources.Requests = requests
	pod.Spec.Affinity = &corev1.Affinity{}
	for range 1 + s.upTo(1) {
		s.rivalry(pod, n)
	}
	return pod
}

// rivalry draws why two pods of a template, or of two, may not be everywhere.
func (s *source) rivalry(pod *corev1.Pod, n int) {
	other := corev1.PodAffinityTerm{
		LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": one(s, pod.Labels["app"], "web", "db")}},
		TopologyKey:   one(s, zoneLabel, corev1.LabelHostname),
	}
	mount := func(source corev1.VolumeSource) {
		pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: fmt.Sprintf("volume-%d", len(pod.Spec.Volumes)), VolumeSource: source})
	}
	switch s.upTo(7) {
	case 0:
		pod.Spec.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: 80, HostPort: 80, HostIP: one(s, "", "10.0.0.1")}}
	case 1, 2:
		pod.Spec.Affinity.PodAntiAffinity = &corev1.PodAntiAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{other},
		}
	case 3:
		pod.Spec.Affinity.PodAffinity = &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{other}}
	case 4:
		pod.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
			MaxSkew: 1, TopologyKey: other.TopologyKey, WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: other.LabelSelector,
		}}
	case 5:
		mount(corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claimName(n % 2)}})
	case 6:
		mount(corev1.VolumeSource{GCEPersistentDisk: &corev1.GCEPersistentDiskVolumeSource{PDName: "a", ReadOnly: s.chance(30)}})
	default:
		pod.Spec.NodeSelector = map[string]string{diskLabel: "ssd"}
	}
}

// rivalsObjects draws claims that one pod may use, or the pods of one node, whose disks nodes can attach one of.
func rivalsObjects(s *source) Objects {
	var objects Objects
	for _, name := range namespaceNames() {
		objects.Namespaces = append(objects.Namespaces, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
	}
	for n := range 2 {
		claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: claimName(n)}}
		claim.Spec.VolumeName = diskName(n)
		claim.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{one(s, corev1.ReadWriteOncePod, corev1.ReadWriteMany)}
		metav1.SetMetaDataAnnotation(&claim.ObjectMeta, storagehelpers.AnnBindCompleted, "yes")
		disk := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: diskName(n)}}
		disk.Spec.CSI = &corev1.CSIPersistentVolumeSource{Driver: drivers()[3], VolumeHandle: diskName(n)}
		objects.PersistentVolumeClaims = append(objects.PersistentVolumeClaims, claim)
		objects.PersistentVolumes = append(objects.PersistentVolumes, disk)
	}
	for n := range mostRivalled {
		limit := int32(1)
		objects.CSINodes = append(objects.CSINodes, &storagev1.CSINode{
			ObjectMeta: metav1.ObjectMeta{Name: nodeName(n)},
			Spec: storagev1.CSINodeSpec{Drivers: []storagev1.CSINodeDriver{{
				Name: drivers()[3], NodeID: nodeName(n), Allocatable: &storagev1.VolumeNodeResources{Count: &limit},
			}}},
		})
	}
	return objects
}
