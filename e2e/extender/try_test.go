package extender_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/e2e/lab"
	"muster.dev/muster/e2e/muster"
	"muster.dev/muster/e2e/workload"
)

// submitter tries jobs before it submits them, and holds what comes of them against what was said.
type submitter struct {
	*server
	random *rand.Rand
	kept   []*batchv1.Job // that run, the first one first
	right  int
}

const rackOfTry = "example.com/rack"

// Jobs are of one to six pods on eight nodes of eight CPUs in two racks, and half of them gangs. Some ask for one rack, and some for nodes
// that there are not.
func (s *submitter) job(number int) *batchv1.Job {
	pods, cpus := 1+s.random.Int32N(6), []string{"1", "2", "4", "8"}[s.random.IntN(4)]
	job := &batchv1.Job{
		TypeMeta:   metav1.TypeMeta{APIVersion: "batch/v1", Kind: "Job"},
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("job-", number), Namespace: workload.Namespace},
		Spec: batchv1.JobSpec{Parallelism: &pods, Completions: &pods, Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever,
			Containers: []corev1.Container{{Name: "main", Image: "example.com/main", Resources: corev1.ResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpus)},
			}}},
		}}},
	}
	template := &job.Spec.Template
	if s.random.IntN(2) == 0 {
		job.Annotations = map[string]string{v1alpha1.AnnotationGangScope: v1alpha1.ScopeAll}
		if s.random.IntN(3) == 0 {
			template.Annotations = map[string]string{v1alpha1.AnnotationRequiredTopology: rackOfTry}
		}
	}
	if s.random.IntN(3) > 0 {
		template.Spec.ActiveDeadlineSeconds = new(3600 * (1 + s.random.Int64N(5)))
	}
	if s.random.IntN(12) == 0 {
		template.Spec.NodeSelector = map[string]string{"example.com/nowhere": ""}
	}
	return job
}

// tried has the answer of 'muster try' about a job.
type tried struct {
	Outcome string
	Parts   []struct {
		At   time.Time
		More []struct{ Nodes int }
	}
}

func (s *submitter) try(job *batchv1.Job) (told tried) {
	s.Helper()
	text, err := yaml.Marshal(job)
	s.Must(err)
	path := filepath.Join(s.TempDir(), job.Name)
	s.Must(os.WriteFile(path, text, 0o600))
	cmd := exec.CommandContext(s.Context(), lab.Program(s.T), "try", "-f", path, "-o", "json", "--kubeconfig", s.Kubeconfig(),
		"--config", s.Config())
	var complaints strings.Builder
	cmd.Stderr = &complaints
	answer, err := cmd.Output()
	if _, ended := errors.AsType[*exec.ExitError](err); err != nil && !ended {
		s.Fatal(err)
	}
	if err := json.Unmarshal(answer, &told); err != nil {
		s.Fatalf("%v: it says %s, %s", err, answer, complaints.String())
	}
	want := map[string]int{"Now": 0, "Never": 3, "AfterMoves": 4, "Later": 5, "MoreNodes": 6, "AfterEvictions": 7}[told.Outcome]
	if got := cmd.ProcessState.ExitCode(); got != want {
		s.Errorf("the exit status is %d for %s, want %d", got, told.Outcome, want)
	}
	return told
}

// scheduled returns the condition of a pod that says whether it has a node.
func scheduled(pod *corev1.Pod) corev1.PodCondition {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodScheduled {
			return condition
		}
	}
	return corev1.PodCondition{}
}

// places counts the pods of a job that are bound, and that were refused.
func (s *submitter) places(job *batchv1.Job) (bound, refused int) {
	for _, pod := range s.Pods() {
		if pod.Labels[batchv1.JobNameLabel] != job.Name {
			continue
		}
		switch {
		case pod.Spec.NodeName != "":
			bound++
		case scheduled(pod).Reason == corev1.PodReasonUnschedulable:
			refused++
		}
	}
	return bound, refused
}

// runs reports whether a job gets to run. It does not as long as some of its pods are refused after all others have been decided about.
func (s *submitter) runs(job *batchv1.Job) (runs bool) {
	s.Helper()
	s.Eventually("pods of "+job.Name+" are decided about", func() error {
		bound, refused := s.places(job)
		if bound+refused < int(*job.Spec.Parallelism) {
			return fmt.Errorf("%d are bound and %d refused", bound, refused)
		}
		return nil
	})
	if *job.Spec.Parallelism > 1 && job.Annotations[v1alpha1.AnnotationGangScope] != "" {
		s.Eventually("places are sought for the gang "+job.Name, func() error {
			page, err := s.Page(s.Context(), "/debug/when/"+job.Namespace+"/"+job.Name)
			for _, sought := range []string{"starts about", "no promise, as", "does not wait"} {
				if strings.Contains(page, sought) {
					return err
				}
			}
			return fmt.Errorf("it is said: %s, %w", page, err)
		})
	}
	return s.allBound(job) == nil
}

func (s *submitter) allBound(job *batchv1.Job) error {
	if bound, _ := s.places(job); bound < int(*job.Spec.Parallelism) {
		return fmt.Errorf("%d pods are bound", bound)
	}
	return nil
}

// remove deletes a job with its pods.
func (s *submitter) remove(job *batchv1.Job) {
	s.Helper()
	policy := metav1.DeletePropagationOrphan
	s.Must(s.Client.BatchV1().Jobs(job.Namespace).Delete(s.Context(), job.Name, metav1.DeleteOptions{PropagationPolicy: &policy}))
	s.Eventually(job.Name+" is gone", func() error {
		left := 0
		for name, pod := range s.Pods() {
			if pod.Labels[batchv1.JobNameLabel] != job.Name {
				continue
			}
			left++
			err := s.Client.CoreV1().Pods(pod.Namespace).Delete(s.Context(), name, *metav1.NewDeleteOptions(0))
			if err != nil && !apierrors.IsNotFound(err) {
				return err
			}
		}
		if left > 0 {
			return fmt.Errorf("%d pods are left", left)
		}
		return nil
	})
}

// submit submits a job, and reports whether what was said comes true. The job runs afterwards, or is gone.
func (s *submitter) submit(job *batchv1.Job, told *tried) bool {
	s.Helper()
	_, err := s.Client.BatchV1().Jobs(job.Namespace).Create(s.Context(), job, metav1.CreateOptions{})
	s.Must(err)
	if told.Outcome == "Now" {
		s.Eventually(job.Name+" runs, as was said", func() error { return s.allBound(job) })
		s.kept = append(s.kept, job)
		return true
	}
	right := !s.runs(job)
	switch part := &told.Parts[0]; told.Outcome {
	case "Later":
		s.end(part.At)
		s.Eventually(job.Name+" runs once others have ended", func() error { return s.allBound(job) })
		s.kept = append(s.kept, job)
		return right
	case "MoreNodes":
		if len(job.Spec.Template.Annotations) == 0 {
			more := workload.NewNodes("more", part.More[0].Nodes, "8")
			s.createNodes(more...)
			s.Eventually(fmt.Sprintf("%s runs on %d more nodes", job.Name, len(more)), func() error { return s.allBound(job) })
			s.remove(job)
			for _, node := range more {
				s.Must(s.Client.CoreV1().Nodes().Delete(s.Context(), node.Name, metav1.DeleteOptions{}))
			}
			return right
		}
	}
	s.remove(job)
	return right
}

// end ends the jobs whose pods have ended at a time by their deadlines.
func (s *submitter) end(at time.Time) {
	s.Helper()
	var left []*batchv1.Job
	for _, job := range s.kept {
		end := time.Time{}
		for _, pod := range s.Pods() {
			if deadline := pod.Spec.ActiveDeadlineSeconds; pod.Labels[batchv1.JobNameLabel] == job.Name && deadline != nil {
				end = scheduled(pod).LastTransitionTime.Add(time.Duration(*deadline) * time.Second)
			}
		}
		if end.IsZero() || end.After(at.Add(2*time.Second)) { // both are in whole seconds
			left = append(left, job)
			continue
		}
		s.remove(job)
	}
	s.kept = left
}

// Each of many jobs is tried, and submitted right afterwards.
func TestWhatIsTriedComesTrue(t *testing.T) {
	jobs := 15
	if !testing.Short() {
		jobs = 120
	}
	nodes := workload.NewNodes("node", 8, "8")
	for i, node := range nodes {
		node.Labels[rackOfTry] = fmt.Sprint("r", i/4)
	}
	c := newClusterWith(t, []string{"job-controller"}, nodes...)
	s := &submitter{server: c.serveAndSchedule(muster.Ways()["Scheduler"]), random: rand.New(rand.NewPCG(1, 0))}
	outcomes := map[string]int{}
	for number := range jobs {
		for len(s.kept) > 2 && s.random.IntN(4) == 0 {
			s.remove(s.kept[0])
			s.kept = s.kept[1:]
		}
		job := s.job(number)
		told := s.try(job)
		outcomes[told.Outcome]++
		if s.submit(job, &told) {
			s.right++
		} else {
			t.Errorf("%s ran at once, and %s was said", job.Name, told.Outcome)
		}
	}
	t.Logf("outcomes: %v", outcomes)
	fmt.Printf("figure try_equals_outcome=%.3f\n", float64(s.right)/float64(jobs))
	if !testing.Short() && (outcomes["Now"] == 0 || outcomes["Later"] == 0 || outcomes["MoreNodes"] == 0) {
		t.Errorf("some outcomes were never said: %v", outcomes)
	}
}
