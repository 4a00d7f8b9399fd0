package controlplane

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"strings"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"sigs.k8s.io/yaml"

	"muster.dev/muster/e2e/binaries"
)

// SchedulerOptions say how the stock scheduler runs. With the zero value it runs with its
// defaults.
type SchedulerOptions struct {
	// Config is a KubeSchedulerConfiguration in YAML, ConfigFile the path of one. At most one
	// of them may be set.
	Config     string
	ConfigFile string
	// FeatureGates are set on the scheduler alone, beside the control plane's.
	FeatureGates map[string]bool
	// Kubeconfig is the path of the one by which it reaches the API server, its own when empty.
	Kubeconfig string
	// Host is the name of the host that it takes itself to run on; see process.Spec.
	Host string
	// Patient replicas elect their leader by kube-scheduler's own times, and not by shorter ones.
	Patient bool
	// Limited has the limits stand that the configuration, or else the scheduler, sets on requests to the API server.
	Limited bool
}

const defaultSchedulerConfig = `
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
`

// StartScheduler starts the stock kube-scheduler and returns when its caches are synced. Its
// configuration is taken as it is, except the connection to the API server, which has no rate limit
// unless it is to, and leader election, which is off.
func (cp *ControlPlane) StartScheduler(ctx context.Context, o SchedulerOptions) error {
	return cp.startScheduler(ctx, binaries.Scheduler, cp.ports.scheduler, o, map[string]any{"leaderElect": false})
}

// startScheduler starts one under a name of its own, by which its files are called as well.
func (cp *ControlPlane) startScheduler(
	ctx context.Context,
	name binaries.Binary,
	port int,
	o SchedulerOptions,
	election map[string]any,
) error {
	config, err := o.read()
	if err != nil {
		return err
	}
	if config, err = o.connect(config, cp.kubeconfig(schedulerUser), election); err != nil {
		return err
	}
	file := strings.TrimPrefix(string(name), "kube-") + ".yaml"
	if err := cp.write(file, config); err != nil {
		return err
	}
	gates := map[string]bool{}
	maps.Copy(gates, cp.options.FeatureGates)
	maps.Copy(gates, o.FeatureGates)
	kubeconfig := cp.kubeconfig(schedulerUser)
	args := []string{
		"--config=" + cp.file(file),
		"--authentication-kubeconfig=" + kubeconfig,
		"--authorization-kubeconfig=" + kubeconfig,
		"--authentication-skip-lookup",
		"--authorization-always-allow-paths=/healthz,/livez,/readyz,/metrics",
		"--bind-address=127.0.0.1",
		fmt.Sprintf("--secure-port=%d", port),
	}
	args = append(args, featureGates(gates)...)
	cp.mu.Lock()
	cp.hosts[name] = o.Host
	cp.mu.Unlock()
	return cp.start(ctx, name, args, nil, answers(selfSigned, secure(port, "/readyz")))
}

// secure is the URL of a path at a port of this machine.
func secure(port int, path string) string { return "https://" + local(port) + path }

// SchedulerMetrics reads all metrics of the scheduler, by name.
func (cp *ControlPlane) SchedulerMetrics(ctx context.Context) (map[string]*dto.MetricFamily, error) {
	return metricsAt(ctx, cp.ports.scheduler)
}

func metricsAt(ctx context.Context, port int) (families map[string]*dto.MetricFamily, err error) {
	err = get(ctx, selfSigned, secure(port, "/metrics"), func(body io.Reader) (err error) {
		families, err = parseMetrics(body)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the scheduler's metrics: %w", err)
	}
	return families, nil
}

func parseMetrics(text io.Reader) (map[string]*dto.MetricFamily, error) {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	return parser.TextToMetricFamilies(text)
}

// StopScheduler ends the scheduler as a crash would.
func (cp *ControlPlane) StopScheduler() { cp.kill(binaries.Scheduler) }

func (o SchedulerOptions) read() ([]byte, error) {
	switch {
	case o.Config != "" && o.ConfigFile != "":
		return nil, fmt.Errorf("scheduler options have both a config and a config file %q", o.ConfigFile)
	case o.ConfigFile != "":
		config, err := os.ReadFile(o.ConfigFile)
		if err != nil {
			return nil, fmt.Errorf("read the scheduler's config: %w", err)
		}
		return config, nil
	case o.Config != "":
		return []byte(o.Config), nil
	}
	return []byte(defaultSchedulerConfig), nil
}

// connect sets what belongs to this cluster and not to the configuration under test.
func (o SchedulerOptions) connect(config []byte, kubeconfig string, election map[string]any) ([]byte, error) {
	var fields map[string]any
	if err := yaml.UnmarshalStrict(config, &fields); err != nil {
		return nil, fmt.Errorf("parse the scheduler's config: %w", err)
	}
	connection := map[string]any{"qps": 10000, "burst": 10000}
	if o.Limited {
		clear(connection)
		own, _ := fields["clientConnection"].(map[string]any)
		maps.Copy(connection, own)
	}
	connection["kubeconfig"] = cmp.Or(o.Kubeconfig, kubeconfig)
	connection["contentType"] = "application/vnd.kubernetes.protobuf"
	fields["clientConnection"] = connection
	fields["leaderElection"] = election
	return yaml.Marshal(fields)
}
