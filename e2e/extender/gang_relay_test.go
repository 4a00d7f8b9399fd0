package extender_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"sync"

	"k8s.io/client-go/rest"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"

	"muster.dev/muster/e2e/relay"
)

// relay stands between a client and a server until the test ends, and decides what becomes
// of each request.
func (c *cluster) relay(transport http.RoundTripper, to func() *url.URL, decide relay.Decide) *relay.Relay {
	c.Helper()
	r, err := relay.New(transport, to, decide)
	c.Must(err)
	c.Cleanup(r.Close)
	return r
}

// door is between the scheduler and muster. It keeps bind calls about some pods waiting
// until it is opened, so that muster holds those about their siblings.
type door struct {
	url   string
	leads relay.Target // to a muster
	open  func()
}

// shutFor is a door before a muster, shut for the pods whose name has a prefix.
func (s *server) shutFor(prefix string) *door {
	s.Helper()
	opened := make(chan struct{})
	d := &door{open: sync.OnceFunc(func() { close(opened) })}
	d.leadTo(s)
	d.url = s.relay(&d.leads, d.leads.URL, func(w http.ResponseWriter, r *http.Request, pass http.Handler) {
		if strings.HasSuffix(r.URL.Path, "/bind") && strings.HasPrefix(podToBind(r), prefix) {
			select {
			case <-opened:
			case <-r.Context().Done():
				return // the scheduler has given the call up
			}
		}
		pass.ServeHTTP(w, r)
	}).URL()
	s.Cleanup(d.open)
	return d
}

// leadTo has calls go to another muster from now on.
func (d *door) leadTo(s *server) {
	s.Helper()
	s.Must(d.leads.LeadTo(s.URL(), s.Transport()))
}

// through has the scheduler call muster through the door.
func (d *door) through(config map[string]any) {
	for _, extender := range config["extenders"].([]any) {
		extender.(map[string]any)["urlPrefix"] = d.url
	}
}

// podToBind is the name of the pod that a bind call is about.
func podToBind(r *http.Request) string {
	body, err := relay.Body(r)
	var args extenderv1.ExtenderBindingArgs
	if err != nil || json.Unmarshal(body, &args) != nil {
		return ""
	}
	return args.PodName
}

// bindingsAnswered returns a kubeconfig of an API server that treats each binding that muster
// has it make as the test says for the pod, nil for as ever.
func (c *cluster) bindingsAnswered(by func(pod string) relay.Decide) (kubeconfig string) {
	c.Helper()
	return c.callsAnswered(func(_ string, path []string) relay.Decide {
		if path[len(path)-1] != "binding" {
			return nil
		}
		return by(path[len(path)-2])
	})
}

// callsAnswered returns a kubeconfig of an API server that treats each call of a method and a path
// of several parts as the test says, nil for as ever.
func (c *cluster) callsAnswered(by func(method string, path []string) relay.Decide) (kubeconfig string) {
	c.Helper()
	config := c.RESTConfig()
	transport, err := rest.TransportFor(config)
	c.Must(err)
	to, err := url.Parse(config.Host)
	c.Must(err)
	before := c.relay(transport, func() *url.URL { return to }, func(w http.ResponseWriter, r *http.Request, pass http.Handler) {
		if path := strings.Split(strings.Trim(r.URL.Path, "/"), "/"); len(path) > 1 {
			if answer := by(r.Method, path); answer != nil {
				answer(w, r, pass)
				return
			}
		}
		pass.ServeHTTP(w, r)
	})
	kubeconfig = filepath.Join(c.TempDir(), "kubeconfig")
	c.Must(before.WriteKubeconfig(kubeconfig))
	return kubeconfig
}
