package controlplane

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"

	dto "github.com/prometheus/client_model/go"

	"muster.dev/muster/e2e/binaries"
)

// StartAPIServer starts kube-apiserver again after StopAPIServer, at the same address
// and with what is in etcd. It returns when the server is ready.
func (cp *ControlPlane) StartAPIServer(ctx context.Context) error {
	args := []string{
		"--bind-address=127.0.0.1",
		"--advertise-address=127.0.0.1",
		"--endpoint-reconciler-type=none",
		fmt.Sprintf("--secure-port=%d", cp.ports.apiServer),
		"--etcd-servers=http://" + local(cp.ports.etcdClient),
		"--service-cluster-ip-range=10.0.0.0/16",
		"--authorization-mode=Node,RBAC",
		"--allow-privileged=true",
		"--client-ca-file=" + cp.file(authorityFile),
		"--tls-cert-file=" + cp.file(serverFile+".crt"),
		"--tls-private-key-file=" + cp.file(serverFile+".key"),
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-signing-key-file=" + cp.file(serviceAccountFile+".key"),
		"--service-account-key-file=" + cp.file(serviceAccountFile+".crt"),
		"--requestheader-client-ca-file=" + cp.file(authorityFile),
		"--requestheader-allowed-names=" + frontProxyUser,
		"--requestheader-username-headers=X-Remote-User",
		"--requestheader-group-headers=X-Remote-Group",
		"--requestheader-extra-headers-prefix=X-Remote-Extra-",
		"--proxy-client-cert-file=" + cp.file(frontProxyFile+".crt"),
		"--proxy-client-key-file=" + cp.file(frontProxyFile+".key"),
		"--enable-priority-and-fairness=false",
		"--max-requests-inflight=0",
		"--max-mutating-requests-inflight=0",
	}
	if !cp.options.TaintsNodes() {
		args = append(args, "--disable-admission-plugins=TaintNodesByCondition")
	}
	args = append(args, featureGates(cp.options.FeatureGates)...)
	args = append(args, cp.options.APIServerFlags...)
	ready := func(ctx context.Context) error {
		return cp.client.Discovery().RESTClient().Get().AbsPath("/readyz").Do(ctx).Error()
	}
	for again := attempts - 1; ; again-- {
		err := cp.start(ctx, binaries.APIServer, args, nil, ready)
		if err == nil || again == 0 || !strings.Contains(err.Error(), gaveUp) {
			return err
		}
		fmt.Fprintf(cp.options.Progress, "%s gave up, and starts again\n", binaries.APIServer)
	}
}

// kube-apiserver ends by itself where a hook of its start takes longer than a minute, as on a busy machine. A kubelet
// would start it again. It ends with another status where it refuses its flags.
const (
	attempts = 3
	gaveUp   = "exit status 255" // klog.Fatal's
)

// StopAPIServer ends kube-apiserver as a crash would; everything else keeps running.
func (cp *ControlPlane) StopAPIServer() { cp.kill(binaries.APIServer) }

// featureGates is the flag that sets gates, none when there are none to set.
func featureGates(set map[string]bool) []string {
	if len(set) == 0 {
		return nil
	}
	var gates []string
	for name, on := range set {
		gates = append(gates, fmt.Sprintf("%s=%t", name, on))
	}
	slices.Sort(gates)
	return []string{"--feature-gates=" + strings.Join(gates, ",")}
}

// APIServerMetrics reads all metrics of the API server, by name.
func (cp *ControlPlane) APIServerMetrics(ctx context.Context) (map[string]*dto.MetricFamily, error) {
	text, err := cp.client.Discovery().RESTClient().Get().AbsPath("/metrics").DoRaw(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the API server's metrics: %w", err)
	}
	families, err := parseMetrics(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("parse the API server's metrics: %w", err)
	}
	return families, nil
}
