package install

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/utils/clock"
)

// fieldManager is who applies the objects.
const fieldManager = "muster-install"

// HelmRelease is the annotation by which Helm knows objects of its releases.
const HelmRelease = "meta.helm.sh/release-name"

// Applier applies an installation.
type Applier struct {
	Client dynamic.Interface
	Clock  clock.Clock
	// Told hears of each object.
	Told func(string)
}

// Apply applies the objects, and may be repeated. It applies none if one of them is somebody else's. Where it fails later, what Told has
// heard of is applied.
func (a *Applier) Apply(ctx context.Context, i *Installation) error {
	var mine []object
	for _, o := range i.objects {
		there, err := a.of(&o).Get(ctx, o.GetName(), metav1.GetOptions{})
		switch {
		case err != nil && !apierrors.IsNotFound(err):
			return fmt.Errorf("read %s: %w", &o, err)
		case err == nil && o.GetKind() == "CustomResourceDefinition" && !IsDefinition(there):
			a.Told("left alone " + o.String() + ": another project has brought it")
			continue
		case err == nil:
			if err := othersObject(there); err != nil {
				return fmt.Errorf("%s: %w: nothing was applied", &o, err)
			}
		}
		mine = append(mine, o)
	}
	for at, o := range mine {
		text, err := o.MarshalJSON()
		if err != nil {
			return err
		}
		options := metav1.PatchOptions{FieldManager: fieldManager, Force: new(true)}
		if _, err := a.of(&o).Patch(ctx, o.GetName(), types.ApplyPatchType, text, options); err != nil {
			return fmt.Errorf("apply %s: %w: %d of %d objects were applied: mend that, and repeat the command", &o, err, at, len(mine))
		}
		a.Told("applied " + o.String())
	}
	return a.await(ctx, mine)
}

// TellKubeadm has kubeadm's upgrades keep kube-scheduler's configuration, which all control-plane nodes must have: where the files are
// missing, kube-scheduler would not start any more.
func (a *Applier) TellKubeadm(ctx context.Context) error {
	changed, err := a.kubeadm(ctx, false, nodeOf(Kubeadm).addToCluster)
	if changed {
		a.Told("changed " + kubeadmConfig + ": kubeadm's next upgrade keeps kube-scheduler's configuration")
	}
	return err
}

// othersObject says whose an object is that is not of an installation like this.
func othersObject(there *unstructured.Unstructured) error {
	labels := there.GetLabels()
	switch release := there.GetAnnotations()[HelmRelease]; {
	case release != "":
		return fmt.Errorf("it is of the Helm release %s: upgrade that, or uninstall it first", release)
	case there.GetKind() != "CustomResourceDefinition" && labels["app.kubernetes.io/name"] != "muster":
		return errors.New("it is there already, and not muster's: it has no label app.kubernetes.io/name=muster")
	}
	return nil
}

// IsDefinition reports whether a CustomResourceDefinition is muster's own.
func IsDefinition(definition *unstructured.Unstructured) bool {
	return definition.GetLabels()["app.kubernetes.io/part-of"] == "muster"
}

// of is the way to the objects of a kind.
func (a *Applier) of(o *object) dynamic.ResourceInterface {
	resource, _ := meta.UnsafeGuessKindToResource(o.GroupVersionKind())
	if o.GetNamespace() == "" {
		return a.Client.Resource(resource)
	}
	return a.Client.Resource(resource).Namespace(o.GetNamespace())
}

// patience is how long the API server may take to serve a kind.
const patience = time.Minute

// await waits until the kinds are served that were applied, so that what follows may use them.
func (a *Applier) await(ctx context.Context, applied []object) error {
	until := a.Clock.Now().Add(patience)
	for _, o := range applied {
		for o.GetKind() == "CustomResourceDefinition" {
			there, err := a.of(&o).Get(ctx, o.GetName(), metav1.GetOptions{})
			if err != nil {
				return err
			}
			if isServed(there) {
				break
			}
			if !a.Clock.Now().Before(until) {
				return fmt.Errorf("%s is applied, and not served after %s", &o, patience)
			}
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-a.Clock.After(100 * time.Millisecond):
			}
		}
	}
	return nil
}

func isServed(definition *unstructured.Unstructured) bool {
	conditions, _, _ := unstructured.NestedSlice(definition.Object, "status", "conditions")
	return slices.ContainsFunc(conditions, func(condition any) bool {
		fields, _ := condition.(map[string]any)
		return fields["type"] == "Established" && fields["status"] == "True"
	})
}

// kubeadmConfig has the ClusterConfiguration of kubeadm.
const kubeadmConfig = "ConfigMap kube-system/kubeadm-config"

// kubeadm edits kubeadm's ClusterConfiguration, where there is one. With dry set, it only tells whether that changes it.
func (a *Applier) kubeadm(ctx context.Context, dry bool, edit func(map[string]any) (bool, error)) (changed bool, err error) {
	configMaps := a.Client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}).Namespace(metav1.NamespaceSystem)
	there, err := configMaps.Get(ctx, "kubeadm-config", metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read %s: %w", kubeadmConfig, err)
	}
	before, _, _ := unstructured.NestedString(there.Object, "data", "ClusterConfiguration")
	after, err := edited(before, edit)
	if err != nil {
		return false, fmt.Errorf("%s: %w", kubeadmConfig, err)
	}
	if before == after || dry {
		return before != after, nil
	}
	if err := unstructured.SetNestedField(there.Object, after, "data", "ClusterConfiguration"); err != nil {
		return false, err
	}
	_, err = configMaps.Update(ctx, there, metav1.UpdateOptions{FieldManager: fieldManager})
	return err == nil, err
}

// ForgetKubeadm takes back what TellKubeadm changes, and returns whether there is anything. With dry set, it only tells.
func (a *Applier) ForgetKubeadm(ctx context.Context, dry bool) (bool, error) {
	return a.kubeadm(ctx, dry, nodeOf(Kubeadm).takeFromCluster)
}
