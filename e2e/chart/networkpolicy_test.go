package chart

import (
	"encoding/json"
	"regexp"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
)

const (
	everybody = "everybody"
	scheduler = `[{"ipBlock":{"cidr":"192.0.2.10/32"}}]`
	apiServer = `[{"ipBlock":{"cidr":"192.0.2.11/32"}}]`
	monitors  = `[{"namespaceSelector":{"matchLabels":{"kubernetes.io/metadata.name":"monitoring"}}}]`
)

func TestTheNetworkPolicyLetsInWhomTheReadmeSays(t *testing.T) {
	t.Parallel()
	callers, scrapers := "--set-json=networkPolicy.callers="+scheduler, "--set-json=networkPolicy.metricsFrom="+monitors
	rescheduler, external, https := "--set=rescheduler.enabled=true", "--set=scheduler.mode=external", "--set=tls.secretName=a"
	webhook, apiServers := "--set=webhook.enabled=true,"+
		"config.profiles[0].schedulerName=muster,config.profiles[0].gates=UntilMembers", "--set-json=networkPolicy.apiServers="+apiServer
	ports := map[int]bool{}
	for name, test := range map[string]struct {
		values []string
		want   map[int]string // who is let in, by port
	}{
		"sidecar": {nil, map[int]string{portHealth: everybody, portScheduler: everybody}},
		"sidecar, with a rescheduler": {
			[]string{rescheduler}, map[int]string{portHealth: everybody, portRescheduler: everybody, portScheduler: everybody},
		},
		"sidecar, callers without https":  {[]string{callers, scrapers}, map[int]string{portHealth: monitors, portScheduler: monitors}},
		"sidecar, https without callers":  {[]string{https}, map[int]string{portHealth: everybody, portScheduler: everybody}},
		"sidecar, with https and callers": {[]string{https, callers}, map[int]string{portHealth: everybody, portScheduler: everybody}},
		"sidecar, asked for gates": {
			[]string{https, webhook, apiServers}, map[int]string{portWebhook: apiServer, portHealth: everybody, portScheduler: everybody},
		},
		"external, asked for gates": {
			[]string{external, https, webhook, callers, apiServers},
			map[int]string{portVerbs: scheduler, portWebhook: apiServer, portHealth: everybody},
		},
		"external, asked by callers": {
			[]string{external, https, webhook, callers}, map[int]string{portVerbs: scheduler, portWebhook: scheduler, portHealth: everybody},
		},
		"external": {[]string{external, callers}, map[int]string{portVerbs: scheduler, portHealth: everybody}},
		"external, with all there can be": {
			[]string{external, callers, scrapers, rescheduler},
			map[int]string{portVerbs: scheduler, portHealth: monitors, portRescheduler: monitors},
		},
	} {
		t.Run(name, func(t *testing.T) {
			objects := render(t, append(append(needed(), "--set=networkPolicy.enabled=true"), test.values...)...)
			policy := networkPolicy(t, objects)
			got := letIn(t, policy)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("let in (-want +got):\n%s", diff)
			}
			for port := range got {
				ports[port] = true
			}
			isAboutEachPod(t, policy, objects)
		})
	}
	told := map[int]bool{}
	for _, row := range portRow.FindAllStringSubmatch(textOf(t, chartDir, "README.md"), -1) {
		port, err := strconv.Atoi(row[1])
		if err != nil {
			t.Fatal(err)
		}
		told[port] = true
	}
	if diff := cmp.Diff(told, ports); diff != "" {
		t.Errorf("ports of the README (-) and of the policy (+):\n%s", diff)
	}
}

// portRow is a line of the README's table of ports.
var portRow = regexp.MustCompile(`(?m)^\| ([0-9]+) \|`)

// networkPolicy is the one that was rendered.
func networkPolicy(t *testing.T, objects map[string]*unstructured.Unstructured) *networkingv1.NetworkPolicy {
	t.Helper()
	object := objects["NetworkPolicy/"+release]
	if object == nil {
		t.Fatal("there is no NetworkPolicy")
	}
	policy := typed[networkingv1.NetworkPolicy](t, object)
	if diff := cmp.Diff([]networkingv1.PolicyType{networkingv1.PolicyTypeIngress}, policy.Spec.PolicyTypes); diff != "" {
		t.Errorf("it is about (-want +got):\n%s", diff)
	}
	return policy
}

// letIn is whom a policy lets in, by port.
func letIn(t *testing.T, policy *networkingv1.NetworkPolicy) map[int]string {
	t.Helper()
	let := map[int]string{}
	for _, rule := range policy.Spec.Ingress {
		who := everybody
		if len(rule.From) > 0 {
			peers, err := json.Marshal(rule.From)
			if err != nil {
				t.Fatal(err)
			}
			who = string(peers)
		}
		if len(rule.Ports) == 0 {
			t.Errorf("%s is let in at every port", who)
		}
		for _, port := range rule.Ports {
			if at := port.Port.IntValue(); let[at] == "" && port.EndPort == nil && port.Protocol == nil {
				let[at] = who
			} else {
				t.Errorf("port %v is there twice, a range, or not of TCP", port)
			}
		}
	}
	return let
}

// isAboutEachPod checks that a policy is about the pods of all Deployments, and not about others of the same namespace.
func isAboutEachPod(t *testing.T, policy *networkingv1.NetworkPolicy, objects map[string]*unstructured.Unstructured) {
	t.Helper()
	selector, err := metav1.LabelSelectorAsSelector(&policy.Spec.PodSelector)
	if err != nil {
		t.Fatal(err)
	}
	for _, object := range objects {
		if object.GetKind() != "Deployment" {
			continue
		}
		if pod := deployment(t, objects, object.GetName()).Spec.Template; !selector.Matches(labels.Set(pod.Labels)) {
			t.Errorf("it is not about the pods of Deployment %s, with labels %v", object.GetName(), pod.Labels)
		}
	}
	for _, other := range []labels.Set{
		nil,
		{"app.kubernetes.io/name": "muster", "app.kubernetes.io/instance": "another"},
		{"app.kubernetes.io/name": "another", "app.kubernetes.io/instance": release},
	} {
		if selector.Matches(other) {
			t.Errorf("it is about pods with labels %v as well", other)
		}
	}
}

func TestThereIsNoNetworkPolicyByDefault(t *testing.T) {
	t.Parallel()
	if render(t, needed()...)["NetworkPolicy/"+release] != nil {
		t.Error("one is rendered")
	}
}
