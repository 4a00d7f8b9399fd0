package controlplane

import (
	"context"
	_ "embed"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	kubeletmetrics "sigs.k8s.io/kwok/kustomize/metrics/resource"
	kubeletusage "sigs.k8s.io/kwok/kustomize/metrics/usage"
	nodestages "sigs.k8s.io/kwok/kustomize/stage/node/fast"
	podstages "sigs.k8s.io/kwok/kustomize/stage/pod/fast"

	"muster.dev/muster/e2e/binaries"
)

// RunsForAnnotation on a pod says how long it runs before it succeeds, as a duration
// like 30s. A pod without it runs until it is deleted.
const RunsForAnnotation = "e2e.muster.dev/runs-for"

// nodeLease is the duration of the leases by which KWOK keeps nodes alive. It renews
// each after a quarter of that, so thousands of nodes cost a few requests a second.
const nodeLease = 10 * time.Minute

//go:embed kwok-options.yaml
var kwokOptions string

//go:embed kwok-pod-succeeds.yaml
var podSucceeds string

// StartKWOK starts KWOK for all nodes: they become ready, pods bound to them run, and
// deleted pods vanish.
func (cp *ControlPlane) StartKWOK(ctx context.Context) error {
	const config = "kwok.yaml"
	stages := []string{kwokOptions, nodestages.DefaultNodeInit, podstages.DefaultPodReady, podSucceeds, podstages.DefaultPodDelete}
	if cp.options.KubeletMetrics {
		stages = append(stages, kubeletmetrics.DefaultMetricsResource, kubeletusage.DefaultUsageFromAnnotation)
	}
	for port, address := range cp.options.PodPorts {
		forward, err := portForward(port, address)
		if err != nil {
			return err
		}
		stages = append(stages, forward)
	}
	if err := cp.write(config, []byte(strings.Join(stages, "\n---\n"))); err != nil {
		return err
	}
	address := local(cp.ports.kwok)
	args := []string{
		"--kubeconfig=" + cp.Kubeconfig(),
		"--config=" + cp.file(config),
		"--manage-all-nodes",
		"--server-address=" + address,
		fmt.Sprintf("--node-lease-duration-seconds=%d", int(nodeLease.Seconds())),
	}
	if cp.options.KubeletMetrics || len(cp.options.PodPorts) > 0 {
		args = append(args, "--node-ip=127.0.0.1", fmt.Sprintf("--node-port=%d", cp.ports.kwok))
	}
	workdir := []string{"KWOK_WORKDIR=" + cp.dir}
	return cp.start(ctx, binaries.KWOK, args, workdir, answers(http.DefaultClient, "http://"+address+"/healthz"))
}

// portForward has KWOK forward a port of every pod to an address.
func portForward(port int, address string) (string, error) {
	host, target, err := net.SplitHostPort(address)
	if err != nil {
		return "", fmt.Errorf("port %d of pods: %w", port, err)
	}
	return fmt.Sprintf(`apiVersion: kwok.x-k8s.io/v1alpha1
kind: ClusterPortForward
metadata: {name: port-%d}
spec: {forwards: [{ports: [%d], target: {address: %s, port: %s}}]}
`, port, port, host, target), nil
}

// StopKWOK ends KWOK: nodes and pods stay as they are.
func (cp *ControlPlane) StopKWOK() { cp.kill(binaries.KWOK) }
