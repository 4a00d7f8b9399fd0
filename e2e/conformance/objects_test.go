package conformance

import (
	"log/slog"
	"reflect"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"

	"muster.dev/muster/cluster"
)

func TestObjectsOfEveryKindReachBothSides(t *testing.T) {
	var objects Objects
	lists := reflect.ValueOf(&objects).Elem()
	for _, list := range lists.Fields() {
		object := reflect.New(list.Type().Elem().Elem())
		object.Interface().(metav1.Object).SetName("one")
		list.Set(reflect.Append(list, object))
	}
	if got, want := len(objects.all()), lists.NumField(); got != want {
		t.Fatalf("objects of %d kinds, want %d", got, want)
	}

	factory := informers.NewSharedInformerFactory(&kubernetes.Clientset{}, 0)
	if err := objects.fill(factory); err != nil {
		t.Fatal(err)
	}
	c := cluster.New(cluster.Options{Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry(), AssumeTTL: time.Hour})
	for _, kind := range objects.kinds() {
		if kind.informer != nil {
			if got := kind.informer(factory).GetIndexer().ListKeys(); len(got) != 1 {
				t.Errorf("kube-scheduler finds %d objects of type %T", len(got), kind.objects[0])
			}
		}
		if err := set(c, kind.objects[0]); err != nil {
			t.Error(err)
		}
	}
}
