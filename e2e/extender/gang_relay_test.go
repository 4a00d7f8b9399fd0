package extender_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"
)

// relay stands between a client and a server until the test ends, and decides what becomes
// of each request. It returns its URL.
func (c *cluster) relay(transport http.RoundTripper, to func() *url.URL, decide func(w http.ResponseWriter, r *http.Request, pass http.Handler)) string {
	pass := &httputil.ReverseProxy{
		Transport:    transport,
		Rewrite:      func(r *httputil.ProxyRequest) { r.SetURL(to()) },
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { decide(w, r, pass) }))
	c.Cleanup(server.Close)
	return server.URL
}

// door is between the scheduler and muster. It keeps bind calls about some pods waiting
// until it is opened, so that muster holds those about their siblings.
type door struct {
	url   string
	leads atomic.Pointer[url.URL] // to a muster
	open  func()
}

// shutFor is a door before a muster, shut for the pods whose name has a prefix.
func (s *server) shutFor(prefix string) *door {
	s.Helper()
	transport := &http.Transport{MaxIdleConnsPerHost: 100}
	s.Cleanup(transport.CloseIdleConnections)
	opened := make(chan struct{})
	d := &door{open: sync.OnceFunc(func() { close(opened) })}
	d.leadTo(s)
	d.url = s.relay(transport, d.leads.Load, func(w http.ResponseWriter, r *http.Request, pass http.Handler) {
		if strings.HasSuffix(r.URL.Path, "/bind") && strings.HasPrefix(podToBind(r), prefix) {
			select {
			case <-opened:
			case <-r.Context().Done():
				return // the scheduler has given the call up
			}
		}
		pass.ServeHTTP(w, r)
	})
	s.Cleanup(d.open)
	return d
}

// leadTo has calls go to another muster from now on.
func (d *door) leadTo(s *server) {
	to, err := url.Parse(s.url)
	if err != nil {
		s.Fatal(err)
	}
	d.leads.Store(to)
}

// through has the scheduler call muster through the door.
func (d *door) through(config map[string]any) {
	for _, extender := range config["extenders"].([]any) {
		extender.(map[string]any)["urlPrefix"] = d.url
	}
}

// podToBind is the name of the pod that a bind call is about.
func podToBind(r *http.Request) string {
	body, err := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	var args extenderv1.ExtenderBindingArgs
	if err != nil || json.Unmarshal(body, &args) != nil {
		return ""
	}
	return args.PodName
}

// answer is what becomes of a binding that muster has the API server make.
type answer func(w http.ResponseWriter, r *http.Request, pass http.Handler)

// bindingsAnswered returns a kubeconfig of an API server that treats each binding as the
// test says for the pod, nil for as ever.
func (c *cluster) bindingsAnswered(by func(pod string) answer) (kubeconfig string) {
	c.Helper()
	config := shared.RESTConfig()
	transport, err := rest.TransportFor(config)
	if err != nil {
		c.Fatal(err)
	}
	to, err := url.Parse(config.Host)
	if err != nil {
		c.Fatal(err)
	}
	address := c.relay(transport, func() *url.URL { return to }, func(w http.ResponseWriter, r *http.Request, pass http.Handler) {
		if path := strings.Split(strings.Trim(r.URL.Path, "/"), "/"); path[len(path)-1] == "binding" {
			if answer := by(path[len(path)-2]); answer != nil {
				answer(w, r, pass)
				return
			}
		}
		pass.ServeHTTP(w, r)
	})
	const name = "relay"
	kubeconfig = filepath.Join(c.TempDir(), "kubeconfig")
	err = clientcmd.WriteToFile(clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{name: {Server: address}},
		Contexts:       map[string]*clientcmdapi.Context{name: {Cluster: name}},
		CurrentContext: name,
	}, kubeconfig)
	if err != nil {
		c.Fatal(err)
	}
	return kubeconfig
}
