package forward_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/rest"
	"k8s.io/streaming/pkg/httpstream"
	"k8s.io/streaming/pkg/httpstream/spdy"

	"muster.dev/muster/server/remote/kubeconfig"
)

// cluster is an API server as far as it lists pods and forwards their ports, over SPDY. e2e/extender has a real one, with
// websockets as well.
type cluster struct {
	*testing.T
	URL string

	mu       sync.Mutex
	pods     []corev1.Pod
	may      func(*http.Request) bool // nil for everything
	backends map[string]string        // addresses by namespace/pod:port
	open     map[httpstream.Connection]bool
	upgrades int
}

func newCluster(t *testing.T) *cluster {
	c := &cluster{T: t, backends: map[string]string{}, open: map[httpstream.Connection]bool{}}
	server := httptest.NewServer(http.HandlerFunc(c.serve))
	t.Cleanup(func() {
		c.cut()
		server.Close()
	})
	c.URL = server.URL
	return c
}

// found is the cluster as it is found by its context.
func (c *cluster) found() *kubeconfig.Cluster {
	return &kubeconfig.Cluster{Context: "here", Namespace: "shop", Config: &rest.Config{Host: c.URL}}
}

// run adds a pod of an installation.
func (c *cluster) run(namespace, name string, change ...func(*corev1.Pod)) {
	pod := corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{
			"app.kubernetes.io/name": "muster", "app.kubernetes.io/instance": "muster",
		}},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "muster"}}},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{
			{Type: corev1.PodReady, Status: corev1.ConditionTrue},
		}},
	}
	for _, apply := range change {
		apply(&pod)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pods = append(c.pods, pod)
}

// listen has a port of a pod answer every request with a text.
func (c *cluster) listen(pod, text string) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s %s%s", text, r.Host, body)
	}))
	c.Cleanup(server.Close)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.backends[pod] = strings.TrimPrefix(server.URL, "http://")
}

// cut ends all connections through it.
func (c *cluster) cut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for connection := range c.open {
		_ = connection.Close()
	}
	clear(c.open)
}

func (c *cluster) serve(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	may := c.may == nil || c.may(r)
	c.mu.Unlock()
	path := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	namespace := ""
	if len(path) > 4 {
		namespace = path[3]
	}
	switch {
	case !may:
		c.refuse(w, namespace, path[len(path)-1])
	case path[len(path)-1] == "pods":
		c.list(w, r, namespace)
	case path[len(path)-1] == "portforward" && r.Method == http.MethodPost:
		c.forward(w, r, namespace+"/"+path[len(path)-2])
	default:
		http.Error(w, "not here", http.StatusNotFound)
	}
}

func (c *cluster) refuse(w http.ResponseWriter, namespace, resource string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusForbidden)
	_ = json.NewEncoder(w).Encode(metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure, Reason: metav1.StatusReasonForbidden,
		Code: http.StatusForbidden, Message: resource + ` is forbidden: User "u" cannot do that in the namespace "` + namespace + `"`,
	})
}

func (c *cluster) list(w http.ResponseWriter, r *http.Request, namespace string) {
	selector, err := labels.Parse(r.URL.Query().Get("labelSelector"))
	if err != nil {
		c.Error(err)
	}
	all := corev1.PodList{TypeMeta: metav1.TypeMeta{Kind: "PodList", APIVersion: "v1"}}
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range c.pods {
		if selector.Matches(labels.Set(c.pods[i].Labels)) && (namespace == "" || namespace == c.pods[i].Namespace) {
			all.Items = append(all.Items, c.pods[i])
		}
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(all)
}

// forward does what a kubelet does with streams: the streams of a request belong together.
func (c *cluster) forward(w http.ResponseWriter, r *http.Request, pod string) {
	if _, err := httpstream.Handshake(r, w, []string{"portforward.k8s.io"}); err != nil {
		c.Error(err)
		return
	}
	streams := make(chan httpstream.Stream, 100)
	connection := spdy.NewResponseUpgrader().UpgradeResponse(w, r, func(stream httpstream.Stream, _ <-chan struct{}) error {
		streams <- stream
		return nil
	})
	c.mu.Lock()
	c.open[connection] = true
	c.upgrades++
	c.mu.Unlock()
	failures := map[string]httpstream.Stream{}
	for {
		select {
		case <-connection.CloseChan():
			return
		case stream := <-streams:
			request := stream.Headers().Get(corev1.PortForwardRequestIDHeader)
			if stream.Headers().Get(corev1.StreamType) == corev1.StreamTypeError {
				failures[request] = stream
				continue
			}
			go c.tunnel(stream, failures[request], pod+":"+stream.Headers().Get(corev1.PortHeader))
		}
	}
}

func (c *cluster) tunnel(data, failure httpstream.Stream, to string) {
	defer failure.Close()
	defer data.Close()
	c.mu.Lock()
	address := c.backends[to]
	c.mu.Unlock()
	connection, err := net.Dial("tcp", address)
	if address == "" || err != nil {
		fmt.Fprintf(failure, "error forwarding port to pod: dial tcp4 %s: connect: connection refused", to)
		return
	}
	defer connection.Close()
	go func() { _, _ = io.Copy(connection, data) }()
	_, _ = io.Copy(data, connection)
}
