package preflight

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/kubernetes"

	"muster.dev/muster/api/config"
)

// unfollowed are the feature gates of Kubernetes that change what filters of kube-scheduler decide, and that muster does not
// follow, with the plugins of these filters (docs/compatibility.md). They are off by default.
func unfollowed() map[string]string {
	return map[string]string{
		"TaintTolerationComparisonOperators":           config.TaintToleration,
		"InPlacePodVerticalScalingSchedulerPreemption": "any plugin",
		"DRANodeAllocatableResources":                  config.NodeResourcesFit,
		"VolumeBindMountOptions":                       config.NodeDeclaredFeatures,
		"DRADerivedAttributes":                         config.DynamicResources,
		"DRADeviceCompatibilityGroups":                 config.DynamicResources,
		"DRAListTypeAttributes":                        config.DynamicResources,
		"DRAOptionalNodeOperations":                    config.DynamicResources,
	}
}

// mostMetrics is how many bytes of metrics are read.
const mostMetrics = 256 << 20

// MetricsOf reads the metrics of the API server.
func MetricsOf(client kubernetes.Interface) func(context.Context) (io.ReadCloser, error) {
	return func(ctx context.Context) (io.ReadCloser, error) {
		return client.Discovery().RESTClient().Get().AbsPath("/metrics").Stream(ctx)
	}
}

// features tells of gates that are on at the API server, as its metrics say. kube-scheduler's gates are its own; but the
// API server accepts or refuses what a pod or a node may say.
func (l *look) features() {
	c := Check{Check: "feature gates that muster does not follow", State: Unknown}
	on, err := l.enabled()
	switch {
	case err != nil:
		c.Found = err.Error()
		c.Follows = "docs/compatibility.md says which plugins must not be offloaded with which"
	case len(on) == 0:
		c.State, c.Found = OK, "none is on at the API server"
	default:
		c.State, c.Found, c.Follows = Missing, strings.Join(on, ", "), follows(on)
	}
	l.add(c)
}

// follows says what to do while gates are on. DynamicResources is never offloaded, but muster's may know of fewer devices.
func follows(on []string) string {
	plugins := sets.New[string]()
	for _, gate := range on {
		plugins.Insert(unfollowed()[gate])
	}
	var do []string
	devices := plugins.Has(config.DynamicResources)
	if plugins.Delete(config.DynamicResources); len(plugins) > 0 {
		do = append(do, "do not offload "+strings.Join(sets.List(plugins), ", "))
	}
	if devices {
		do = append(do, "muster may refuse nodes whose devices kube-scheduler would allocate by that gate")
	}
	return strings.Join(do, "; ")
}

var featureLine = regexp.MustCompile(`^kubernetes_feature_enabled\{name="([^"]+)",stage="[^"]*"\} 1$`)

// enabled returns the unfollowed gates that are on.
func (l *look) enabled() (on []string, err error) {
	body, err := l.Metrics(l.ctx)
	switch {
	case apierrors.IsForbidden(err):
		return nil, errors.New("must not be read: get on the non-resource URL /metrics is not allowed")
	case err != nil:
		return nil, fmt.Errorf("could not be read: %w", err)
	}
	defer body.Close()
	lines, told := bufio.NewScanner(io.LimitReader(body, mostMetrics)), false
	for lines.Scan() {
		told = told || strings.HasPrefix(lines.Text(), "kubernetes_feature_enabled{")
		if gate := featureLine.FindStringSubmatch(lines.Text()); gate != nil && unfollowed()[gate[1]] != "" {
			on = append(on, gate[1])
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("could not be read: %w", err)
	}
	if !told {
		return nil, errors.New("the metrics of the API server do not tell")
	}
	slices.Sort(on)
	return on, nil
}
