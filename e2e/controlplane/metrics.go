package controlplane

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"muster.dev/muster/e2e/binaries"
)

// KubeletMetricsPath is where KWOK serves what a node uses. metrics-server reads the path from the
// node's [KubeletMetricsAnnotation].
func KubeletMetricsPath(node string) string {
	return "/metrics/nodes/" + node + "/metrics/resource"
}

// KubeletMetricsAnnotation of a node says where what it uses is served.
const KubeletMetricsAnnotation = "metrics.k8s.io/resource-metrics-path"

// StartMetricsServer starts metrics-server, which serves metrics.k8s.io through the API server
// from then on. It needs KubeletMetrics, and a running KWOK to have something to say.
func (cp *ControlPlane) StartMetricsServer(ctx context.Context) (err error) {
	if cp.extras[binaries.MetricsServer], err = binaries.EnsureExtra(ctx, binaries.MetricsServer, cp.options.Progress); err != nil {
		return err
	}
	if err := cp.registerMetrics(ctx); err != nil {
		return err
	}
	address := local(cp.ports.metricsServer)
	args := []string{
		"--kubeconfig=" + cp.Kubeconfig(),
		"--authentication-kubeconfig=" + cp.Kubeconfig(),
		"--authorization-kubeconfig=" + cp.Kubeconfig(),
		"--bind-address=127.0.0.1",
		fmt.Sprintf("--secure-port=%d", cp.ports.metricsServer),
		"--cert-dir=" + cp.file("metrics-server"),
		"--kubelet-preferred-address-types=InternalIP",
		"--kubelet-use-node-status-port",
		"--deprecated-kubelet-completely-insecure", // KWOK speaks http
		"--metric-resolution=10s",                  // the least that it takes
		"--kubelet-request-timeout=5s",
	}
	return cp.start(ctx, binaries.MetricsServer, args, nil, answers(selfSigned, "https://"+address+"/livez"))
}

// registerMetrics tells the API server where metrics.k8s.io is served: at a name that every machine
// has for itself, as there is no kube-proxy.
func (cp *ControlPlane) registerMetrics(ctx context.Context) error {
	const name = "metrics-server"
	_, err := cp.client.CoreV1().Services(metav1.NamespaceSystem).Create(ctx, &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "localhost"},
	}, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("create the service of metrics-server: %w", err)
	}
	client, err := dynamic.NewForConfig(cp.RESTConfig())
	if err != nil {
		return err
	}
	services := schema.GroupVersionResource{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"}
	_, err = client.Resource(services).Create(ctx, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService",
		"metadata": map[string]any{"name": "v1beta1.metrics.k8s.io"},
		"spec": map[string]any{
			"group": "metrics.k8s.io", "version": "v1beta1", "groupPriorityMinimum": int64(100), "versionPriority": int64(100),
			"insecureSkipTLSVerify": true,
			"service":               map[string]any{"namespace": metav1.NamespaceSystem, "name": name, "port": int64(cp.ports.metricsServer)},
		},
	}}, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("register metrics.k8s.io: %w", err)
	}
	return nil
}

// StopMetricsServer ends metrics-server; metrics.k8s.io is unavailable then.
func (cp *ControlPlane) StopMetricsServer() { cp.kill(binaries.MetricsServer) }

// StartPrometheus starts a Prometheus that scrapes what nodes use every second, with the name of the
// node as instance, and returns its address. It needs KubeletMetrics.
func (cp *ControlPlane) StartPrometheus(ctx context.Context, nodes ...string) (url string, err error) {
	if len(nodes) == 0 {
		return "", errors.New("start prometheus: there is nothing to scrape")
	}
	if cp.extras[binaries.Prometheus], err = binaries.EnsureExtra(ctx, binaries.Prometheus, cp.options.Progress); err != nil {
		return "", err
	}
	var config strings.Builder
	config.WriteString("global: {scrape_interval: 1s, scrape_timeout: 1s}\nscrape_configs:\n- job_name: kubelet\n  static_configs:\n")
	for _, node := range nodes {
		fmt.Fprintf(
			&config, "  - {targets: ['%s'], labels: {__metrics_path__: %s, instance: %s}}\n", local(cp.ports.kwok), KubeletMetricsPath(node), node,
		)
	}
	const file = "prometheus.yaml"
	if err := cp.write(file, []byte(config.String())); err != nil {
		return "", err
	}
	address := local(cp.ports.prometheus)
	args := []string{
		"--config.file=" + cp.file(file),
		"--storage.tsdb.path=" + cp.file("prometheus"),
		"--web.listen-address=" + address,
	}
	url = "http://" + address
	return url, cp.start(ctx, binaries.Prometheus, args, nil, answers(http.DefaultClient, url+"/-/ready"))
}

// StopPrometheus ends Prometheus.
func (cp *ControlPlane) StopPrometheus() { cp.kill(binaries.Prometheus) }
