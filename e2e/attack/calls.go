package attack

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"
)

// answer is what came of a request: no status if there was no answer.
type answer struct {
	status int
	text   string // or why there is none
	active bool   // a browser would run it
	took   time.Duration
}

// String is the answer in short.
func (a answer) String() string {
	text := a.text
	if len(text) > 120 {
		text = text[:120] + "…"
	}
	return fmt.Sprintf("%d %q", a.status, text)
}

const asJSON = "application/json"

// maxAnswer bounds what is read of an answer.
const maxAnswer = 64 << 20

// call sends a request, with headers as name and value by turns.
func (g *ground) call(ctx context.Context, method, url string, body io.Reader, headers ...string) answer {
	return send(ctx, g.http, method, url, body, headers...)
}

func send(ctx context.Context, client *http.Client, method, url string, body io.Reader, headers ...string) answer {
	began := time.Now()
	request, err := http.NewRequestWithContext(ctx, method, url, body)
	if err != nil {
		return answer{text: err.Error()}
	}
	for i := 0; i+1 < len(headers); i += 2 {
		if headers[i] == "Host" {
			request.Host = headers[i+1]
		}
		request.Header.Set(headers[i], headers[i+1])
	}
	response, err := client.Do(request)
	if err != nil {
		return answer{text: err.Error(), took: time.Since(began)}
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err != nil {
		return answer{text: err.Error(), took: time.Since(began)}
	}
	header := response.Header
	active := strings.HasPrefix(header.Get("Content-Type"), "text/html") || header.Get("X-Content-Type-Options") != "nosniff"
	return answer{status: response.StatusCode, text: strings.TrimSpace(string(text)), active: active, took: time.Since(began)}
}

// post sends a body to a verb, as JSON.
func (g *ground) post(ctx context.Context, verb string, body []byte) answer {
	return g.call(ctx, http.MethodPost, g.muster.URL()+"/"+verb, bytes.NewReader(body), "Content-Type", asJSON)
}

// encoded is a message as JSON. All that is encoded here can be.
func encoded(message any) []byte {
	text, err := json.Marshal(message)
	if err != nil {
		panic(fmt.Sprintf("encode a message of this package: %v", err))
	}
	return text
}

func filterBody(pod *corev1.Pod, nodes ...string) []byte {
	return encoded(extenderv1.ExtenderArgs{Pod: pod, NodeNames: &nodes})
}

// offers are the nodes that filter offers for a pod.
func (g *ground) offers(ctx context.Context, pod *corev1.Pod, nodes ...string) (map[string]bool, error) {
	got := g.post(ctx, "filter", filterBody(pod, nodes...))
	var result extenderv1.ExtenderFilterResult
	if err := json.Unmarshal([]byte(got.text), &result); err != nil || got.status != http.StatusOK || result.Error != "" {
		return nil, fmt.Errorf("filter answers %s", got)
	}
	offered := map[string]bool{}
	if result.NodeNames != nil {
		for _, name := range *result.NodeNames {
			offered[name] = true
		}
	}
	return offered, nil
}

// offered has filter offer a node for a pod, which it must.
func (g *ground) offered(ctx context.Context, pod *corev1.Pod, node string) error {
	offers, err := g.offers(ctx, pod, node)
	if err == nil && !offers[node] {
		err = fmt.Errorf("filter does not offer node %s for pod %s", node, pod.Name)
	}
	return err
}

func bindBody(pod *corev1.Pod, uid types.UID, node string) []byte {
	return encoded(extenderv1.ExtenderBindingArgs{PodName: pod.Name, PodNamespace: pod.Namespace, PodUID: uid, Node: node})
}

// bind asks to bind a pod, and returns what the verb says.
func (g *ground) bind(ctx context.Context, pod *corev1.Pod, uid types.UID, node string) answer {
	return g.post(ctx, "bind", bindBody(pod, uid, node))
}

func preemptBody(pod *corev1.Pod, victims map[string][]string) []byte {
	args := extenderv1.ExtenderPreemptionArgs{Pod: pod, NodeNameToMetaVictims: map[string]*extenderv1.MetaVictims{}}
	for node, uids := range victims {
		meta := &extenderv1.MetaVictims{}
		for _, uid := range uids {
			meta.Pods = append(meta.Pods, &extenderv1.MetaPod{UID: uid})
		}
		args.NodeNameToMetaVictims[node] = meta
	}
	return encoded(args)
}
