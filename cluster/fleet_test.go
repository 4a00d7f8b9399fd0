package cluster

import (
	"testing"

	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestACSINodeThatSaysTheSameAsBeforeChangesNothing(t *testing.T) {
	c := newCluster(t)
	said := func(version string, drivers ...string) *storagev1.CSINode {
		csi := &storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: "a", ResourceVersion: version}}
		for _, name := range drivers {
			csi.Spec.Drivers = append(csi.Spec.Drivers, storagev1.CSINodeDriver{Name: name})
		}
		return csi
	}
	set(t, c, nodeObject("a"), said("1", "x"))
	before := c.Snapshot()
	set(t, c, said("2", "x"))
	if after := c.Snapshot(); after.Generation != before.Generation || after.NodeByName("a") != before.NodeByName("a") {
		t.Error("the node is another one")
	}
	set(t, c, said("3", "x", "y"))
	if after := c.Snapshot(); after.NodeByName("a") == before.NodeByName("a") {
		t.Error("the node is the same, and has another driver")
	}
}
