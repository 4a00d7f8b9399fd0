package muster

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"

	corev1 "k8s.io/api/core/v1"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"
)

// Do sends a request to the verbs' address: a path, and a body of JSON or what pretends to be some.
func (s *Server) Do(ctx context.Context, method, path string, body io.Reader) (status int, answer string, err error) {
	request, err := http.NewRequestWithContext(ctx, method, s.URL()+path, body)
	if err != nil {
		return 0, "", err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := s.http.Do(request)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return response.StatusCode, strings.TrimSpace(string(text)), err
}

// ask calls a verb as the scheduler would: any status but 200 is an error.
func ask[Answer any](ctx context.Context, s *Server, verb string, request any) (answer Answer, err error) {
	body, err := json.Marshal(request)
	if err != nil {
		return answer, err
	}
	status, text, err := s.Do(ctx, http.MethodPost, "/"+verb, bytes.NewReader(body))
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("%s answered %d: %s", verb, status, text)
	}
	if err != nil {
		return answer, err
	}
	return answer, json.Unmarshal([]byte(text), &answer)
}

// Filter asks which of the nodes a pod fits.
func (s *Server) Filter(ctx context.Context, pod *corev1.Pod, nodes ...string) (extenderv1.ExtenderFilterResult, error) {
	return ask[extenderv1.ExtenderFilterResult](ctx, s, "filter", extenderv1.ExtenderArgs{Pod: pod, NodeNames: &nodes})
}

// Verdicts asks why a pod does not fit nodes: the reason by node, "" for nodes that it fits.
func (s *Server) Verdicts(ctx context.Context, pod *corev1.Pod, nodes ...string) (map[string]string, error) {
	answer, err := s.Filter(ctx, pod, nodes...)
	verdicts := map[string]string{}
	if answer.NodeNames != nil {
		for _, node := range *answer.NodeNames {
			verdicts[node] = ""
		}
	}
	maps.Copy(verdicts, answer.FailedNodes)
	maps.Copy(verdicts, answer.FailedAndUnresolvableNodes)
	return verdicts, err
}

// Offer asks which of the nodes a pod fits, and fails unless it fits all.
func (s *Server) Offer(ctx context.Context, pod *corev1.Pod, nodes ...string) error {
	answer, err := s.Filter(ctx, pod, nodes...)
	if err == nil && len(*answer.NodeNames) < len(nodes) {
		err = fmt.Errorf("of %v only %v are offered for %s", nodes, *answer.NodeNames, pod.Name)
	}
	return err
}

// Bind asks to bind a pod to a node, and returns the error of the answer. Muster refuses a node that it has not offered.
func (s *Server) Bind(ctx context.Context, pod *corev1.Pod, node string) error {
	answer, err := ask[extenderv1.ExtenderBindingResult](ctx, s, "bind", extenderv1.ExtenderBindingArgs{
		PodName: pod.Name, PodNamespace: pod.Namespace, PodUID: pod.UID, Node: node,
	})
	if err == nil && answer.Error != "" {
		err = errors.New(answer.Error)
	}
	return err
}

// FilterAndBind is Bind after asking about the node.
func (s *Server) FilterAndBind(ctx context.Context, pod *corev1.Pod, node string) error {
	if _, err := s.Filter(ctx, pod, node); err != nil {
		return err
	}
	return s.Bind(ctx, pod, node)
}
