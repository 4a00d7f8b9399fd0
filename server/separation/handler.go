// Package separation takes requests over HTTP to separate pods, and writes them down as
// annotations of the pods, which the policy Separate reads. So they are known to every replica
// and after a restart, and gone with the pod.
package separation

import (
	"cmp"
	"encoding/json"
	"errors"
	"log/slog"
	"mime"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/kubernetes"

	"muster.dev/muster/api/bounded"
	"muster.dev/muster/api/rescheduling/v1alpha1"
	"muster.dev/muster/cluster"
	"muster.dev/muster/server/body"
)

// Request is the body of a request.
type Request struct {
	// Pod is the one that is to go, as in shop/web-1.
	Pod string `json:"pod"`
	// From is another pod on its node, or its node. Empty stands for its node.
	From string `json:"from,omitempty"`
	// Why is for people, of at most 256 bytes.
	Why string `json:"why,omitempty"`
}

// Accepted is the answer to a request, with 202.
type Accepted struct {
	Pod  string `json:"pod"`
	Node string `json:"node"` // which the pod is on
	From string `json:"from"`
}

// Refused says what is wrong with a request.
type Refused struct {
	Errors []FieldError `json:"errors"`
}

// FieldError says what is wrong with a field, or with all of the request if that is "".
type FieldError struct {
	Field string `json:"field,omitempty"`
	Error string `json:"error"`
}

// Options of a Handler. All are required but DryRun.
type Options struct {
	Logger   *slog.Logger
	Snapshot func() *cluster.Snapshot
	Client   kubernetes.Interface
	// DryRun has no request be written down: each is checked, and refused.
	DryRun bool
}

// Handler takes requests. It answers 202 once a request is written down; 400 when it is no
// JSON of that form, 413 when it is too long, 415 when it does not say that it is JSON, 422 when a
// field is wrong, 403 in a dry run, 409 when the pod has become another one, 502 when the API server
// fails, and 503 while there are too many.
type Handler struct {
	Options
	bodies body.Reader
}

const (
	// longest is how long a request may be, in bytes.
	longest = 1 << 16
	// allAtOnce is how many bytes there may be of requests that are being answered.
	allAtOnce = 16 << 20
	// timeout is how long a request may take to arrive.
	timeout = 10 * time.Second
)

// New returns a Handler.
func New(o Options) *Handler {
	return &Handler{o, body.Reader{Most: longest, Why: "which is enough for a request", Timeout: timeout, Budget: body.NewBudget(allAtOnce)}}
}

// ServeHTTP implements [http.Handler].
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	// A page in somebody's browser cannot ask for that type without being asked back.
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		answer(w, http.StatusUnsupportedMediaType, refused("the request must be application/json"))
		return
	}
	var request Request
	share := h.bodies.Budget.Share()
	defer share.GiveBack()
	text, err := h.bodies.Read(w, r, nil, &share)
	if err == nil {
		err = bounded.DecodeStrict(text, &request)
	}
	if err != nil {
		status := http.StatusBadRequest
		if refusal, is := errors.AsType[*body.RefusalError](err); is {
			status = refusal.Status
		}
		answer(w, status, refused(err.Error()))
		return
	}
	pod, accepted, errs := request.check(h.Snapshot())
	if len(errs) > 0 {
		answer(w, http.StatusUnprocessableEntity, refusedFields(errs))
		return
	}
	if h.DryRun {
		answer(w, http.StatusForbidden, refused("rescheduler.mode is DryRun, in which nothing is written on pods: annotate the pod with "+
			v1alpha1.AnnotationSeparateFrom+"="+accepted.From+" yourself, and a plan will show what would be done"))
		return
	}
	// Annotations can be written as part of the status: so the right to the rest of pods is not needed.
	patch, err := annotations(pod, accepted.From, request.Why)
	if err == nil {
		_, err = h.Client.CoreV1().
			Pods(pod.Namespace).
			Patch(r.Context(), pod.Name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: cluster.FieldManager}, "status")
	}
	switch {
	case apierrors.IsConflict(err), apierrors.IsNotFound(err):
		answer(w, http.StatusConflict, refused("the pod is gone or another one by now: "+err.Error()))
	case err != nil:
		h.Logger.Warn("cannot write a request down", "pod", request.Pod, "err", err)
		answer(w, http.StatusBadGateway, refused(err.Error()))
	default:
		h.Logger.Info("a pod is to be separated", "pod", accepted.Pod, "from", accepted.From, "reason", request.Why)
		answer(w, http.StatusAccepted, accepted)
	}
}

// check looks the request up in the cluster.
func (r *Request) check(snap *cluster.Snapshot) (*cluster.Pod, Accepted, field.ErrorList) {
	podPath, fromPath := field.NewPath("pod"), field.NewPath("from")
	name, errs := v1alpha1.ParsePod(r.Pod, podPath)
	from, wrong := v1alpha1.NewSeparation(cmp.Or(r.From, "its-node"), r.Why, fromPath, field.NewPath("why"))
	if errs = append(errs, wrong...); len(errs) > 0 {
		return nil, Accepted{}, errs
	}
	pod, node := find(snap, name)
	if pod == nil {
		return nil, Accepted{}, field.ErrorList{field.NotFound(podPath, r.Pod)}
	}
	switch other, on := find(snap, from.Pod); {
	case r.From == "", from.Node == node.Name:
		return pod, Accepted{r.Pod, node.Name, node.Name}, nil
	case from.Node != "":
		return nil, Accepted{}, field.ErrorList{field.Invalid(fromPath, r.From, "the pod is on node "+node.Name)}
	case other == nil:
		return nil, Accepted{}, field.ErrorList{field.NotFound(fromPath, r.From)}
	case other.UID == pod.UID:
		return nil, Accepted{}, field.ErrorList{field.Invalid(fromPath, r.From, "must be another pod")}
	case on != node:
		return nil, Accepted{}, field.ErrorList{field.Invalid(fromPath, r.From, "it is on node "+on.Name+", and the pod on "+node.Name)}
	}
	return pod, Accepted{r.Pod, node.Name, r.From}, nil
}

// find returns the pod of a name and its node, nil when it is on none.
func find(snap *cluster.Snapshot, name types.NamespacedName) (*cluster.Pod, *cluster.Node) {
	for node := range snap.Nodes() {
		for _, pod := range node.Pods {
			if pod.Name == name.Name && pod.Namespace == name.Namespace {
				return pod, node
			}
		}
	}
	return nil, nil
}

// annotations returns the patch that writes a request down, on that very pod.
func annotations(pod *cluster.Pod, from, why string) ([]byte, error) {
	values := map[string]any{v1alpha1.AnnotationSeparateFrom: from, v1alpha1.AnnotationSeparateWhy: nil}
	if why != "" {
		values[v1alpha1.AnnotationSeparateWhy] = why
	}
	return json.Marshal(map[string]any{"metadata": map[string]any{"uid": pod.UID, "annotations": values}})
}

func refused(why string) Refused { return Refused{Errors: []FieldError{{Error: why}}} }

func refusedFields(errs field.ErrorList) (r Refused) {
	for _, err := range errs {
		r.Errors = append(r.Errors, FieldError{Field: err.Field, Error: err.ErrorBody()})
	}
	return r
}

func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}
