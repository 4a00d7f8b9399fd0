package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"

	"muster.dev/muster/api/config"
	"muster.dev/muster/server/access"
	"muster.dev/muster/server/app"
	"muster.dev/muster/server/servertest"
)

// dump is a cluster of one node with one pending pod.
const dump = `{"apiVersion": "v1", "kind": "List", "items": [
	{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "a"}, "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"}}},
	{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "default", "uid": "uid-p", "resourceVersion": "1"},
	 "spec": {"schedulerName": "default-scheduler", "containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]}}
]}`

// process is a server of the test's own, which logs into memory.
type process struct {
	*Server
	t      *testing.T
	config *config.Configuration
	log    *servertest.Log
	stop   context.CancelFunc
	ended  chan error
}

// newProcess makes a server that answers from the dump and listens on a free port.
func newProcess(t *testing.T, change ...func(*config.Configuration)) *process {
	t.Helper()
	return newProcessIn(t, surroundings{listen: access.Listen}, change...)
}

// newOnPipes makes a server that answers from the dump and listens in memory. The client calls the verbs.
func newOnPipes(t *testing.T, around surroundings, change ...func(*config.Configuration)) (*process, *http.Client) {
	t.Helper()
	around.listen = listenOnPipes
	p := newProcessIn(t, around, change...)
	return p, p.ports[0].Listener.(*servertest.Pipes).Client(t)
}

// listenOnPipes puts pipes in the place of ports.
func listenOnPipes(string, string, int) (net.Listener, error) { return servertest.NewPipes(), nil }

func newProcessIn(t *testing.T, around surroundings, change ...func(*config.Configuration)) *process {
	t.Helper()
	cfg := config.Default()
	cfg.Serving.Listen, cfg.Debug.Listen = "127.0.0.1:0", "127.0.0.1:0"
	for _, f := range change {
		f(cfg)
	}
	p := &process{t: t, config: cfg, log: &servertest.Log{}, ended: make(chan error, 1)}
	var err error
	o := quiet(cfg)
	o.Version, o.Logger = "v1.2.3", slog.New(slog.NewTextHandler(p.log, nil))
	p.Server, err = build(o, around)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// quiet are the options of a server that answers from the dump and logs nothing.
func quiet(cfg *config.Configuration) Options {
	return Options{SnapshotFiles: []string{"-"}, Stdin: strings.NewReader(dump), Options: app.Options{
		Config: cfg, Logger: slog.New(slog.DiscardHandler), Registry: prometheus.NewRegistry(),
	}}
}

// port is the one that a field asked for.
func (p *process) port(field string) *app.Port {
	p.t.Helper()
	at := slices.IndexFunc(p.ports, func(port *app.Port) bool { return port.Field == field })
	if at < 0 {
		p.t.Fatalf("nothing listens for %s", field)
	}
	return p.ports[at]
}

// at is where a port is reached without TLS.
func (p *process) at(field string) string {
	p.t.Helper()
	return "http://" + p.port(field).Listener.Addr().String()
}

// asks has the handler of a port answer, as it does on this machine.
func (p *process) asks(field string, request *http.Request) *httptest.ResponseRecorder {
	p.t.Helper()
	request.Host = "127.0.0.1"
	answer := httptest.NewRecorder()
	p.port(field).Handler(access.NewMetrics(prometheus.NewRegistry())).ServeHTTP(answer, request)
	return answer
}

// run runs the server until the test ends, or stop is called.
func (p *process) run() {
	ctx, stop := context.WithCancel(p.t.Context())
	p.stop = stop
	done := make(chan struct{})
	go func() {
		defer close(done)
		p.ended <- p.Run(ctx)
	}()
	p.t.Cleanup(func() {
		stop()
		<-done
	})
}

// runToLead runs the server as run does, and returns once it leads, so that it answers verbs. It waits in real time.
func (p *process) runToLead() {
	p.t.Helper()
	p.run()
	for deadline := time.After(time.Minute); !strings.Contains(p.log.String(), "msg=leading"); {
		select {
		case err := <-p.ended:
			p.t.Fatalf("Run returned %v before the server led", err)
		case <-deadline:
			p.t.Fatalf("the server does not lead after a minute:\n%s", p.log)
		case <-time.After(time.Millisecond):
		}
	}
}

// readyz asks the handler itself, as a server that is stopping has no port any more.
func (p *process) readyz() (int, string) {
	answer := p.asks(fieldVerbs, httptest.NewRequest(http.MethodGet, "/readyz", nil))
	return answer.Code, strings.TrimSpace(answer.Body.String())
}

func (p *process) wantReadyz(when string, status int, body string) {
	p.t.Helper()
	if gotStatus, got := p.readyz(); gotStatus != status || got != body {
		p.t.Errorf("%s, /readyz answers %d %q, want %d %q", when, gotStatus, got, status, body)
	}
}

// postJSON sends a request and decodes an answer with status 200.
func postJSON[Answer any](t *testing.T, client *http.Client, url string, request any) (Answer, error) {
	t.Helper()
	var answer Answer
	body, err := json.Marshal(request)
	if err != nil {
		t.Fatal(err)
	}
	response, err := client.Post(url, "application/json", bytes.NewReader(body))
	if err != nil {
		return answer, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = errors.New(response.Status + ": " + string(text))
	}
	return answer, errors.Join(err, json.Unmarshal(text, &answer))
}

func TestAServerAnswersFromASnapshotUntilItIsStopped(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	ca, files := newAuthority(t), newIdentity(t)
	files.write(ca.issue("muster"))
	for name, test := range map[string]struct {
		tls   config.TLS
		proto int
	}{
		"plain":    {config.TLS{}, 1},
		"with TLS": {files.TLS, 2},
	} {
		t.Run(name, func(t *testing.T) {
			p := newProcess(t, func(cfg *config.Configuration) { cfg.Serving.TLS = test.tls })
			transport := &http.Transport{TLSClientConfig: ca.client(), ForceAttemptHTTP2: true}
			defer transport.CloseIdleConnections()
			client := &http.Client{Transport: transport}
			url := map[bool]string{false: "http://", true: "https://"}[test.tls.Enabled()] + p.Addr().String()
			p.run()

			response, err := client.Get(url + "/livez") // answered once the server runs
			if err != nil {
				t.Fatal(err)
			}
			response.Body.Close()
			if response.StatusCode != http.StatusOK || response.ProtoMajor != test.proto {
				t.Errorf("/livez answered %s over %s, want 200 over HTTP/%d", response.Status, response.Proto, test.proto)
			}
			names := []string{"a"}
			got, err := postJSON[extenderv1.ExtenderFilterResult](
				t, client, url+"/filter", extenderv1.ExtenderArgs{Pod: servertest.Pod("p", "1"), NodeNames: &names},
			)
			if err != nil || len(*got.NodeNames) != 1 {
				t.Errorf("filter answered %+v (error %v), want node a", got, err)
			}

			transport.CloseIdleConnections() // else HTTP/2 takes a second to say goodbye
			p.stop()
			if err := <-p.ended; err != nil {
				t.Errorf("Run returned %v, want nil", err)
			}
			if response, err := client.Get(url + "/livez"); err == nil {
				response.Body.Close()
				t.Error("a stopped server answers")
			}
		})
	}
}

func TestAnAddressInUseNamesTheField(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	cfg := config.Default()
	cfg.Serving.Listen, cfg.Debug.Listen = taken.Addr().String(), "127.0.0.1:0"
	_, err = New(quiet(cfg))
	if want := "serving.listen: listen tcp " + taken.Addr().String() + ": bind: address already in use"; err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

func TestAServerNeedsSomethingToAnswerFrom(t *testing.T) {
	o := quiet(config.Default())
	o.SnapshotFiles = nil
	err := Run(t.Context(), o)
	if err == nil || err.Error() != "neither an API server nor a snapshot to answer from" {
		t.Errorf("error %v", err)
	}
}

func TestAServerIsReadyOnceItsViewIsComplete(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset()
		var denied atomic.Bool
		denied.Store(true)
		client.PrependReactor("list", "services", func(clienttesting.Action) (bool, runtime.Object, error) {
			if denied.Load() {
				return true, nil, apierrors.NewForbidden(corev1.Resource("services"), "", errors.New("no role"))
			}
			return false, nil, nil
		})
		p, web := newOnPipes(t, surroundings{watched: client})
		p.run()

		<-time.After(time.Minute)
		p.wantReadyz("while a list is denied", http.StatusServiceUnavailable, app.ErrNotSynced.Error())
		if _, err := postJSON[extenderv1.ExtenderFilterResult](
			t, web, "http://localhost/filter", extenderv1.ExtenderArgs{Pod: servertest.Pod("p", "1")},
		); err == nil ||
			!strings.Contains(err.Error(), "503 Service Unavailable: "+app.ErrNotSynced.Error()) {
			t.Errorf("filter: error %v, want the same", err)
		}
		denied.Store(false)
		<-time.After(time.Minute)
		p.wantReadyz("with all lists", http.StatusOK, "ok")

		p.stop()
		if err := <-p.ended; err != nil {
			t.Errorf("Run returned %v, want nil", err)
		}
	})
}

// held is a client that holds every binding until it is released.
func held() (client kubernetes.Interface, release func()) {
	released := make(chan struct{})
	holding := fake.NewClientset()
	holding.PrependReactor("create", "pods/binding", func(action clienttesting.Action) (bool, runtime.Object, error) {
		<-released
		return true, action.(clienttesting.CreateAction).GetObject(), nil
	})
	return holding, func() { close(released) }
}

type bound struct {
	extenderv1.ExtenderBindingResult
	err error
}

// bindInBackground has a node offered for the pod of the dump, and delivers the answer of a call of bind.
func (p *process) bindInBackground(web *http.Client) <-chan bound {
	p.t.Helper()
	pod := servertest.Pod("p", "1")
	offered, err := postJSON[extenderv1.ExtenderFilterResult](
		p.t, web, "http://localhost/filter", extenderv1.ExtenderArgs{Pod: pod, NodeNames: &[]string{"a"}},
	)
	if err != nil || len(*offered.NodeNames) != 1 {
		p.t.Fatalf("filter answered %+v (error %v), want node a", offered, err)
	}
	answer := make(chan bound, 1)
	go func() {
		result, err := postJSON[extenderv1.ExtenderBindingResult](p.t, web, "http://localhost/bind", extenderv1.ExtenderBindingArgs{
			PodName: pod.Name, PodNamespace: pod.Namespace, PodUID: pod.UID, Node: "a",
		})
		answer <- bound{result, err}
	}()
	return answer
}

func TestStoppingLetsCallsInFlightFinish(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, release := held()
		p, web := newOnPipes(t, surroundings{binds: client})
		p.run()
		synctest.Wait()
		answer := p.bindInBackground(web)
		synctest.Wait()
		p.wantReadyz("before", http.StatusOK, "ok")

		p.stop()
		synctest.Wait()
		p.wantReadyz("while a call is in flight", http.StatusServiceUnavailable, app.ErrStopping.Error())
		select {
		case err := <-p.ended:
			t.Fatalf("Run returned %v before the call was answered", err)
		case got := <-answer:
			t.Fatalf("the call was answered with %+v before its end", got)
		default:
		}
		release()
		if got := <-answer; got.err != nil || got.Error != "" {
			t.Errorf("the call in flight was answered with %+v, want success", got)
		}
		if err := <-p.ended; err != nil {
			t.Errorf("Run returned %v, want nil", err)
		}
	})
}

func TestCallsThatOutlastTheShutdownTimeoutAreCutOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, release := held()
		p, web := newOnPipes(t, surroundings{binds: client})
		p.run()
		synctest.Wait()
		answer := p.bindInBackground(web)
		synctest.Wait()

		began := time.Now()
		p.stop()
		if err := <-p.ended; err != nil {
			t.Errorf("Run returned %v, want nil", err)
		}
		if took := time.Since(began); took != p.config.Timeouts.Shutdown() {
			t.Errorf("stopping took %s, want timeouts.bind (%s)", took, p.config.Timeouts.Shutdown())
		}
		if got := <-answer; got.err == nil {
			t.Errorf("the call was answered with %+v, want a closed connection", got)
		}
		if !strings.Contains(p.log.String(), "calls in flight were cut off") {
			t.Errorf("the log does not tell:\n%s", p.log)
		}
		release()
	})
}

func TestAListenerThatFailsEndsRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, _ := newOnPipes(t, surroundings{})
		p.run()
		synctest.Wait()
		p.ports[0].Listener.Close()
		if err := <-p.ended; !errors.Is(err, net.ErrClosed) || !strings.HasPrefix(err.Error(), "serving: ") {
			t.Errorf("Run returned %v, want why serving ended", err)
		}
	})
}
