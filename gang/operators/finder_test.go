package operators_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"muster.dev/muster/api/config"
	"muster.dev/muster/gang/operators"
	"muster.dev/muster/gang/operators/kinds"
)

// listed answers lists with the UID that stands for their path and selector, or with an error code.
func listed(t *testing.T, answers map[string]any, asked *[]string) metadata.Interface {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		question := r.URL.Path + "?" + r.URL.Query().Get("fieldSelector")
		*asked = append(*asked, question)
		list := metav1.PartialObjectMetadataList{TypeMeta: metav1.TypeMeta{APIVersion: "meta.k8s.io/v1", Kind: "PartialObjectMetadataList"}}
		w.Header().Set("Content-Type", "application/json")
		switch answer := answers[question].(type) {
		case int:
			w.WriteHeader(answer)
			return
		case string:
			list.Items = []metav1.PartialObjectMetadata{{ObjectMeta: metav1.ObjectMeta{UID: types.UID(answer)}}}
		}
		_ = json.NewEncoder(w).Encode(list)
	}))
	t.Cleanup(server.Close)
	client, err := metadata.NewForConfig(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func TestAnOwnerIsListedByItsName(t *testing.T) {
	const group = "/apis/jobset.x-k8s.io/v1alpha2/namespaces/team/jobsets?metadata.name="
	const mpi2 = "/apis/kubeflow.org/v2beta1/namespaces/team/mpijobs?metadata.name=m"
	const mpi1 = "/apis/kubeflow.org/v1/namespaces/team/mpijobs?metadata.name=m"
	const pod = "/api/v1/namespaces/team/pods?metadata.name=p,status.phase!=Failed,status.phase!=Succeeded"
	jobSet, mpiJob := schema.GroupKind{Group: "jobset.x-k8s.io", Kind: "JobSet"}, schema.GroupKind{Group: "kubeflow.org", Kind: "MPIJob"}
	for name, test := range map[string]struct {
		answers map[string]any
		kind    schema.GroupKind
		object  string
		want    types.UID
		wantErr func(error) bool
		asks    []string
	}{
		"it is there":   {map[string]any{group + "train": "uid"}, jobSet, "train", "uid", nil, []string{group + "train"}},
		"there is none": {nil, jobSet, "train", "", nil, []string{group + "train"}},
		"muster may not read it": {
			map[string]any{group + "train": http.StatusForbidden}, jobSet, "train", "", apierrors.IsForbidden, []string{group + "train"},
		},
		"an older version is served": {map[string]any{mpi2: http.StatusNotFound, mpi1: "uid"}, mpiJob, "m", "uid", nil, []string{mpi2, mpi1}},
		"no version is served": {
			map[string]any{mpi2: http.StatusNotFound, mpi1: http.StatusNotFound}, mpiJob, "m", "", apierrors.IsNotFound, []string{mpi2, mpi1},
		},
		"a Job":                     {nil, operators.Job, "j", "", nil, []string{"/apis/batch/v1/namespaces/team/jobs?metadata.name=j"}},
		"a pod that has not ended":  {map[string]any{pod: "uid"}, operators.Pod, "p", "uid", nil, []string{pod}},
		"nothing can be called so":  {nil, jobSet, "a,metadata.name!=a", "", nil, nil},
		"nothing is called so long": {nil, jobSet, strings.Repeat("a", 1<<20), "", nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var asked []string
			find := kinds.Set([]config.GangKind{config.GangKindJobSet, config.GangKindMPIJob}).Finder(listed(t, test.answers, &asked))
			got, err := find(t.Context(), test.kind, types.NamespacedName{Namespace: "team", Name: test.object})
			if got != test.want || (err != nil) != (test.wantErr != nil) || err != nil && !test.wantErr(err) {
				t.Errorf("found %q, error %v; want %q", got, err, test.want)
			}
			if strings.Join(asked, " ") != strings.Join(test.asks, " ") {
				t.Errorf("asked %q, want %q", asked, test.asks)
			}
		})
	}
}
