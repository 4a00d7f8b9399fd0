package soak

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"

	"muster.dev/muster/api/scheduling/v1alpha1"
)

// stranger calls the verbs about pods that do not exist.
type stranger struct {
	url  string
	http *http.Client
}

func newStranger(url string) *stranger {
	return &stranger{url: url, http: &http.Client{Timeout: 10 * time.Second}}
}

// ask calls each verb about the pods of a cohort that nobody creates, all at once: muster waits a little
// for such a pod to come. Whatever it answers, it must not keep it.
func (s *stranger) ask(ctx context.Context, number int) error {
	names := make([]string, nodes)
	for i := range names {
		names[i] = nodeName(i)
	}
	calls, ctx := errgroup.WithContext(ctx)
	unknown := newCohort(number, fmt.Sprintf("soak.example.com/nowhere-%d", number))
	for i, pod := range unknown.pods {
		pod.Name, pod.UID = "stranger-"+pod.Name, types.UID(fmt.Sprintf("stranger-%d-%d", number, i))
		pod.Spec.SchedulerName = corev1.DefaultSchedulerName
		if group, is := pod.Labels[v1alpha1.LabelX]; is {
			pod.Labels[v1alpha1.LabelX] = "stranger-" + group
		}
		for verb, body := range map[string]any{
			"filter":     extenderv1.ExtenderArgs{Pod: pod, NodeNames: &names},
			"prioritize": extenderv1.ExtenderArgs{Pod: pod, NodeNames: &names},
			"preempt":    extenderv1.ExtenderPreemptionArgs{Pod: pod, NodeNameToMetaVictims: map[string]*extenderv1.MetaVictims{names[0]: {}}},
			"bind":       extenderv1.ExtenderBindingArgs{PodName: pod.Name, PodNamespace: pod.Namespace, PodUID: pod.UID, Node: names[0]},
		} {
			calls.Go(func() error { return s.post(ctx, verb, body) })
		}
	}
	return calls.Wait()
}

func (s *stranger) post(ctx context.Context, verb string, body any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return fmt.Errorf("encode a call of %s: %w", verb, err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url+"/"+verb, bytes.NewReader(text))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := s.http.Do(request)
	if err != nil {
		return fmt.Errorf("call %s: %w", verb, err)
	}
	defer response.Body.Close()
	_, err = io.Copy(io.Discard, response.Body)
	return err
}
