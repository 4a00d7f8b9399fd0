package source

import (
	"io"
	"log/slog"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"

	"muster.dev/muster/cluster"
)

func newCluster(t *testing.T, nodes ...string) *cluster.Cluster {
	t.Helper()
	c := cluster.New(cluster.Options{Logger: quiet(), Registerer: prometheus.NewRegistry(), AssumeTTL: time.Minute})
	for _, name := range nodes {
		must(t, c.Set(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}))
	}
	return c
}

func podOn(node, name string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(name)},
		Spec:       corev1.PodSpec{NodeName: node},
	}
}

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

func newHealth(recorder events.EventRecorder, r prometheus.Registerer, log io.Writer) *Health {
	return NewHealth(HealthOptions{
		Logger: slog.New(slog.NewTextHandler(log, nil)), Clock: clock.RealClock{}, Registerer: r, Source: "Metrics",
		Events: recorder, About: &corev1.ObjectReference{Kind: "Lease", Name: "muster"},
	})
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
