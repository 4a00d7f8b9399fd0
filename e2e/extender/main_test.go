package extender_test

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"testing"

	"k8s.io/client-go/kubernetes"

	"muster.dev/muster/e2e/binaries"
	"muster.dev/muster/e2e/controlplane"
)

// shared is what all tests use: a control plane without scheduler and without machines,
// and the muster of this checkout.
var shared struct {
	*controlplane.ControlPlane
	client kubernetes.Interface
	muster string // the path of the binary
}

func TestMain(m *testing.M) {
	code, err := runTests(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func runTests(m *testing.M) (code int, err error) {
	dir, err := os.MkdirTemp("", "muster-e2e-")
	if err != nil {
		return 1, err
	}
	ctx := context.Background()
	shared.ControlPlane, err = controlplane.Start(ctx, controlplane.Options{
		Dir: dir, Controllers: []string{"replicaset-controller", "resourceclaim-controller"}, Progress: os.Stderr,
	})
	if err != nil {
		return 1, err
	}
	defer shared.Stop()
	stopOnInterrupt()
	if shared.client, err = kubernetes.NewForConfig(shared.RESTConfig()); err != nil {
		return 1, err
	}
	if shared.muster, err = binaries.BuildMuster(ctx, os.Stderr); err != nil {
		return 1, err
	}
	if code = m.Run(); code != 0 {
		fmt.Fprintf(os.Stderr, "logs of the control plane and of muster: %s\n", dir)
		return code, nil
	}
	select {
	case err := <-shared.Failed():
		return 1, err
	default:
	}
	shared.Stop()
	return 0, os.RemoveAll(dir)
}

func stopOnInterrupt() {
	interrupted := make(chan os.Signal, 1)
	signal.Notify(interrupted, os.Interrupt)
	go func() {
		<-interrupted
		shared.Stop()
		os.Exit(130)
	}()
}
