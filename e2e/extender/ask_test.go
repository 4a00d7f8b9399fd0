package extender_test

import (
	"bytes"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/e2e/lab"
	"muster.dev/muster/e2e/muster"
	"muster.dev/muster/e2e/workload"
)

// tells runs a command that asks a muster, and returns its exit status and all that it prints.
func (s *server) tells(args ...string) (int, string) {
	s.Helper()
	cmd := exec.CommandContext(s.Context(), lab.Program(s.T), append(args, "--server="+s.DebugURL())...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	if _, ended := errors.AsType[*exec.ExitError](err); err != nil && !ended {
		s.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), out.String()
}

func TestAMusterThatRunsTellsOfPodsAndOfItself(t *testing.T) {
	c := newCluster(t, workload.NewNode("a", "4"), workload.NewNode("b", "2"))
	s := c.serveAndSchedule(muster.Options{})
	c.createPods(
		workload.NewPod("small", "1"), workload.NewPod("big", "100"),
		workload.NewPod("stranger", "1", workload.ScheduledBy("nobody")),
		workload.NewPod("member", "1", func(pod *corev1.Pod) {
			pod.Labels = map[string]string{v1alpha1.LabelMuster: "crew"}
			pod.Annotations = map[string]string{v1alpha1.AnnotationMinMember: "3"}
		}),
	)
	for pod, test := range map[string]struct {
		status int
		wants  []string
	}{
		"small":    {0, []string{"is bound to node ", "fits on 2 of 2 nodes", "\nNODE "}},
		"big":      {3, []string{"waits: it fits on no node", "fits on 0 of 2 nodes", "\n2      NodeResourcesFit  Insufficient cpu\n"}},
		"stranger": {3, []string{"waits for a scheduler that is not muster's"}},
		"member":   {0, []string{"waits as a member of gang "}},
		"nothing":  {1, []string{"muster: pod: no pod "}},
	} {
		c.Eventually("of pod "+pod+" the truth is told", func() error {
			status, told := s.tells("explain", "pod", pod, "-n", c.Pod("small").Namespace)
			for _, want := range test.wants {
				if status != test.status || !strings.Contains(told, want) {
					return fmt.Errorf("exit status %d, want %d, and %q in:\n%s", status, test.status, want, told)
				}
			}
			return nil
		})
	}
	c.Eventually("the gang's reason is in the status", func() error {
		status, told := s.tells("status", "--rescheduler=http://127.0.0.1:1")
		for _, want := range []string{
			", ready\n", "2 nodes, 1 pods on them, 3 pending", "1 waiting, ", "/crew waits: ",
			"the rescheduler cannot be asked: nothing answers at http://127.0.0.1:1: it is off, or elsewhere, which --rescheduler says\n",
		} {
			if status != 0 || !strings.Contains(told, want) {
				return fmt.Errorf("exit status %d, want 0 and %q in:\n%s", status, want, told)
			}
		}
		return nil
	})
	rescheduler := c.Reschedule(s.Server, muster.Options{}, lab.FreeAddress(t)).URL()
	c.Eventually("the rescheduler tells of itself", func() error {
		status, told := s.tells("status", "--rescheduler="+rescheduler)
		if status != 0 || !strings.Contains(told, "rescheduler  mode DryRun, ") || !strings.Contains(told, "\nMakeRoom  ") {
			return fmt.Errorf("exit status %d:\n%s", status, told)
		}
		return nil
	})
}
