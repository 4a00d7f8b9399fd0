package workload

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The files of the openb trace, and how its GPUs appear: all GPUs of a node are one
// extended resource, counted in thousandths of a GPU.
const (
	openbNodes = "openb_nodes.csv"
	openbPods  = "openb_pods.csv"

	GPUMilliResource = corev1.ResourceName("example.com/gpu-milli")
	GPUModelLabel    = "example.com/gpu-model"
)

// LoadOpenB reads the openb trace from a directory. Every pod of the trace is there
// once, whatever became of it, shuffled by the seed. Names begin with the position in
// that order, so that a list of the pods has it too.
func LoadOpenB(dir string, seed uint64) (*Cluster, error) {
	c := &Cluster{}
	err := eachRecord(filepath.Join(dir, openbNodes), func(r record) error {
		node, err := r.openbNode()
		c.Nodes = append(c.Nodes, node)
		return err
	})
	if err != nil {
		return nil, err
	}
	err = eachRecord(filepath.Join(dir, openbPods), func(r record) error {
		pod, err := r.openbPod()
		c.Pods = append(c.Pods, pod)
		return err
	})
	if err != nil {
		return nil, err
	}
	rand.New(rand.NewPCG(seed, 0)).Shuffle(len(c.Pods), func(i, j int) { c.Pods[i], c.Pods[j] = c.Pods[j], c.Pods[i] })
	for i, p := range c.Pods {
		p.Name = fmt.Sprintf("%05d-%s", i, p.Name)
	}
	return c, nil
}

func (r record) openbNode() (*corev1.Node, error) {
	cpu, memory, gpus := r.number("cpu_milli"), r.number("memory_mib"), r.number("gpu")
	room := corev1.ResourceList{
		corev1.ResourceCPU:    *resource.NewMilliQuantity(cpu, resource.DecimalSI),
		corev1.ResourceMemory: *resource.NewQuantity(memory<<20, resource.BinarySI),
		corev1.ResourcePods:   *resource.NewQuantity(podsPerNode, resource.DecimalSI),
	}
	name := r.text("sn")
	labels := map[string]string{corev1.LabelHostname: name}
	if gpus > 0 {
		room[GPUMilliResource] = *resource.NewQuantity(gpus*1000, resource.DecimalSI)
		labels[GPUModelLabel] = r.text("model")
	}
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels},
		Status:     corev1.NodeStatus{Capacity: room, Allocatable: room},
	}, r.err()
}

func (r record) openbPod() (*corev1.Pod, error) {
	main := container("main", float64(r.number("cpu_milli")), float64(r.number("memory_mib")))
	gpuMilli := r.number("gpu_milli")
	if n := r.number("num_gpu"); n > 1 {
		gpuMilli = n * 1000
	}
	if gpuMilli > 0 {
		gpus := *resource.NewQuantity(gpuMilli, resource.DecimalSI)
		main.Resources.Requests[GPUMilliResource] = gpus
		main.Resources.Limits = corev1.ResourceList{GPUMilliResource: gpus}
	}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: r.text("name"), Namespace: Namespace},
		Spec: corev1.PodSpec{
			TerminationGracePeriodSeconds: new(int64(0)),
			Containers:                    []corev1.Container{main},
		},
	}, r.err()
}

// record is a row of a CSV file by column name. The first mistake is kept for err.
type record struct {
	path   string
	line   int
	values map[string]string
	failed *error
}

func eachRecord(path string, visit func(record) error) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("open the trace: %w", err)
	}
	defer f.Close()
	rows := csv.NewReader(f)
	header, err := rows.Read()
	if err != nil {
		return fmt.Errorf("read the header of %s: %w", path, err)
	}
	for {
		row, err := rows.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read %s: %w", path, err)
		}
		line, _ := rows.FieldPos(0)
		r := record{path: path, line: line, values: map[string]string{}, failed: new(error)}
		for i, column := range header {
			r.values[column] = row[i]
		}
		if err := visit(r); err != nil {
			return err
		}
	}
}

func (r record) text(column string) string {
	value, ok := r.values[column]
	if !ok && *r.failed == nil {
		*r.failed = fmt.Errorf("%s has no column %q", r.path, column)
	}
	return value
}

func (r record) number(column string) int64 {
	text := r.text(column)
	n, err := strconv.ParseInt(text, 10, 64)
	if (err != nil || n < 0) && *r.failed == nil {
		*r.failed = fmt.Errorf("%s:%d: %s is %q, want a number of at least 0", r.path, r.line, column, text)
	}
	return n
}

func (r record) err() error { return *r.failed }
