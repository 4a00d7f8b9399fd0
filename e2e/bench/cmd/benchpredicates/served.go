package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"time"

	extenderv1 "k8s.io/kube-scheduler/extender/v1"

	"muster.dev/muster/e2e/bench/lab"
	"muster.dev/muster/e2e/binaries"
)

// visitors is the scheduler name of the pods that come between two measurements. Its
// profile places what it is asked about.
const visitors = "visitors"

const servedConfig = `apiVersion: config.muster.dev/v1alpha2
kind: MusterConfiguration
timeouts: {bind: 1h}
profiles:
- schedulerName: default-scheduler
- schedulerName: ` + visitors + `
  nodeSelection: Muster
`

// served is a muster of its own process that knows a cluster.
type served struct {
	*lab.Served
	in     *input
	body   []byte // of a filter call about the pending pod and all nodes
	answer bytes.Buffer
}

// serveFilters times filter calls on clusters of those sizes, in turn. A pod comes to one
// node before each call.
func serveFilters(ctx context.Context, sizes []int, calls int, progress io.Writer) ([]series, error) {
	dir, err := os.MkdirTemp("", "muster-benchpredicates-")
	if err != nil {
		return nil, fmt.Errorf("make a directory for programs: %w", err)
	}
	defer os.RemoveAll(dir)
	program, err := binaries.BuildMuster(ctx, progress)
	if err != nil {
		return nil, err
	}
	config := filepath.Join(dir, "muster.yaml")
	if err := os.WriteFile(config, []byte(servedConfig), 0o600); err != nil {
		return nil, err
	}
	var servers []*served
	for _, size := range sizes {
		s, err := serve(ctx, newInput(size), program, config)
		if err != nil {
			return nil, fmt.Errorf("serve %d nodes: %w", size, err)
		}
		defer s.Stop()
		servers = append(servers, s)
	}
	took := make([]series, len(servers))
	for call := range warmUp + calls {
		for i, s := range servers {
			if err := s.visit(ctx, call); err != nil {
				return nil, err
			}
			began := time.Now()
			if err := s.filter(ctx, s.body); err != nil {
				return nil, err
			}
			if call >= warmUp {
				took[i] = append(took[i], time.Since(began))
			}
		}
	}
	return took, nil
}

// serve starts muster with a dump of the input and returns when it is ready.
func serve(ctx context.Context, in *input, program, config string) (s *served, err error) {
	dump := fmt.Sprintf("%s-%d.json", program, len(in.nodes))
	if err := lab.WriteDump(dump, in.nodes, append(in.placed, in.pending)); err != nil {
		return nil, err
	}
	names := make([]string, len(in.nodes))
	for i, at := range rand.New(rand.NewPCG(1, 1)).Perm(len(names)) {
		names[i] = in.nodes[at].Name
	}
	s = &served{in: in}
	if s.body, err = json.Marshal(extenderv1.ExtenderArgs{Pod: in.pending, NodeNames: &names}); err != nil {
		return nil, err
	}
	s.Served, err = lab.ServeSnapshot(ctx, program, config, dump)
	return s, err
}

// visit lets a pod of another Deployment come to a node.
func (s *served) visit(ctx context.Context, call int) error {
	pod := s.in.one(1, fmt.Sprintf("visitor-%d", call))
	pod.Spec.SchedulerName = visitors
	zone := s.in.byZone[call%len(s.in.byZone)]
	node := zone[call*stride%len(zone)].Name
	body, err := json.Marshal(extenderv1.ExtenderArgs{Pod: pod, NodeNames: &[]string{node}})
	if err != nil {
		return err
	}
	if err := s.filter(ctx, body); err != nil {
		return err
	}
	var result extenderv1.ExtenderFilterResult
	if err := json.Unmarshal(s.answer.Bytes(), &result); err != nil {
		return err
	}
	if result.NodeNames == nil || len(*result.NodeNames) != 1 {
		return fmt.Errorf("pod %s did not come to node %s: %s", pod.Name, node, &s.answer)
	}
	return nil
}

func (s *served) filter(ctx context.Context, body []byte) error {
	return lab.Call(ctx, http.MethodPost, s.URL+"/filter", body, &s.answer)
}
