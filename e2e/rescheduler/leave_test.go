package rescheduler

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/api/config"
	"muster.dev/muster/api/rescheduling/v1alpha1"
	"muster.dev/muster/e2e/lab"
	"muster.dev/muster/e2e/muster"
	"muster.dev/muster/e2e/workload"
)

func TestAPodIsSeparatedFromAnotherOneOnRequest(t *testing.T) {
	l := newCluster(t, v1alpha1.Auto, muster.Options{})
	l.takeRequests()
	before := l.small()
	l.createPod("noisy", "1", workload.On("n1")) // with room left for small, which the scores of kube-scheduler prefer to n2
	l.reschedule()
	l.Eventually("the rescheduler has seen noisy", func() error {
		return l.separate(
			before.Name,
			"noisy",
			"cache misses",
			http.StatusAccepted,
			fmt.Sprintf(`{"pod":"default/%s","node":"n1","from":"default/noisy"}`, before.Name),
		)
	})
	plan := l.moved(v1alpha1.Separate, before.UID)
	if want := "is to be separated from default/noisy: cache misses"; plan.Spec.Steps[0].Why != want {
		t.Errorf("the pod moved because it %s, want %s", plan.Spec.Steps[0].Why, want)
	}
	after := l.small()
	if _, asked := after.Annotations[v1alpha1.AnnotationSeparateFrom]; asked {
		t.Error("the request outlives the pod")
	}
	l.Eventually("the two are apart", func() error {
		return l.separate(
			after.Name,
			"noisy",
			"",
			http.StatusUnprocessableEntity,
			`{"errors":[{"field":"from","error":"Invalid value: \"default/noisy\": it is on node n1, and the pod on n2"}]}`,
		)
	})
}

func TestARequestToLeaveANodeSurvivesARestart(t *testing.T) {
	lab.Long(t)
	l := newCluster(t, v1alpha1.Auto, muster.Options{})
	l.takeRequests()
	before := l.small()
	l.cordon("n2", true) // so that nothing can be done about it yet
	l.reschedule()
	l.Eventually("the request is written down", func() error {
		return l.separate(before.Name, "", "", http.StatusAccepted, fmt.Sprintf(`{"pod":"default/%s","node":"n1","from":"n1"}`, before.Name))
	})
	l.crash()
	l.cordon("n2", false)
	l.Must(l.rescheduler.Restart(t.Context()))
	l.moved(v1alpha1.Separate, before.UID)
}

func TestAPodLeavesANodeThatWouldNotTakeItAnyMore(t *testing.T) {
	lab.Long(t)
	l := newCluster(t, v1alpha1.Auto, muster.Options{Selection: muster.Muster})
	l.configure(map[string]any{"repair": map[string]any{"checks": config.UsualRepairs()}})
	before := l.small()
	l.patchNode("n1", `{"spec":{"taints":[{"key":"maintenance","effect":"NoSchedule"}]}}`)
	l.reschedule()
	plan := l.moved(v1alpha1.Repair, before.UID)
	if want := "n1 would not take it now: node(s) had untolerated taint(s)"; plan.Spec.Steps[0].Why != want {
		t.Errorf("the pod moved because %s, want %s", plan.Spec.Steps[0].Why, want)
	}
	if _, err := l.plan(); err != nil { // the one that there was
		t.Error(err)
	}
}

// moved waits until a plan of a policy has moved small, of that UID, from n1 to n2.
func (l *cluster) moved(policy v1alpha1.Policy, uid types.UID) *v1alpha1.ReschedulingPlan {
	l.Helper()
	plan := l.awaitPlan(v1alpha1.Succeeded, "")
	step := plan.Spec.Steps[0]
	if plan.Spec.Policy != policy || len(plan.Spec.Steps) != 1 || step.Pod.UID != uid || step.From != "n1" || step.To != "n2" {
		l.Errorf("the plan is %+v", plan.Spec)
	}
	l.Eventually("it runs there", func() error { return l.isOn(l.small(), "n2") })
	return plan
}

func (l *cluster) cordon(node string, unschedulable bool) {
	l.Helper()
	l.patchNode(node, fmt.Sprintf(`{"spec":{"unschedulable":%t}}`, unschedulable))
}

func (l *cluster) patchNode(name, patch string) {
	l.Helper()
	_, err := l.Client.CoreV1().Nodes().Patch(l.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	l.Must(err)
}

// takeRequests has the rescheduler separate pods, and be asked for it.
func (l *cluster) takeRequests() {
	l.Helper()
	l.requests = lab.FreeAddress(l.T)
	l.configure(map[string]any{"separate": map[string]any{"enabled": true, "listen": l.requests}})
}

// separate asks to separate a pod from another one, or from its node when that is "", and says
// how the answer is not as it should be.
func (l *cluster) separate(pod, from, why string, status int, want string) error {
	body := fmt.Sprintf(`{"pod": "default/%s", "why": %q`, pod, why)
	if from != "" {
		body += fmt.Sprintf(`, "from": "default/%s"`, from)
	}
	request, err := http.NewRequestWithContext(
		l.Context(), http.MethodPost, "http://"+l.requests+"/separate", bytes.NewReader([]byte(body+"}")),
	)
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	got, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	if answer := strings.TrimSpace(string(got)); response.StatusCode != status || answer != want {
		return fmt.Errorf("answered %d: %s", response.StatusCode, answer)
	}
	return nil
}
