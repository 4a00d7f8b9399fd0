package predicates

import (
	"slices"
	"unsafe"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/ptr"

	"muster.dev/muster/api/config"
	"muster.dev/muster/cluster"
)

// nodeVolumeLimits holds nodes to the number of volumes that a CSI driver can attach to
// them, as their CSINodes say it (pkg/scheduler/framework/plugins/nodevolumelimits/csi.go).
// It also keeps pods off nodes that lack a driver whose CSIDriver says to. An API server
// whose feature gate VolumeLimitScaling is off drops that field. Volumes of the in-tree
// plugins that CSI drivers have replaced count as theirs.
type nodeVolumeLimits struct{}

func newNodeVolumeLimits(*config.Profile) (Predicate, error) { return nodeVolumeLimits{}, nil }

func (nodeVolumeLimits) Name() string { return config.NodeVolumeLimits }

func (nodeVolumeLimits) Aspects() cluster.Aspect {
	return cluster.AspectCSI | cluster.AspectPods | cluster.AspectPersistentVolume | cluster.AspectPersistentVolumeClaim |
		cluster.AspectStorageClass | cluster.AspectVolumeAttachment | cluster.AspectCSIDriver
}

func (nodeVolumeLimits) For(pod *cluster.Pod, snap *cluster.Snapshot) Check {
	needs := volumeNeedsOf(pod, snap.Objects)
	if needs.none() {
		return nil
	}
	c := &volumeLimitsCheck{
		pod: pod, needs: needs, drivers: needs.drivers(), objects: snap.Objects,
		doubtful: sets.New[string](), counted: sets.New[csiVolume](),
	}
	if len(c.drivers) > 0 {
		c.findAttachments(snap.NodeCount())
		c.demanded = demanded(c.drivers, snap.Objects)
		c.demandedAnyway = demanded(needs.native, snap.Objects)
	}
	return c
}

// volumeNeeds are the volumes that a pod needs attached.
type volumeNeeds struct {
	volumes []csiVolume // each once
	// native are the drivers of those volumes that no in-tree plugin had: on a node without a
	// CSINode these alone count.
	native []string
	// untranslatable says that there is one more, of an in-tree plugin, and that the driver
	// which replaced it could not attach it.
	untranslatable bool
	nowhere        Verdict // on all nodes, unless it is Fits
}

func volumeNeedsOf(pod *cluster.Pod, objects *cluster.Objects) volumeNeeds {
	var needs volumeNeeds
	for i := range pod.Spec.Volumes {
		claim, problem := claimOf(pod, &pod.Spec.Volumes[i], objects)
		if problem != Fits {
			return volumeNeeds{nowhere: problem}
		}
		var volume csiVolume
		if claim != nil {
			claimed := volumeOf(claim, objects)
			volume = claimed.volume
			if driver := volume.driver; driver != "" && !claimed.replaced && !slices.Contains(needs.native, driver) {
				needs.native = append(needs.native, driver)
			}
		} else {
			var err error
			volume, err = inlineCSIVolume(&pod.Spec.Volumes[i])
			needs.untranslatable = needs.untranslatable || err != nil
		}
		if volume != (csiVolume{}) && !slices.Contains(needs.volumes, volume) {
			needs.volumes = append(needs.volumes, volume)
		}
	}
	return needs
}

func (n volumeNeeds) none() bool { return n.equal(volumeNeeds{}) }

func (n volumeNeeds) equal(other volumeNeeds) bool {
	return n.nowhere == other.nowhere && n.untranslatable == other.untranslatable && slices.Equal(n.volumes, other.volumes) &&
		slices.Equal(n.native, other.native)
}

func (n volumeNeeds) drivers() []string {
	var drivers []string
	for _, volume := range n.volumes {
		if !slices.Contains(drivers, volume.driver) {
			drivers = append(drivers, volume.driver)
		}
	}
	return drivers
}

// volumeLimitsCheck is nodeVolumeLimits for a pod. It keeps nothing of the nodes; what it
// keeps are the objects by which it knows the volumes of the pods on a node.
type volumeLimitsCheck struct {
	pod     *cluster.Pod
	needs   volumeNeeds
	drivers []string // of the volumes that the pod needs: no other one's count
	// demanded are those drivers that a node must have, demandedAnyway also one without a CSINode.
	demanded, demandedAnyway []string
	objects                  *cluster.Objects
	// attachments of volumes of these drivers, by node name.
	attachments map[string][]*storagev1.VolumeAttachment
	// doubtful are the names of PersistentVolumes that are absent or not of the drivers, while a claim that
	// names one has a class of these drivers, or an attachment belongs to them. A count changes when such a
	// volume appears, changes or goes.
	doubtful sets.Set[string]
	counted  sets.Set[csiVolume] // memory for one verdict
}

// Update implements [Digest].
func (c *volumeLimitsCheck) Update(snap *cluster.Snapshot, _ []int32) { c.objects = snap.Objects }

// Suppose implements [Digest].
func (c *volumeLimitsCheck) Suppose(*cluster.Snapshot, *cluster.Node) {}

func (c *volumeLimitsCheck) minds(*cluster.Pod) bool { return false }

func (c *volumeLimitsCheck) Verdict(node *cluster.Node) Verdict {
	switch {
	case c.needs.nowhere != Fits:
		return c.needs.nowhere
	case node.CSI == nil && len(c.demandedAnyway) > 0:
		return driverMissing
	case node.CSI == nil:
		return Fits
	case c.needs.untranslatable:
		return volumeUntranslatable | hopeless
	case slices.ContainsFunc(c.demanded, func(driver string) bool { return !hasDriver(node.CSI, driver) }):
		return driverMissing
	case c.full(node):
		return tooManyVolumes
	}
	return Fits
}

// Verdicts implements [Plural].
func (c *volumeLimitsCheck) Verdicts(node *cluster.Node, visit func(Verdict)) {
	first := c.Verdict(node)
	if first == Fits {
		return
	}
	visit(first)
	if first == driverMissing && node.CSI != nil && c.full(node) {
		visit(tooManyVolumes)
	}
}

// full reports whether some driver can attach no more of the volumes to a node.
func (c *volumeLimitsCheck) full(node *cluster.Node) bool {
	return slices.ContainsFunc(c.drivers, func(driver string) bool {
		limit, limited := volumeLimit(node.CSI, driver)
		return limited && c.exceeds(limit, driver, node)
	})
}

// demanded returns the drivers whose CSIDrivers want pods kept off nodes that lack them.
func demanded(drivers []string, objects *cluster.Objects) []string {
	var all []string
	for _, driver := range drivers {
		if isDemanded(driver, objects) {
			all = append(all, driver)
		}
	}
	return all
}

func isDemanded(driver string, objects *cluster.Objects) bool {
	object, known := objects.CSIDrivers.Get(driver)
	return known && ptr.Deref(object.Spec.PreventPodSchedulingIfMissing, false)
}

func hasDriver(node *storagev1.CSINode, driver string) bool {
	return slices.ContainsFunc(node.Spec.Drivers, func(d storagev1.CSINodeDriver) bool { return d.Name == driver })
}

// volumeLimit returns how many volumes a driver can attach to a node, false when it does not
// say or is not there.
func volumeLimit(node *storagev1.CSINode, driver string) (limit int, limited bool) {
	for i := range node.Spec.Drivers {
		d := &node.Spec.Drivers[i]
		if d.Name == driver && d.Allocatable != nil && d.Allocatable.Count != nil {
			return int(*d.Allocatable.Count), true
		}
	}
	return 0, false
}

// exceeds reports whether with the pod a node would have more volumes of a driver than the
// limit. A volume counts once, however many pods use it, and also when it is attached and
// no pod uses it; one of the pod's own then counts twice, as kube-scheduler has it. A pod
// that brings no volume exceeds nothing.
func (c *volumeLimitsCheck) exceeds(limit int, driver string, node *cluster.Node) bool {
	if most := mostAttached(node) + len(c.attachments[node.Name]) + len(c.needs.volumes); most <= limit {
		return false // whatever they are
	}
	c.countUsed(node, driver)
	count := 0
	for _, volume := range c.needs.volumes {
		if volume.driver == driver && !c.counted.Has(volume) {
			count++
		}
	}
	if count == 0 {
		return false
	}
	c.countAttached(node, driver)
	return count+len(c.counted) > limit
}

// mostAttached returns how many volumes the pods on a node use at most.
func mostAttached(node *cluster.Node) int {
	most := 0
	for _, pod := range node.Pods {
		for i := range pod.Spec.Volumes {
			if mayBeAttached(&pod.Spec.Volumes[i]) {
				most++
			}
		}
	}
	return most
}

// countUsed sets c.counted to the volumes of a driver that the pods on a node use. Those
// are left out that they cannot use yet, as when a claim is missing.
func (c *volumeLimitsCheck) countUsed(node *cluster.Node, driver string) {
	clear(c.counted)
	for _, pod := range node.Pods {
		for i := range pod.Spec.Volumes {
			if volume := c.usedVolume(pod, &pod.Spec.Volumes[i]); volume.driver == driver {
				c.counted.Insert(volume)
			}
		}
	}
}

func (c *volumeLimitsCheck) usedVolume(pod *cluster.Pod, volume *corev1.Volume) csiVolume {
	claim, problem := claimOf(pod, volume, c.objects)
	switch {
	case problem != Fits:
		return csiVolume{}
	case claim == nil:
		inline, _ := inlineCSIVolume(volume)
		return inline
	}
	claimed := volumeOf(claim, c.objects)
	c.doubt(claimed)
	return claimed.volume
}

// countAttached adds the volumes that a driver has attached to a node.
func (c *volumeLimitsCheck) countAttached(node *cluster.Node, driver string) {
	for _, attachment := range c.attachments[node.Name] {
		if attachment.Spec.Attacher != driver {
			continue
		}
		name := *attachment.Spec.Source.PersistentVolumeName
		object, known := c.objects.PersistentVolumes.Get(name)
		if !known || !c.counts(persistentCSIVolume(object).driver) {
			c.doubtful.Insert(name)
		}
		if known && object.Spec.CSI != nil {
			c.counted.Insert(csiVolume{driver: driver, handle: object.Spec.CSI.VolumeHandle})
		}
	}
}

func (c *volumeLimitsCheck) doubt(claimed claimedVolume) {
	if claimed.object != "" && c.counts(claimed.classDriver) && (claimed.volume.toBe || !c.counts(claimed.volume.driver)) {
		c.doubtful.Insert(claimed.object)
	}
}

func (c *volumeLimitsCheck) counts(driver string) bool { return slices.Contains(c.drivers, driver) }

// findAttachments needs to know about how many nodes there are.
func (c *volumeLimitsCheck) findAttachments(nodes int) {
	c.attachments = make(map[string][]*storagev1.VolumeAttachment, nodes)
	for _, attachment := range c.objects.VolumeAttachments.All() {
		if node := attachment.Spec.NodeName; c.counts(attachment.Spec.Attacher) && attachment.Spec.Source.PersistentVolumeName != nil {
			c.attachments[node] = append(c.attachments[node], attachment)
		}
	}
}

// DependsOn implements [Selective]. A change matters when it is about a volume that was or
// is of one of the drivers.
func (c *volumeLimitsCheck) DependsOn(kind cluster.Aspect, name types.NamespacedName, before, after *cluster.Objects) bool {
	if kind == cluster.AspectCSIDriver {
		return c.counts(name.Name) && isDemanded(name.Name, before) != isDemanded(name.Name, after)
	}
	if kind != cluster.AspectVolumeAttachment && !c.needs.equal(volumeNeedsOf(c.pod, after)) {
		return true
	}
	switch kind {
	case cluster.AspectPersistentVolumeClaim:
		was, is := claimedIn(before, name), claimedIn(after, name)
		return was != is && c.countsAny(was.volume.driver, was.classDriver, is.volume.driver, is.classDriver)
	case cluster.AspectPersistentVolume:
		was, is := describedIn(before, name.Name), describedIn(after, name.Name)
		return c.doubtful.Has(name.Name) || was != is && c.countsAny(was.driver, is.driver)
	case cluster.AspectStorageClass:
		was, is := classDriver(name.Name, before), classDriver(name.Name, after)
		return was != is && c.countsAny(was, is)
	default: // cluster.AspectVolumeAttachment
		return c.countsAny(attacherIn(before, name.Name), attacherIn(after, name.Name))
	}
}

func (c *volumeLimitsCheck) countsAny(drivers ...string) bool {
	return slices.ContainsFunc(drivers, c.counts)
}

// describedVolume returns the volume that a PersistentVolume describes, and whether it is a CSI volume.
type describedVolume struct {
	csiVolume
	native bool
}

func describedIn(objects *cluster.Objects, name string) describedVolume {
	object, known := objects.PersistentVolumes.Get(name)
	if !known {
		return describedVolume{}
	}
	return describedVolume{csiVolume: persistentCSIVolume(object), native: object.Spec.CSI != nil}
}

func attacherIn(objects *cluster.Objects, name string) string {
	if attachment, known := objects.VolumeAttachments.Get(name); known {
		return attachment.Spec.Attacher
	}
	return ""
}

func (c *volumeLimitsCheck) size() int64 {
	size := int64(unsafe.Sizeof(*c)) +
		int64(len(c.doubtful))*int64(unsafe.Sizeof("")) + int64(len(c.counted))*int64(unsafe.Sizeof(csiVolume{}))
	for _, attachments := range c.attachments {
		size += int64(unsafe.Sizeof("")) + int64(unsafe.Sizeof(attachments)) + int64(cap(attachments))*int64(unsafe.Sizeof(uintptr(0)))
	}
	return size
}
