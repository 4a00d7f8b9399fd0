package chart

import (
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	reschedulingv1alpha1 "muster.dev/muster/api/rescheduling/v1alpha1"
	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/e2e/lab"
)

// as is a client that somebody has.
func (c *cluster) as(user string) dynamic.Interface {
	c.Helper()
	config := rest.CopyConfig(c.RESTConfig())
	config.Impersonate = rest.ImpersonationConfig{UserName: user}
	client, err := dynamic.NewForConfig(config)
	c.Must(err)
	return client
}

func named(user string) []rbacv1.Subject {
	return []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: user}}
}

func clusterRole(name string) rbacv1.RoleRef {
	return rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name}
}

func TestAnApproverApprovesAndChangesNothingElse(t *testing.T) {
	lab.Long(t)
	c := newCluster(t)
	c.install("--set=image.repository=example.com/muster")
	c.createCustomResources()
	_, err := c.Client.RbacV1().ClusterRoleBindings().Create(t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "approvers"}, Subjects: named("approver"), RoleRef: clusterRole(release + "-approve"),
	}, metav1.CreateOptions{})
	c.Must(err)
	plans := c.as("approver").Resource(reschedulingv1alpha1.ReschedulingPlans())
	patch := func(text string, subresources ...string) error {
		_, err := plans.Patch(t.Context(), "p", types.MergePatchType, []byte(text), metav1.PatchOptions{}, subresources...)
		return err
	}
	c.Eventually("the approver approves", func() error {
		return patch(`{"metadata": {"annotations": {"rescheduling.muster.dev/approve": "true"}}}`)
	})
	if err := patch(`{"spec": {"mode": "Auto"}}`); !apierrors.IsInvalid(err) {
		t.Errorf("the spec is changed: error %v", err)
	}
	if err := patch(`{"status": {"phase": "Succeeded"}}`, "status"); !apierrors.IsForbidden(err) {
		t.Errorf("the status is changed: error %v", err)
	}
	c.Must(patch(`{"status": {"phase": "Succeeded"}}`))
	plan, err := plans.Get(t.Context(), "p", metav1.GetOptions{})
	c.Must(err)
	if plan.Object["status"] != nil {
		t.Errorf("the status is changed without its subresource: %v", plan.Object["status"])
	}
	another := plan.DeepCopy()
	another.SetName("another")
	another.SetResourceVersion("")
	if _, err := plans.Create(t.Context(), another, metav1.CreateOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("a plan is made: error %v", err)
	}
	if _, err := c.as("nobody").Resource(reschedulingv1alpha1.ReschedulingPlans()).Patch(
		t.Context(), "p", types.MergePatchType, []byte(`{}`), metav1.PatchOptions{},
	); !apierrors.IsForbidden(err) {
		t.Errorf("whom nobody let may patch a plan: error %v", err)
	}
}

func TestWhoMaySeePodsSeesTheirGroupsAndWhoMayCreateThemCreatesTheirs(t *testing.T) {
	lab.Long(t)
	c := newCluster(t, "clusterrole-aggregation-controller")
	c.install("--set=image.repository=example.com/muster")
	for _, role := range []string{"view", "edit"} {
		_, err := c.Client.RbacV1().RoleBindings("default").Create(t.Context(), &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: role}, Subjects: named(role), RoleRef: clusterRole(role),
		}, metav1.CreateOptions{})
		c.Must(err)
	}
	c.createCustomResources()
	for _, groups := range v1alpha1.Resources() {
		for _, user := range []string{"view", "edit"} {
			c.Eventually(user+" sees "+groups.Group, func() error {
				_, err := c.as(user).Resource(groups).Namespace("default").Get(t.Context(), "g", metav1.GetOptions{})
				return err
			})
		}
		err := c.as("view").Resource(groups).Namespace("default").Delete(t.Context(), "g", metav1.DeleteOptions{})
		if !apierrors.IsForbidden(err) {
			t.Errorf("who may see deletes: error %v", err)
		}
		if _, err := c.as("edit").Resource(groups).Namespace("kube-system").List(t.Context(), metav1.ListOptions{}); !apierrors.IsForbidden(err) {
			t.Errorf("who may edit in one namespace sees another: error %v", err)
		}
		c.Must(c.as("edit").Resource(groups).Namespace("default").Delete(t.Context(), "g", metav1.DeleteOptions{}))
	}
	_, err := c.as("edit").Resource(reschedulingv1alpha1.ReschedulingPlans()).List(t.Context(), metav1.ListOptions{})
	if !apierrors.IsForbidden(err) {
		t.Errorf("who may edit in a namespace sees plans, which have none: error %v", err)
	}
}
