package attack

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"

	explanationv1alpha1 "muster.dev/muster/api/explanation/v1alpha1"
	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/e2e/binaries"
)

// user is somebody with a certificate, and with the rights that RBAC gives.
type user struct {
	kubeconfig string
	client     kubernetes.Interface
	dynamic    dynamic.Interface
}

func (g *ground) newUser(name string, groups ...string) (*user, error) {
	kubeconfig, err := g.cp.KubeconfigFor(name, groups...)
	if err != nil {
		return nil, err
	}
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	config.QPS = -1
	u := &user{kubeconfig: kubeconfig}
	if u.client, err = kubernetes.NewForConfig(config); err != nil {
		return nil, err
	}
	u.dynamic, err = dynamic.NewForConfig(config)
	return u, err
}

// createNamespaces returns when pods can be created in them.
func (g *ground) createNamespaces(ctx context.Context) error {
	for _, name := range []string{tenantNamespace, othersNamespace} {
		_, err := g.client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
		if err != nil {
			return fmt.Errorf("create namespace %s: %w", name, err)
		}
		if err := eventually(ctx, "namespace "+name+" has a service account", func() error {
			_, err := g.client.CoreV1().ServiceAccounts(name).Get(ctx, "default", metav1.GetOptions{})
			return err
		}); err != nil {
			return err
		}
	}
	return nil
}

// admitTenant lets somebody do with pods, PodGroups and JobSets of one namespace what they like, and ask there, and nothing else.
func (g *ground) admitTenant(ctx context.Context) (err error) {
	const name = "tenant"
	if g.tenant, err = g.newUser(name); err != nil {
		return err
	}
	role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"*"}},
		{APIGroups: []string{v1alpha1.GroupX, v1alpha1.GroupSigs}, Resources: []string{"podgroups"}, Verbs: []string{"*"}},
		{APIGroups: []string{jobSets.Group}, Resources: []string{jobSets.Resource}, Verbs: []string{"*"}},
		{
			APIGroups: []string{explanationv1alpha1.Group}, Resources: []string{explanationv1alpha1.Resource},
			Verbs: []string{"get", "list", "watch", "create", "delete", "deletecollection"},
		},
	}}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: name}},
	}
	_, roleErr := g.client.RbacV1().Roles(tenantNamespace).Create(ctx, role, metav1.CreateOptions{})
	_, bindingErr := g.client.RbacV1().RoleBindings(tenantNamespace).Create(ctx, binding, metav1.CreateOptions{})
	return errors.Join(roleErr, bindingErr)
}

// The account of the chart, and where it is.
const (
	accountNamespace = metav1.NamespaceSystem
	accountName      = "system:serviceaccount:" + accountNamespace + ":muster"
)

// admitAccount gives muster's account the rights of the chart, those to lift gates with them, and the
// policy that `muster account-policy` prints.
func (g *ground) admitAccount(ctx context.Context) (err error) {
	if g.account, err = g.newUser(accountName, "system:serviceaccounts", "system:serviceaccounts:"+accountNamespace); err != nil {
		return err
	}
	roles, err := g.renderRoles(ctx)
	if err != nil {
		return err
	}
	if err := g.createRoles(ctx, roles); err != nil {
		return err
	}
	printed, err := said(ctx, nil, g.binary, "account-policy", "--user="+accountName)
	if err != nil {
		return err
	}
	registration := g.client.AdmissionregistrationV1()
	for i, document := range bytes.Split(printed, []byte("\n---\n")) { // policies, each with its binding
		if i%2 == 0 {
			var policy admissionregistrationv1.ValidatingAdmissionPolicy
			if err = yaml.UnmarshalStrict(document, &policy); err == nil {
				_, err = registration.ValidatingAdmissionPolicies().Create(ctx, &policy, metav1.CreateOptions{})
			}
		} else {
			var binding admissionregistrationv1.ValidatingAdmissionPolicyBinding
			if err = yaml.UnmarshalStrict(document, &binding); err == nil {
				_, err = registration.ValidatingAdmissionPolicyBindings().Create(ctx, &binding, metav1.CreateOptions{})
			}
		}
		if err != nil {
			return fmt.Errorf("create what muster account-policy prints, document %d: %w", i, err)
		}
	}
	return g.awaitPolicy(ctx)
}

// renderRoles returns the rights in the chart, rendered by Helm.
func (g *ground) renderRoles(ctx context.Context) ([]byte, error) {
	helm, err := binaries.EnsureExtra(ctx, binaries.Helm, g.progress)
	if err != nil {
		return nil, err
	}
	repository, err := binaries.RepositoryDir(ctx)
	if err != nil {
		return nil, err
	}
	var env []string
	for _, name := range []string{"HELM_CACHE_HOME", "HELM_CONFIG_HOME", "HELM_DATA_HOME"} {
		env = append(env, name+"="+filepath.Join(g.cp.Dir(), name))
	}
	return said(ctx, env, helm, "template", "muster", filepath.Join(repository, "charts/muster"), "--namespace="+accountNamespace,
		"--set=scheduler.mode=external,rbac.liftGates=true,image.repository=muster,image.tag=any", "--show-only=templates/rbac.yaml")
}

// createRoles creates the roles and bindings of a text of YAML.
func (g *ground) createRoles(ctx context.Context, text []byte) error {
	rbac := g.client.RbacV1()
	create := map[string]func(document []byte) error{
		"ClusterRole": func(document []byte) error {
			_, err := rbac.ClusterRoles().Create(ctx, parsed[rbacv1.ClusterRole](document), metav1.CreateOptions{})
			return err
		},
		"ClusterRoleBinding": func(document []byte) error {
			_, err := rbac.ClusterRoleBindings().Create(ctx, parsed[rbacv1.ClusterRoleBinding](document), metav1.CreateOptions{})
			return err
		},
		"Role": func(document []byte) error {
			_, err := rbac.Roles(accountNamespace).Create(ctx, parsed[rbacv1.Role](document), metav1.CreateOptions{})
			return err
		},
		"RoleBinding": func(document []byte) error {
			_, err := rbac.RoleBindings(accountNamespace).Create(ctx, parsed[rbacv1.RoleBinding](document), metav1.CreateOptions{})
			return err
		},
	}
	for document := range bytes.SplitSeq(text, []byte("\n---\n")) {
		var kind metav1.TypeMeta
		if err := yaml.Unmarshal(document, &kind); err != nil {
			return fmt.Errorf("parse the roles of the chart: %w", err)
		}
		if kind.Kind == "" {
			continue
		}
		if create[kind.Kind] == nil {
			return fmt.Errorf("the chart has a %s among its rights", kind.Kind)
		}
		if err := create[kind.Kind](document); err != nil {
			return fmt.Errorf("create the %s of the chart: %w", kind.Kind, err)
		}
	}
	return nil
}

// parsed is an object that Helm has rendered, without what is of no type: an object of nothing is
// refused when it is created.
func parsed[Object any](document []byte) *Object {
	object := new(Object)
	_ = yaml.Unmarshal(document, object)
	return object
}

// awaitPolicy returns when the API server holds muster's account to its policy.
func (g *ground) awaitPolicy(ctx context.Context) error {
	pod := newPod(othersNamespace, "canary", "1", scheduledBy("nobody"))
	pods := g.client.CoreV1().Pods(othersNamespace)
	if _, err := pods.Create(ctx, pod, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("create a pod to try the policy with: %w", err)
	}
	err := eventually(ctx, "muster's account may not change labels", func() error {
		_, err := g.account.client.CoreV1().Pods(othersNamespace).Patch(ctx, pod.Name, strategicMerge,
			[]byte(`{"metadata": {"labels": {"app": "bank"}}}`), metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}})
		switch {
		case err == nil:
			return errors.New("it may")
		case !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "stays as it is"):
			return err
		}
		return nil
	})
	return errors.Join(err, pods.Delete(ctx, pod.Name, metav1.DeleteOptions{}))
}

// said runs a program and returns what it prints.
func said(ctx context.Context, env []string, program string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = slices.Concat(os.Environ(), env)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return out, fmt.Errorf("%s %s: %w: %s", filepath.Base(program), strings.Join(args, " "), err, bytes.TrimSpace(stderr.Bytes()))
	}
	return out, nil
}
