package source

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/go-faster/jx"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/metrics/pkg/apis/metrics/v1beta1"
	metricsv1beta1 "k8s.io/metrics/pkg/client/clientset/versioned/typed/metrics/v1beta1"

	"muster.dev/muster/api/bounded"
	"muster.dev/muster/cluster"
)

// MetricsAPI reads metrics.k8s.io, which metrics-server serves. An API server hands on what that
// says as it is, so it is decoded within bounds.
type MetricsAPI struct {
	client metricsv1beta1.MetricsV1beta1Interface
}

var _ Reader = (*MetricsAPI)(nil)

// NewMetricsAPI returns a Reader of metrics.k8s.io.
func NewMetricsAPI(client metricsv1beta1.MetricsV1beta1Interface) *MetricsAPI {
	return &MetricsAPI{client: client}
}

// Read implements Reader. It has no statistics.
func (m *MetricsAPI) Read(ctx context.Context, _ []time.Duration) (*Reading, error) {
	reading := &Reading{Nodes: map[string]NodeReading{}, Pods: map[types.NamespacedName]cluster.Resources{}}
	err := each(ctx, m, "nodes", func(node *v1beta1.NodeMetrics) {
		if node.Name == "" {
			return
		}
		if refused := Believe(node.Name, node.Usage); len(refused) > 0 {
			reading.Refused = append(reading.Refused, refused...)
			return
		}
		reading.Nodes[node.Name] = NodeReading{
			At: node.Timestamp.Time, Window: node.Window.Duration, Used: cluster.ResourcesOf(node.Usage),
		}
	})
	if err != nil {
		return nil, err
	}
	err = each(ctx, m, "pods", func(pod *v1beta1.PodMetrics) {
		if pod.Name == "" {
			return
		}
		name := types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}
		var used cluster.Resources
		for j := range pod.Containers {
			refused, measured := BelievePod(name, pod.Containers[j].Usage)
			reading.Refused = append(reading.Refused, refused...)
			if !measured {
				return
			}
			adds := cluster.ResourcesOf(pod.Containers[j].Usage)
			used = used.Plus(&adds)
		}
		if len(pod.Containers) > 0 {
			reading.Pods[name] = used
		}
	})
	if err != nil {
		return nil, err
	}
	return reading, nil
}

// each hands on the items of a resource, one after the other.
func each[Item any](ctx context.Context, m *MetricsAPI, resource string, take func(*Item)) error {
	text, err := m.client.RESTClient().Get().Resource(resource).SetHeader("Accept", runtime.ContentTypeJSON).Do(ctx).Raw()
	if err == nil {
		err = items(text, func(text []byte) error {
			item := new(Item)
			if err := bounded.Decode(text, item); err != nil {
				return err
			}
			take(item)
			return nil
		})
	}
	if err != nil {
		return fmt.Errorf("list %s of metrics.k8s.io: %w", resource, err)
	}
	return nil
}

// items hands on the items of a list.
func items(text []byte, take func(text []byte) error) error {
	text = bytes.TrimSpace(text)
	length, err := bounded.Length(text)
	if err != nil {
		return err
	}
	return bounded.Object(jx.DecodeBytes(text[:length]), func(d *jx.Decoder, field []byte) error {
		if string(field) != "items" || d.Next() == jx.Null {
			return d.Skip()
		}
		at := 0
		return bounded.Array(d, func(d *jx.Decoder) error {
			item, err := d.Raw()
			if err == nil {
				err = take(item)
			}
			if err != nil {
				return fmt.Errorf("items[%d]: %w", at, err)
			}
			at++
			return nil
		})
	})
}
