// Package emptyextender is the least that a scheduler extender can be: it decodes
// with encoding/json, returns what it got, or one node of it, and binds through the API.
// Benchmarks measure against it, as what any extender costs.
package emptyextender

import (
	"encoding/json"
	"net/http"
	"path"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"
)

// Filter answers the filter verb.
type Filter func(*extenderv1.ExtenderArgs) extenderv1.ExtenderFilterResult

// EveryNode answers with what it got.
func EveryNode() Filter {
	return func(args *extenderv1.ExtenderArgs) extenderv1.ExtenderFilterResult {
		return extenderv1.ExtenderFilterResult{Nodes: args.Nodes, NodeNames: args.NodeNames}
	}
}

// AnyNode answers with one of the names that it got, each time with one further on.
func AnyNode() Filter {
	var calls atomic.Int64
	return func(args *extenderv1.ExtenderArgs) extenderv1.ExtenderFilterResult {
		if args.NodeNames == nil || len(*args.NodeNames) == 0 {
			return extenderv1.ExtenderFilterResult{}
		}
		at := calls.Add(1) % int64(len(*args.NodeNames))
		return extenderv1.ExtenderFilterResult{NodeNames: &[]string{(*args.NodeNames)[at]}}
	}
}

// Handler serves POST /filter, /prioritize and, with a client, /bind, below any prefix: a configuration that was printed for
// muster's profiles has one.
func Handler(filter Filter, client kubernetes.Interface) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /filter", verb(func(_ *http.Request, args *extenderv1.ExtenderArgs) any { return filter(args) }))
	mux.HandleFunc("POST /prioritize", verb(func(_ *http.Request, args *extenderv1.ExtenderArgs) any {
		scores := extenderv1.HostPriorityList{}
		if args.NodeNames != nil {
			for _, name := range *args.NodeNames {
				scores = append(scores, extenderv1.HostPriority{Host: name})
			}
		}
		return scores
	}))
	if client != nil {
		mux.HandleFunc("POST /bind", verb(func(r *http.Request, args *extenderv1.ExtenderBindingArgs) any {
			err := client.CoreV1().Pods(args.PodNamespace).Bind(r.Context(), &corev1.Binding{
				ObjectMeta: metav1.ObjectMeta{Namespace: args.PodNamespace, Name: args.PodName, UID: args.PodUID},
				Target:     corev1.ObjectReference{Kind: "Node", Name: args.Node},
			}, metav1.CreateOptions{})
			if err != nil {
				return extenderv1.ExtenderBindingResult{Error: err.Error()}
			}
			return extenderv1.ExtenderBindingResult{}
		}))
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.URL.Path = "/" + path.Base(r.URL.Path)
		mux.ServeHTTP(w, r)
	})
}

func verb[Args any](answer func(*http.Request, *Args) any) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		args := new(Args)
		if err := json.NewDecoder(r.Body).Decode(args); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(answer(r, args)) // the caller may be gone
	}
}
