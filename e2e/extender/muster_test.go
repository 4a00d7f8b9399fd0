package extender_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	corev1 "k8s.io/api/core/v1"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"
	"sigs.k8s.io/yaml"

	"muster.dev/muster/e2e/muster"
	"muster.dev/muster/e2e/process"
)

// grace is how long a muster may take to stop; it lets calls in flight finish.
const grace = 30 * time.Second

// server is a muster process.
type server struct {
	*cluster
	process *process.Process
	config  string // the path of its configuration
	log     string // the path of its log
	url     string // of the verbs
	debug   string // the URL of pages and metrics
	http    *http.Client
}

// serving is how a muster is run. The zero value answers with the defaults, as
// administrator of the cluster.
type serving struct {
	config     string // the fields of a MusterConfiguration, in YAML
	kubeconfig string
	scheme     string
	client     *http.Client
	address    string // host:port, a free port when it is empty
}

// serve runs a muster until the test ends and returns when it is ready.
func (c *cluster) serve(o serving) *server {
	c.Helper()
	s := c.launch(o)
	ctx, cancel := context.WithTimeout(c.Context(), patience)
	defer cancel()
	if err := s.process.Await(ctx, func(context.Context) error { return s.status("/readyz") }); err != nil {
		c.Fatal(err)
	}
	return s
}

// launch runs a muster until the test ends and returns when it is alive.
func (c *cluster) launch(o serving) *server {
	c.Helper()
	dir := c.TempDir()
	s := &server{cluster: c, config: filepath.Join(dir, "muster.yaml"), log: filepath.Join(dir, "muster.log"), http: o.client}
	if s.http == nil {
		transport := &http.Transport{MaxIdleConnsPerHost: 100}
		c.Cleanup(transport.CloseIdleConnections)
		s.http = &http.Client{Transport: transport}
	}
	if o.kubeconfig == "" {
		o.kubeconfig = shared.Kubeconfig()
	}
	if o.scheme == "" {
		o.scheme = "http"
	}
	s.configure(o.config)
	if o.address == "" {
		o.address = c.freeAddress()
	}
	s.url = o.scheme + "://" + o.address
	debug := c.freeAddress()
	s.debug = "http://" + debug
	var err error
	s.process, err = process.Start(process.Spec{
		Name: "muster", Path: shared.muster, Log: s.log,
		Args: []string{"serve", "--config=" + s.config, "--kubeconfig=" + o.kubeconfig, "--listen=" + o.address, "--debug-listen=" + debug},
	})
	if err != nil {
		c.Fatal(err)
	}
	c.Cleanup(s.stop)
	ctx, cancel := context.WithTimeout(c.Context(), patience)
	defer cancel()
	if err := s.process.Await(ctx, func(context.Context) error { return s.status("/livez") }); err != nil {
		c.Fatal(err)
	}
	return s
}

// freeAddress is one of loopback at which nobody listens.
func (c *cluster) freeAddress() string {
	c.Helper()
	port, err := process.FreePort()
	if err != nil {
		c.Fatal(err)
	}
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
}

// configure writes the file of muster's configuration.
func (s *server) configure(fields string) {
	s.Helper()
	config := "apiVersion: config.muster.dev/v1alpha2\nkind: MusterConfiguration\n" + fields
	if err := os.WriteFile(s.config, []byte(config), 0o600); err != nil {
		s.Fatal(err)
	}
}

// stop ends muster, which must not have ended before.
func (s *server) stop() {
	if err := s.process.Err(); err != nil {
		s.Error(err)
	}
	s.process.Stop(grace)
	text, err := os.ReadFile(s.log)
	if err != nil {
		s.Error(err)
	}
	if bytes.Contains(text, []byte("panic")) {
		s.Errorf("muster panicked:\n%s", text)
	}
	if s.Failed() {
		s.Logf("muster's log ends with:\n%s", process.Tail(s.log))
	}
}

// schedulerConfig is what `muster scheduler-config` prints, with changes of the test.
func (s *server) schedulerConfig(flags []string, change ...func(config map[string]any)) string {
	s.Helper()
	printed, err := muster.SchedulerConfig(s.Context(), shared.muster, s.url, append([]string{"--config=" + s.config}, flags...)...)
	if err != nil {
		s.Fatal(err)
	}
	var config map[string]any
	if err := yaml.Unmarshal([]byte(printed), &config); err != nil {
		s.Fatal(err)
	}
	for _, f := range change {
		f(config)
	}
	changed, err := yaml.Marshal(config)
	if err != nil {
		s.Fatal(err)
	}
	return string(changed)
}

// get returns what a page says.
func (s *server) get(path string) (string, error) {
	response, err := s.http.Get(s.debug + path)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s answered %s: %s", path, response.Status, bytes.TrimSpace(text))
	}
	return string(text), err
}

// status is nil while a page answers 200.
func (s *server) status(path string) error {
	_, err := s.get(path)
	return err
}

// post sends a body to a verb.
func (s *server) post(verb string, body io.Reader) (status int, answer string, err error) {
	response, err := s.http.Post(s.url+"/"+verb, "application/json", body)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return response.StatusCode, strings.TrimSpace(string(text)), err
}

// ask calls a verb as the scheduler would: any status but 200 is an error.
func ask[Answer any](s *server, verb string, request any) (Answer, error) {
	var answer Answer
	body, err := json.Marshal(request)
	if err != nil {
		return answer, err
	}
	status, text, err := s.post(verb, bytes.NewReader(body))
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("%s answered %d: %s", verb, status, text)
	}
	if err != nil {
		return answer, err
	}
	return answer, json.Unmarshal([]byte(text), &answer)
}

// filter asks which of the nodes a pod fits.
func (s *server) filter(pod *corev1.Pod, nodes ...string) (extenderv1.ExtenderFilterResult, error) {
	return ask[extenderv1.ExtenderFilterResult](s, "filter", extenderv1.ExtenderArgs{Pod: pod, NodeNames: &nodes})
}

// offer asks filter about nodes for a pod, and wants all of them to be offered.
func (s *server) offer(pod *corev1.Pod, nodes ...string) error {
	answer, err := s.filter(pod, nodes...)
	if err == nil && len(*answer.NodeNames) < len(nodes) {
		err = fmt.Errorf("of %v only %v are offered for %s", nodes, *answer.NodeNames, pod.Name)
	}
	return err
}

// bind asks to bind a pod to a node about which filter is asked before, and returns the error of the
// answer.
func (s *server) bind(pod *corev1.Pod, node string) error {
	if _, err := s.filter(pod, node); err != nil {
		return err
	}
	return s.bindAsIs(pod, node)
}

// bindAsIs is bind for who has asked filter.
func (s *server) bindAsIs(pod *corev1.Pod, node string) error {
	answer, err := ask[extenderv1.ExtenderBindingResult](s, "bind", extenderv1.ExtenderBindingArgs{
		PodName: pod.Name, PodNamespace: pod.Namespace, PodUID: pod.UID, Node: node,
	})
	if err == nil && answer.Error != "" {
		err = errors.New(answer.Error)
	}
	return err
}

// calls is how many calls of a verb had an outcome.
func (s *server) calls(verb, outcome string) uint64 {
	s.Helper()
	var count uint64
	for _, metric := range s.metrics("muster_verb_duration_seconds") {
		if labels := labelsOf(metric); labels["verb"] == verb && labels["outcome"] == outcome {
			count += metric.GetHistogram().GetSampleCount()
		}
	}
	return count
}

// callsInFlight is how many calls of a verb are being answered.
func (s *server) callsInFlight(verb string) int {
	s.Helper()
	for _, metric := range s.metrics("muster_verb_calls_in_flight") {
		if labelsOf(metric)["verb"] == verb {
			return int(metric.GetGauge().GetValue())
		}
	}
	return 0
}

func (s *server) metrics(name string) []*dto.Metric {
	s.Helper()
	page, err := s.get("/metrics")
	if err != nil {
		s.Fatal(err)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(page))
	if err != nil {
		s.Fatal(err)
	}
	return families[name].GetMetric()
}

func labelsOf(metric *dto.Metric) map[string]string {
	labels := map[string]string{}
	for _, pair := range metric.GetLabel() {
		labels[pair.GetName()] = pair.GetValue()
	}
	return labels
}
