package commandline

import (
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"

	explanationv1alpha1 "muster.dev/muster/api/explanation/v1alpha1"
	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/e2e/lab"
	"muster.dev/muster/e2e/muster"
	"muster.dev/muster/e2e/workload"
)

// peoplesRoles creates the roles that an installation adds to Kubernetes' own for people.
func (l *cluster) peoplesRoles() {
	l.Helper()
	printed, err := exec.CommandContext(
		l.Context(), l.muster, "install", "--managed", "--image=example.com/muster:v1", "--kubernetes-version=v1.36.0",
	).Output()
	l.Must(err)
	for document := range strings.SplitSeq(string(printed), "\n---\n") {
		object := &unstructured.Unstructured{}
		if yaml.Unmarshal([]byte(document), &object.Object) == nil && object.GetKind() == "ClusterRole" &&
			slices.Contains([]string{"muster-view", "muster-edit"}, object.GetName()) {
			l.Create(object)
		}
	}
}

// grant gives a user roles in a namespace, as Kubernetes does that adds them up, and returns the user's kubeconfig.
func (l *cluster) grant(user, namespace string, roles ...string) string {
	l.Helper()
	for _, role := range roles {
		l.Create(&rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: user + "-" + role, Namespace: namespace}, RoleRef: rbacv1.RoleRef{Kind: "ClusterRole", Name: role},
			Subjects: []rbacv1.Subject{{Kind: rbacv1.UserKind, Name: user}},
		})
	}
	return l.allow(user, namespace)
}

func TestWhoHasRightsInOneNamespaceAsksThere(t *testing.T) {
	lab.Long(t)
	l := newCluster(t)
	l.Must(muster.CreateCRDs(t.Context(), l.Dynamic))
	l.peoplesRoles()
	member := func(pod *corev1.Pod) {
		pod.Labels = map[string]string{v1alpha1.LabelMuster: "train"}
		pod.Annotations = map[string]string{v1alpha1.AnnotationMinMember: "3"}
	}
	for _, namespace := range []string{"lab", "shop"} {
		l.Create(
			&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}},
			&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default", Namespace: namespace}},
			workload.NewPod(namespace+"-0", "3", workload.In(namespace), member),
			workload.NewPod(namespace+"-1", "3", workload.In(namespace), member),
			workload.NewPod("big", "100", workload.In(namespace)),
		)
	}
	l.Create(workload.NewNode("hall-1", "4", workload.ForKWOK))
	tenant := l.grant("tenant", "lab", "edit", "muster-view", "muster-edit")
	viewer := l.grant("viewer", "lab", "view", "muster-view")
	ask := func(args ...string) []string { return append([]string{l.muster}, args...) }

	const by = "asked the muster of context muster-e2e, by Question lab/why-"
	l.Eventually("a gang is told of", func() error {
		status, told := l.tells(tenant, ask("why", "gang/train", "-n=lab")...)
		for _, want := range []string{
			by, "\ngang lab/train waits: waiting for 1 more of 3 members\n", "3 members must start together: 1 more are to be created",
		} {
			if status != 3 || !strings.Contains(told, want) {
				return fmt.Errorf("exit status %d, want 3 and %q in:\n%s", status, want, told)
			}
		}
		for _, never := range []string{"shop", "hall-1"} {
			if strings.Contains(told, never) {
				t.Errorf("%q is in:\n%s", never, told)
			}
		}
		return nil
	})
	l.says(tenant, 3, ask("explain", "pod/big", "-n=lab"),
		by, "\npod lab/big waits: it fits on no node\n", "Insufficient cpu", "the nearest node lacks 96 cpu")
	l.says(tenant, 3, ask("why", "pod/big", "-n=lab", "-o=json"), `"outcome": "Waits"`)
	l.says(tenant, 1, ask("why", "gang/other", "-n=lab"), "muster: gang lab/other is not known: ")
	l.says(tenant, 1, ask("why", "gang/train", "-n=shop"), "you may list pods neither in all", "you may not create one in namespace shop")
	l.says(viewer, 1, ask("why", "gang/train", "-n=lab"), "you may not create one in namespace lab")

	config, err := clientcmd.BuildConfigFromFlags("", tenant)
	l.Must(err)
	objects, err := dynamic.NewForConfig(config)
	l.Must(err)
	questions := objects.Resource(explanationv1alpha1.Questions()).Namespace("lab")
	left, err := questions.List(t.Context(), metav1.ListOptions{})
	l.Must(err)
	if len(left.Items) > 0 {
		t.Errorf("%d questions are left", len(left.Items))
	}
	create := func(about string) error {
		question, err := explanationv1alpha1.Encode(&explanationv1alpha1.Question{
			ObjectMeta: metav1.ObjectMeta{Name: "why"}, Spec: explanationv1alpha1.QuestionSpec{About: about},
		})
		l.Must(err)
		_, err = questions.Create(t.Context(), question, metav1.CreateOptions{})
		return err
	}
	for _, about := range []string{"gang/shop/train", "pod/", "node/a", "pod/../../a", "pod/" + strings.Repeat("a", 1000)} {
		if err := create(about); !apierrors.IsInvalid(err) {
			t.Errorf("about %.30q: error %v", about, err)
		}
	}
	l.Must(create("pod/big"))
	patch := func(text string, subresources ...string) error {
		_, err := questions.Patch(t.Context(), "why", types.MergePatchType, []byte(text), metav1.PatchOptions{}, subresources...)
		return err
	}
	for _, part := range [][]string{nil, {"status"}} {
		if err := patch(`{"spec": {"about": "pod/lab-0"}, "status": {"summary": "it runs"}}`, part...); !apierrors.IsForbidden(err) {
			t.Errorf("a question is changed (%v): error %v", part, err)
		}
	}
	l.Eventually("a question that the command has not asked is answered", func() error {
		object, err := questions.Get(t.Context(), "why", metav1.GetOptions{})
		if err != nil {
			return err
		}
		question, err := explanationv1alpha1.Decode(object)
		if err != nil {
			return err
		}
		if s := question.Status; s.Summary != "pod lab/big waits: it fits on no node" || s.AnsweredAt == nil || s.Nodes.Full != s.Nodes.All {
			return fmt.Errorf("its status is %+v", s)
		}
		return nil
	})
	_, err = l.Dynamic.Resource(explanationv1alpha1.Questions()).Namespace("lab").
		Patch(t.Context(), "why", types.MergePatchType, []byte(`{"spec": {"about": "pod/lab-0"}}`), metav1.PatchOptions{})
	if !apierrors.IsInvalid(err) {
		t.Errorf("who may change everything changes a question: error %v", err)
	}
	l.Must(questions.Delete(t.Context(), "why", metav1.DeleteOptions{}))
}
