package main

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.dev/muster/e2e/bench/lab"
	"muster.dev/muster/e2e/devices"
)

const (
	// driver of the volumes, and the plugin of kubelets that it has taken over from.
	driver             = "ebs.csi.aws.com"
	replacedPlugin     = "kubernetes.io/aws-ebs"
	migratedAnnotation = "storage.alpha.kubernetes.io/migrated-plugins"
	volumesPerNode     = 39

	withDevices    = 500 // nodes
	devicesPerNode = 4
)

// storage is a kind of volume.
type storage string

const (
	csi    storage = "csi"
	inTree storage = "in-tree"
)

// claimOf is the name of a pod's claim and of its volume.
func (s storage) claimOf(p *corev1.Pod) string { return string(s) + "-" + p.Name }

func (s storage) source(volume string) corev1.PersistentVolumeSource {
	if s == inTree {
		return corev1.PersistentVolumeSource{AWSElasticBlockStore: &corev1.AWSElasticBlockStoreVolumeSource{VolumeID: "vol-" + volume}}
	}
	return corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: driver, VolumeHandle: volume}}
}

func (g *ground) createCSINodes() error {
	return lab.Each(g.ctx, inFlight, g.Nodes, func(ctx context.Context, n *corev1.Node) error {
		_, err := g.Client.StorageV1().CSINodes().Create(ctx, &storagev1.CSINode{
			ObjectMeta: metav1.ObjectMeta{Name: n.Name, Annotations: map[string]string{migratedAnnotation: replacedPlugin}},
			Spec: storagev1.CSINodeSpec{Drivers: []storagev1.CSINodeDriver{
				{Name: driver, NodeID: n.Name, Allocatable: &storagev1.VolumeNodeResources{Count: new(int32(volumesPerNode))}},
			}},
		}, metav1.CreateOptions{})
		return err
	})
}

func (g *ground) csiVolumes(pods []*corev1.Pod) error { return g.volumes(csi, pods) }

func (g *ground) inTreeVolumes(pods []*corev1.Pod) error { return g.volumes(inTree, pods) }

// volumes gives each pod a claim that is bound to a volume. Existing volumes stay.
func (g *ground) volumes(kind storage, pods []*corev1.Pod) error {
	modes := []corev1.PersistentVolumeAccessMode{corev1.ReadOnlyMany}
	size := corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
	return lab.Each(g.ctx, inFlight, pods, func(ctx context.Context, p *corev1.Pod) error {
		name := kind.claimOf(p)
		_, err := g.Client.CoreV1().PersistentVolumes().Create(ctx, &corev1.PersistentVolume{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: corev1.PersistentVolumeSpec{
				AccessModes: modes, Capacity: size, PersistentVolumeSource: kind.source(name),
				PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimRetain,
				ClaimRef:                      &corev1.ObjectReference{Kind: "PersistentVolumeClaim", Namespace: p.Namespace, Name: name},
			},
		}, metav1.CreateOptions{})
		if err = lab.Ignoring(err, apierrors.IsAlreadyExists); err != nil {
			return fmt.Errorf("create volume %s: %w", name, err)
		}
		_, err = g.Client.CoreV1().PersistentVolumeClaims(p.Namespace).Create(ctx, &corev1.PersistentVolumeClaim{
			ObjectMeta: metav1.ObjectMeta{
				Name: name, Namespace: p.Namespace, Annotations: map[string]string{"pv.kubernetes.io/bind-completed": "true"},
			},
			Spec: corev1.PersistentVolumeClaimSpec{
				AccessModes: modes, Resources: corev1.VolumeResourceRequirements{Requests: size}, VolumeName: name, StorageClassName: new(""),
			},
		}, metav1.CreateOptions{})
		if err = lab.Ignoring(err, apierrors.IsAlreadyExists); err != nil {
			return fmt.Errorf("create claim %s: %w", name, err)
		}
		return nil
	})
}

// offerDevices has some nodes have devices, unless they have.
func (g *ground) offerDevices([]*corev1.Pod) error {
	slices, err := g.Client.ResourceV1().ResourceSlices().List(g.ctx, metav1.ListOptions{Limit: 1})
	if err != nil || len(slices.Items) > 0 {
		return err
	}
	return errors.Join(
		devices.Define(g.ctx, g.Client, 1),
		lab.Each(g.ctx, inFlight, g.Nodes[:min(withDevices, len(g.Nodes))], func(ctx context.Context, n *corev1.Node) error {
			return devices.Offer(ctx, g.Client, n.Name, devicesPerNode)
		}),
	)
}
