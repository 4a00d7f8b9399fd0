package controlplane

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"muster.dev/muster/e2e/await"
	"muster.dev/muster/e2e/binaries"
)

// nodeGrace is how long a node may be silent before it counts as lost: twice what KWOK
// promises.
const nodeGrace = 2 * nodeLease

const nodeLifecycle = "node-lifecycle-controller"

// DefaultControllers returns the controllers that workloads, nodes and volumes need. The others only
// cost time here: there are no clouds, no certificates to sign and no proxies.
func DefaultControllers() []string {
	return []string{
		"clusterrole-aggregation-controller",
		"cronjob-controller",
		"daemonset-controller",
		"deployment-controller",
		"disruption-controller",
		"ephemeral-volume-controller",
		"garbage-collector-controller",
		"job-controller",
		"namespace-controller",
		nodeLifecycle,
		"persistentvolume-binder-controller",
		"persistentvolume-protection-controller",
		"persistentvolumeclaim-protection-controller",
		"pod-garbage-collector-controller",
		"replicaset-controller",
		"root-ca-certificate-publisher-controller",
		"serviceaccount-controller",
		"serviceaccount-token-controller",
		"statefulset-controller",
		"taint-eviction-controller",
		"ttl-after-finished-controller",
	}
}

// podCreation returns the controllers without which pods cannot be created in namespaces, except the ones that Start has
// an account made in.
func podCreation() []string {
	return []string{"serviceaccount-controller", "root-ca-certificate-publisher-controller"}
}

// withPodCreation adds the missing ones of podCreation to controllers, if there are any.
func withPodCreation(controllers []string) []string {
	if len(controllers) == 0 || slices.Contains(controllers, "*") {
		return controllers
	}
	all := slices.Clone(controllers)
	for _, c := range podCreation() {
		if !slices.Contains(all, c) {
			all = append(all, c)
		}
	}
	return all
}

// createAccounts creates the service account that pods are of by default, in the namespaces that the API server creates by
// itself. A controller does that otherwise.
func (cp *ControlPlane) createAccounts(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, await.Patience, fmt.Errorf("gave up after %s", await.Patience))
	defer cancel()
	for _, namespace := range []string{metav1.NamespaceDefault, metav1.NamespaceSystem, metav1.NamespacePublic, corev1.NamespaceNodeLease} {
		var last error
		err := wait.PollUntilContextCancel(ctx, 50*time.Millisecond, true, func(ctx context.Context) (bool, error) {
			account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
			_, last = cp.client.CoreV1().ServiceAccounts(namespace).Create(ctx, account, metav1.CreateOptions{})
			return last == nil || apierrors.IsAlreadyExists(last), nil
		})
		if err != nil {
			return fmt.Errorf("create the service account of pods in %s: %w", namespace, errors.Join(context.Cause(ctx), last))
		}
	}
	return nil
}

// StartControllerManager starts kube-controller-manager with controllers, and with the ones that pods of any namespace need.
// It returns when the default service account exists: from then on pods can be created.
func (cp *ControlPlane) StartControllerManager(ctx context.Context, controllers []string) error {
	kubeconfig := cp.kubeconfig(controllerManagerUser)
	args := []string{
		"--kubeconfig=" + kubeconfig,
		"--authentication-kubeconfig=" + kubeconfig,
		"--authorization-kubeconfig=" + kubeconfig,
		"--authentication-skip-lookup",
		"--bind-address=127.0.0.1",
		fmt.Sprintf("--secure-port=%d", cp.ports.controllerManager),
		"--leader-elect=false",
		"--controllers=" + strings.Join(withPodCreation(controllers), ","),
		"--use-service-account-credentials",
		"--root-ca-file=" + cp.file(authorityFile),
		"--service-account-private-key-file=" + cp.file(serviceAccountFile+".key"),
		"--kube-api-qps=10000",
		"--kube-api-burst=10000",
		"--concurrent-deployment-syncs=20",
		"--concurrent-replicaset-syncs=20",
		"--concurrent-job-syncs=20",
		fmt.Sprintf("--node-monitor-grace-period=%s", nodeGrace),
	}
	args = append(args, featureGates(cp.options.FeatureGates)...)
	return cp.start(ctx, binaries.ControllerManager, args, nil, func(ctx context.Context) error {
		_, err := cp.client.CoreV1().ServiceAccounts(metav1.NamespaceDefault).Get(ctx, "default", metav1.GetOptions{})
		return err
	})
}

// StopControllerManager ends kube-controller-manager as a crash would.
func (cp *ControlPlane) StopControllerManager() { cp.kill(binaries.ControllerManager) }

// TaintsNodes reports whether nodes are tainted when they are created, since a controller removes the taint.
func (o *Options) TaintsNodes() bool {
	return slices.Contains(o.Controllers, nodeLifecycle) || slices.Contains(o.Controllers, "*")
}
