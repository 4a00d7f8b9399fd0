package preflight

import (
	"context"
	"errors"
	"io"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func featureOn(gate string) string {
	return `kubernetes_feature_enabled{name="` + gate + `",stage="ALPHA"} 1` + "\n"
}

// TestThePageHasTheGatesThatAreNotFollowed holds the table of docs/compatibility.md against what preflight looks for.
func TestThePageHasTheGatesThatAreNotFollowed(t *testing.T) {
	page, err := os.ReadFile("../../docs/compatibility.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "## Feature gates\n")
	found := map[string]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| `(\\w+)`[^|]*\\| ([^:|]+?)(:[^|]*)? \\|$").FindAllStringSubmatch(table, -1) {
		if row[2] != "none" {
			found[row[1]] = row[2]
		}
	}
	want := unfollowed()
	want["InPlacePodVerticalScalingSchedulerPreemption"] = "all filters"
	if diff := cmp.Diff(want, found); diff != "" {
		t.Errorf("gates and plugins (-preflight +page):\n%s", diff)
	}
}

func TestGatesThatChangeFiltersAreNamed(t *testing.T) {
	fails := func(err error) func(context.Context) (io.ReadCloser, error) {
		return func(context.Context) (io.ReadCloser, error) { return nil, err }
	}
	const some = "apiserver_storage_size_bytes 1\n" + someFeatures
	for name, test := range map[string]struct {
		metrics        func(context.Context) (io.ReadCloser, error)
		state          State
		found, follows string
	}{
		"none is on": {metrics(some), OK, "none is on at the API server", ""},
		"some are on": {
			metrics(strings.ReplaceAll(some, "} 0", "} 1")), Missing,
			"DRANodeAllocatableResources, TaintTolerationComparisonOperators", "do not offload NodeResourcesFit, TaintToleration",
		},
		"one of devices is on": {
			metrics(featureOn("DRAListTypeAttributes")), Missing, "DRAListTypeAttributes", "may refuse nodes",
		},
		"the metrics do not tell": {metrics("apiserver_storage_size_bytes 1\n"), Unknown, "of the API server do not tell", "says which"},
		"they must not be read": {
			fails(apierrors.NewForbidden(schema.GroupResource{}, "", errors.New("no"))), Unknown, "non-resource URL /metrics", "says which",
		},
		"they cannot be read": {fails(errors.New("connection refused")), Unknown, "could not be read: connection refused", "says which"},
		"a line is endless":   {metrics(strings.Repeat("x", 1<<20)), Unknown, "could not be read", "says which"},
	} {
		t.Run(name, func(t *testing.T) {
			l := &look{Options: Options{Metrics: test.metrics}, ctx: t.Context(), report: &Report{}}
			l.features()
			c := l.report.Checks[0]
			if c.State != test.state || !strings.Contains(c.Found, test.found) || !strings.Contains(c.Follows, test.follows) || c.Required {
				t.Errorf("the check is %+v", c)
			}
		})
	}
}
