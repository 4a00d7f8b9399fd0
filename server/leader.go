package server

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/utils/ptr"

	"muster.dev/muster/api/config/v1alpha2"
	"muster.dev/muster/gang/record"
)

var errLeadershipLost = errors.New("leadership lost: the lease could not be renewed in time")

// epochRetry is the pause between two attempts to read the lease.
const epochRetry = time.Second

// lead runs for leadership until the context ends, and calls elected with the epoch when it
// is won. To lose it is an error: the process must end, as another may lead already.
func lead(ctx context.Context, client kubernetes.Interface, config v1alpha2.LeaderElection, elected func(record.Epoch)) error {
	host, err := os.Hostname()
	if err != nil {
		return fmt.Errorf("leader election: %w", err)
	}
	identity := host + "_" + string(uuid.NewUUID())
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: &resourcelock.LeaseLock{
			LeaseMeta:  metav1.ObjectMeta{Name: config.ResourceName, Namespace: config.ResourceNamespace},
			Client:     client.CoordinationV1(),
			LockConfig: resourcelock.ResourceLockConfig{Identity: identity},
		},
		LeaseDuration:   config.LeaseDuration.Duration,
		RenewDeadline:   config.RenewDeadline.Duration,
		RetryPeriod:     config.RetryPeriod.Duration,
		ReleaseOnCancel: true,
		Name:            config.ResourceName,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(leading context.Context) {
				if epoch, err := readEpoch(leading, client, config, identity); err == nil {
					elected(epoch)
				}
			},
			OnStoppedLeading: func() {},
		},
	})
	if err != nil {
		return fmt.Errorf("leader election: %w", err)
	}
	elector.Run(ctx)
	if ctx.Err() == nil {
		return errLeadershipLost
	}
	return nil
}

// readEpoch reads the epoch of a leader off its lease, and tries until the context ends.
func readEpoch(ctx context.Context, client kubernetes.Interface, config v1alpha2.LeaderElection, leader string) (epoch record.Epoch, err error) {
	err = wait.PollUntilContextCancel(ctx, epochRetry, true, func(ctx context.Context) (bool, error) {
		lease, err := client.CoordinationV1().Leases(config.ResourceNamespace).Get(ctx, config.ResourceName, metav1.GetOptions{})
		if err != nil {
			return false, nil //nolint:nilerr // it was there a moment ago
		}
		if ptr.Deref(lease.Spec.HolderIdentity, "") != leader {
			return false, errLeadershipLost
		}
		epoch = record.Epoch{Lease: lease.CreationTimestamp.UTC(), Transitions: ptr.Deref(lease.Spec.LeaseTransitions, 0)}
		return true, nil
	})
	return epoch, err
}
