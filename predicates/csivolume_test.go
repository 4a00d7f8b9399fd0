package predicates

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// TestVolumesOfInTreePluginsAreTheirSuccessors tells each plugin's volumes in all ways: in
// a pod, as a PersistentVolume, and by the provisioner of a class.
func TestVolumesOfInTreePluginsAreTheirSuccessors(t *testing.T) {
	managed := corev1.AzureManagedDisk
	for _, test := range []struct {
		plugin     string
		inline     corev1.VolumeSource
		persistent corev1.PersistentVolumeSource
		want       csiVolume
	}{
		{
			"kubernetes.io/aws-ebs", ebs("aws://zone/vol-1"),
			corev1.PersistentVolumeSource{AWSElasticBlockStore: ebs("aws://zone/vol-1").AWSElasticBlockStore},
			csiVolume{driver: "ebs.csi.aws.com", handle: "vol-1"},
		},
		{
			"kubernetes.io/gce-pd", gcePD("pd", false),
			corev1.PersistentVolumeSource{GCEPersistentDisk: gcePD("pd", false).GCEPersistentDisk},
			csiVolume{driver: "pd.csi.storage.gke.io", handle: "projects/UNSPECIFIED/zones/UNSPECIFIED/disks/pd"},
		},
		{
			"kubernetes.io/azure-disk",
			corev1.VolumeSource{AzureDisk: &corev1.AzureDiskVolumeSource{DataDiskURI: "uri", Kind: &managed}},
			corev1.PersistentVolumeSource{AzureDisk: &corev1.AzureDiskVolumeSource{DataDiskURI: "uri", Kind: &managed}},
			csiVolume{driver: "disk.csi.azure.com", handle: "uri"},
		},
		{
			"kubernetes.io/cinder",
			corev1.VolumeSource{Cinder: &corev1.CinderVolumeSource{VolumeID: "id"}},
			corev1.PersistentVolumeSource{Cinder: &corev1.CinderPersistentVolumeSource{VolumeID: "id"}},
			csiVolume{driver: "cinder.csi.openstack.org", handle: "id"},
		},
		{
			"kubernetes.io/portworx-volume",
			corev1.VolumeSource{PortworxVolume: &corev1.PortworxVolumeSource{VolumeID: "id"}},
			corev1.PersistentVolumeSource{PortworxVolume: &corev1.PortworxVolumeSource{VolumeID: "id"}},
			csiVolume{driver: "pxd.portworx.com", handle: "id"},
		},
		{
			plugin: "kubernetes.io/vsphere-volume", inline: corev1.VolumeSource{
				VsphereVolume: &corev1.VsphereVirtualDiskVolumeSource{VolumePath: "path"},
			},
			persistent: corev1.PersistentVolumeSource{VsphereVolume: &corev1.VsphereVirtualDiskVolumeSource{VolumePath: "path"}},
		},
		{
			plugin: "kubernetes.io/azure-file", inline: corev1.VolumeSource{
				AzureFile: &corev1.AzureFileVolumeSource{ShareName: "share", SecretName: "secret"},
			},
			persistent: corev1.PersistentVolumeSource{AzureFile: &corev1.AzureFilePersistentVolumeSource{ShareName: "share", SecretName: "secret"}},
		},
	} {
		t.Run(test.plugin, func(t *testing.T) {
			inline, err := inlineCSIVolume(&corev1.Volume{Name: "volume", VolumeSource: test.inline})
			if err != nil || inline != test.want {
				t.Errorf("in a pod it is %+v, %v, want %+v", inline, err, test.want)
			}
			object := persistentVolume("pv")
			object.Spec.PersistentVolumeSource = test.persistent
			if got := persistentCSIVolume(object); got != test.want {
				t.Errorf("as a PersistentVolume it is %+v, want %+v", got, test.want)
			}
			c := newCluster()
			if err := c.Set(storageClass("class", test.plugin, "")); err != nil {
				t.Fatal(err)
			}
			if got := classDriver("class", c.Snapshot().Objects); got != test.want.driver {
				t.Errorf("by its class the driver is %q, want %q", got, test.want.driver)
			}
		})
	}
}
