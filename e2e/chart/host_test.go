package chart

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.dev/muster/e2e/lab"
)

// Rights of kube-scheduler's identity, which are applied by hand, and the chart's own have different names: a release
// can be installed beside a muster that has them. Helm takes no object that is there already and not the release's.
func TestTheChartIsInstalledBesideTheRightsOfKubeSchedulersIdentity(t *testing.T) {
	lab.Long(t)
	_, section, _ := strings.Cut(textOf(t, repository, "docs", "install", "kubeadm.md"), "\n## Rights of kube-scheduler's identity\n")
	block := firstBlock.FindStringSubmatch(section)
	if block == nil {
		t.Fatal("docs/install/kubeadm.md has no commands for the rights of kube-scheduler's identity")
	}
	c := newCluster(t)
	apply := exec.CommandContext(t.Context(), "bash", "-e", "-o", "pipefail", "-c", block[1])
	apply.Dir = repository
	apply.Env = append(os.Environ(), "PATH="+c.programs()+":"+os.Getenv("PATH"), "KUBECONFIG="+c.Kubeconfig())
	if out, err := apply.CombinedOutput(); err != nil {
		t.Fatalf("%v:\n%s\n%s", err, block[1], out)
	}
	c.install(installedValues("sidecar")...)
	for lease, verbs := range map[string][]string{"muster": {"get", "update"}, "kube-scheduler": {"list", "watch"}} {
		for _, verb := range verbs {
			c.Eventually(fmt.Sprintf("the user may %s the lease %s", verb, lease), func() error {
				review, err := c.Client.AuthorizationV1().SubjectAccessReviews().Create(t.Context(), &authorizationv1.SubjectAccessReview{
					Spec: authorizationv1.SubjectAccessReviewSpec{User: "system:kube-scheduler", ResourceAttributes: &authorizationv1.ResourceAttributes{
						Namespace: namespace, Verb: verb, Group: "coordination.k8s.io", Resource: "leases", Name: lease,
					}},
				}, metav1.CreateOptions{})
				if err == nil && !review.Status.Allowed {
					err = fmt.Errorf("not allowed: %s", review.Status.Reason)
				}
				return err
			})
		}
	}
}
