package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"time"

	extenderv1 "k8s.io/kube-scheduler/extender/v1"

	"muster.dev/muster/e2e/binaries"
	"muster.dev/muster/e2e/process"
)

// visitors is the scheduler name of the pods that come between two measurements. Its
// profile places what it is asked about.
const visitors = "visitors"

// loadTimeout is for muster to read some hundred megabytes.
const loadTimeout = 2 * time.Minute

const servedConfig = `apiVersion: config.muster.dev/v1alpha2
kind: MusterConfiguration
timeouts: {assume: 1h}
profiles:
- schedulerName: default-scheduler
- schedulerName: ` + visitors + `
  nodeSelection: Extender
`

// served is a muster of its own process that knows a cluster.
type served struct {
	in     *input
	url    string
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
	program, err := binaries.BuildMuster(ctx, dir, progress)
	if err != nil {
		return nil, err
	}
	config := filepath.Join(dir, "muster.yaml")
	if err := os.WriteFile(config, []byte(servedConfig), 0o600); err != nil {
		return nil, err
	}
	var servers []*served
	for _, size := range sizes {
		s, running, err := serve(ctx, newInput(size), program, "serve", "--config="+config)
		if running != nil {
			defer running.Kill()
		}
		if err != nil {
			return nil, fmt.Errorf("serve %d nodes: %w", size, err)
		}
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

// serve starts muster with a dump of the input and returns when it is ready. The process
// must be ended if there is one, whatever the error.
func serve(ctx context.Context, in *input, program string, args ...string) (*served, *process.Process, error) {
	dump := fmt.Sprintf("%s-%d.json", program, len(in.nodes))
	if err := in.dump(dump); err != nil {
		return nil, nil, err
	}
	port, err := process.FreePort()
	if err != nil {
		return nil, nil, err
	}
	address := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	running, err := process.Start(process.Spec{
		Name: "muster",
		Path: program,
		Log:  dump + ".log",
		Args: append(args, "--snapshot="+dump, "--listen="+address, "--debug-listen=127.0.0.1:0"),
	})
	if err != nil {
		return nil, nil, err
	}
	s := &served{in: in, url: "http://" + address}
	ctx, cancel := context.WithTimeoutCause(ctx, loadTimeout, fmt.Errorf("gave up after %s", loadTimeout))
	defer cancel()
	if err := running.Await(ctx, func(ctx context.Context) error { return s.call(ctx, http.MethodGet, "/readyz", nil) }); err != nil {
		return nil, running, err
	}
	names := make([]string, len(in.nodes))
	for i, at := range rand.New(rand.NewPCG(1, 1)).Perm(len(names)) {
		names[i] = in.nodes[at].Name
	}
	s.body, err = json.Marshal(extenderv1.ExtenderArgs{Pod: in.pending, NodeNames: &names})
	return s, running, err
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
	return s.call(ctx, http.MethodPost, "/filter", body)
}

// call reads the answer into memory that is used again, so that the caller's own work
// stays small beside what is measured.
func (s *served) call(ctx context.Context, method, path string, body []byte) error {
	request, err := http.NewRequestWithContext(ctx, method, s.url+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	s.answer.Reset()
	_, err = s.answer.ReadFrom(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s %s: %s: %s", method, request.URL, response.Status, &s.answer)
	}
	return err
}
