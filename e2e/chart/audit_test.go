package chart

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// auditPolicy has the API server write down what service accounts ask for.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- {level: Metadata, userGroups: ["system:serviceaccounts:kube-system"]}
- {level: None}
`

// auditFlags have an API server write what it is asked for into its log.
func auditFlags() []string {
	return []string{"--audit-policy-file=" + filepath.Join(scratch, "audit-policy.yaml"), "--audit-log-path=-"}
}

// audit is the log of an API server from where the test began.
type audit struct {
	log  string
	from int64
}

func auditFromNowOn(t *testing.T, log string) audit {
	t.Helper()
	info, err := os.Stat(log)
	if err != nil {
		t.Fatal(err)
	}
	return audit{log, info.Size()}
}

// request is a line of it.
type request struct {
	Verb string
	User struct{ Username string }
	// ObjectRef is empty for paths that are no resources.
	ObjectRef struct {
		APIGroup, Resource, Subresource, Name string
	}
	Annotations    map[string]string
	ResponseStatus struct {
		Code    int
		Message string
	}
}

// refused says that the account has no right to it, or that the policy of the account denies it.
func (r *request) refused() bool {
	return r.Annotations["authorization.k8s.io/decision"] == "forbid" ||
		strings.Contains(r.ResponseStatus.Message, "ValidatingAdmissionPolicy")
}

func (r *request) resource() string {
	if r.ObjectRef.Subresource == "" {
		return r.ObjectRef.Resource
	}
	return r.ObjectRef.Resource + "/" + r.ObjectRef.Subresource
}

func (r *request) String() string {
	return fmt.Sprintf("%s %s.%s %s", r.Verb, r.resource(), r.ObjectRef.APIGroup, r.ObjectRef.Name)
}

// requestsOf are what a service account has asked for.
func (a audit) requestsOf(t *testing.T, account string) (requests []request) {
	t.Helper()
	log := textOf(t, a.log)[a.from:]
	log = log[:strings.LastIndex(log, "\n")+1] // the last line may not be whole
	for line := range strings.Lines(log) {
		if !strings.HasPrefix(line, `{"kind":"Event","apiVersion":"audit.k8s.io/`) {
			continue // the server says something else
		}
		var r request
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		if r.User.Username == "system:serviceaccount:"+namespace+":"+account {
			requests = append(requests, r)
		}
	}
	return requests
}

// right is one thing that a role allows.
type right struct{ verb, group, resource, name string }

func (r right) String() string {
	if r.name == "" {
		return fmt.Sprintf("%s %s.%s", r.verb, r.resource, r.group)
	}
	return fmt.Sprintf("%s %s.%s %s", r.verb, r.resource, r.group, r.name)
}

func (r right) allows(q *request) bool {
	return r.verb == q.Verb && r.group == q.ObjectRef.APIGroup && r.resource == q.resource() && (r.name == "" || r.name == q.ObjectRef.Name)
}

// rightsOf are all that the roles of these names allow.
func rightsOf(t *testing.T, objects map[string]*unstructured.Unstructured, name string) (rights []right) {
	t.Helper()
	for _, kind := range []string{"ClusterRole/", "Role/"} {
		object := objects[kind+name]
		if object == nil {
			t.Fatalf("there is no %s%s", kind, name)
		}
		for _, rule := range typed[rbacv1.ClusterRole](t, object).Rules { // a Role has the same rules
			rights = append(rights, rightsOfRule(rule)...)
		}
	}
	return rights
}

func rightsOfRule(rule rbacv1.PolicyRule) (rights []right) {
	names := rule.ResourceNames
	if len(names) == 0 {
		names = []string{""}
	}
	for _, group := range rule.APIGroups {
		for _, resource := range rule.Resources {
			for _, verb := range rule.Verbs {
				for _, name := range names {
					rights = append(rights, right{verb, group, resource, name})
				}
			}
		}
	}
	return rights
}

// judge says which requests were forbidden, and which rights nothing has asked for.
func judge(requests []request, rights []right) (forbidden, unused []string) {
	for i := range requests {
		if requests[i].refused() {
			forbidden = append(forbidden, requests[i].String()+" "+requests[i].ResponseStatus.Message)
		}
	}
	for _, right := range rights {
		if !slices.ContainsFunc(requests, func(q request) bool { return right.allows(&q) }) {
			unused = append(unused, right.String())
		}
	}
	return forbidden, unused
}
