package extender

import (
	"bytes"
	stdjson "encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"

	"muster.dev/muster/api/bounded/boundedtest"
	"muster.dev/muster/api/config"
	"muster.dev/muster/inspect"
	"muster.dev/muster/server/servertest"
)

// fuzzedVerbs are the verbs that the fuzzer chooses from.
var fuzzedVerbs = []string{"filter", "prioritize", "preempt", "bind"}

// usualCalls are bodies as kube-scheduler writes them, about pod p and others.
func usualCalls() []string {
	const pod = `"Pod":{"metadata":{"name":"p","namespace":"default","uid":"uid-p","resourceVersion":"1"},` +
		`"spec":{"schedulerName":"default-scheduler","containers":[{"name":"c","resources":{"requests":{"cpu":"1"}}}]}}`
	return []string{
		`{` + pod + `,"NodeNames":["small","big","ghost"]}`,
		`{` + pod + `,"Nodes":{"items":[{"metadata":{"name":"big"}}]}}`,
		`{` + strings.ReplaceAll(pod, "uid-p", "stranger") + `,"NodeNames":["big"]}`,
		`{` + pod + `,"NodeNameToMetaVictims":{"small":{"Pods":[{"UID":"uid-v"}]},"ghost":null}}`,
		`{` + pod + `,"NodeNameToVictims":{"small":{"Pods":[{"metadata":{"uid":"uid-v"}}]}}}`,
		`{"PodName":"p","PodNamespace":"default","PodUID":"uid-p","Node":"big"}`,
		`{"PodName":"q","PodNamespace":"default","PodUID":"uid-p","Node":"big"}`,
		`{"PodName":"p","PodNamespace":"default","PodUID":"stranger","Node":"big"}`,
		`{"PodName":"p","PodNamespace":"default","PodUID":"uid-p","Node":"other"}`, // which was not offered
		`{"Pod":{"metadata":{"name":"s","namespace":"default","uid":"stranger","ownerReferences":[{"uid":"controller","controller":true}]},` +
			`"spec":{"schedulerName":"default-scheduler"}},"NodeNames":["big"]}`,
	}
}

// FuzzVerbs calls a verb about pod p, which waits and was offered big, or about any other. Nothing is written
// except the binding of that pod to that node, and nothing is kept of any other pod.
func FuzzVerbs(f *testing.F) {
	for i, text := range servertest.HostileCalls() {
		length := int64(len(text))
		lengths := []int64{length, length, -1, length + 1, length / 2, 1 << 62} // some lie
		f.Add(byte(i), byte(i/4), lengths[i/4%len(lengths)], []byte(text))
	}
	f.Add(byte(0), byte(0), int64(32<<20), bytes.Repeat([]byte(" "), 4<<10))
	for i, text := range usualCalls() {
		for verb := range fuzzedVerbs {
			f.Add(byte(verb), byte(i), int64(len(text)), []byte(text))
		}
	}
	f.Fuzz(func(t *testing.T, verb, selection byte, length int64, text []byte) {
		boundedtest.Ends(func() {
			synctest.Test(t, func(t *testing.T) { callVerb(t, fuzzedVerbs[int(verb)%len(fuzzedVerbs)], selection, length, text) })
		})
	})
}

// callVerb calls a verb, in a cluster that is made for it. It runs in a bubble of time: a call about an unknown pod
// waits for the pod, and no goroutine may be left.
func callVerb(t *testing.T, verb string, selection byte, length int64, text []byte) {
	var bound []*corev1.Binding
	client := bindings(func(binding *corev1.Binding) error {
		bound = append(bound, binding)
		return nil
	})
	b := newExtenderBench(t, benchOptions{
		client:    client,
		maxBody:   64 << 20,
		selection: []config.NodeSelection{config.NodeSelectionScheduler, config.NodeSelectionMuster}[selection%2],
	})
	b.Node("small", "1")
	b.Node("big", "8")
	b.Node("other", "8")
	victim := servertest.Pod("v", "1")
	victim.Spec.NodeName, victim.Spec.Priority = "small", new(int32(-1))
	for _, pod := range []*corev1.Pod{victim, servertest.Pod("p", "1")} {
		if err := b.Cluster.Set(pod); err != nil {
			t.Fatal(err)
		}
	}
	b.extender.offerAnyway(servertest.Pod("p", "1"), "big")
	handler := inspect.Router(b.extender.Endpoints()...)

	request := httptest.NewRequest(http.MethodPost, "/"+verb, bytes.NewReader(text))
	request.ContentLength = length
	answer := httptest.NewRecorder()
	taken := boundedtest.Taken(func() { handler.ServeHTTP(answer, request) })
	if most := servertest.MostTimes*int64(len(text)) + 1<<20; taken > most {
		t.Errorf("%d bytes take %d of memory, and may take %d", len(text), taken, most)
	}
	if held := b.bodies.Held(); held != 0 {
		t.Errorf("%d bytes are held after the call", held)
	}
	b.checkAnswer(verb, answer)
	for _, binding := range bound {
		if verb != "bind" || binding.Name != "p" || binding.Namespace != "default" || binding.UID != "uid-p" || binding.Target.Name != "big" {
			t.Errorf("%s binds %s/%s (%s) to %s", verb, binding.Namespace, binding.Name, binding.UID, binding.Target.Name)
		}
	}
	for _, action := range client.Actions() {
		if action.GetVerb() != "get" && (action.GetVerb() != "create" || action.GetSubresource() != "binding") || len(bound) > 1 {
			t.Errorf("%s writes: %v", verb, action)
		}
	}
	b.checkView()
}

// checkAnswer checks that an answer is one that kube-scheduler understands.
func (b *bench) checkAnswer(verb string, answer *httptest.ResponseRecorder) {
	b.Helper()
	text := answer.Body.Bytes()
	switch answer.Code {
	case http.StatusOK:
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity:
		if len(text) == 0 || len(text) > 16<<10 {
			b.Errorf("%s answers %d with %d bytes", verb, answer.Code, len(text))
		}
		return
	default:
		b.Errorf("%s answers %d: %s", verb, answer.Code, text)
		return
	}
	into := map[string]any{
		"filter": &extenderv1.ExtenderFilterResult{}, "prioritize": &extenderv1.HostPriorityList{},
		"preempt": &extenderv1.ExtenderPreemptionResult{}, "bind": &extenderv1.ExtenderBindingResult{},
	}[verb]
	decoder := stdjson.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		b.Errorf("%s answers %s: %v", verb, text, err)
	}
	known := []string{"small", "big", "other"}
	switch told := into.(type) {
	case *extenderv1.ExtenderFilterResult:
		for _, name := range ptrOr(told.NodeNames) {
			if !slices.Contains(known, name) {
				b.Errorf("filter offers node %q", name)
			}
		}
	case *extenderv1.HostPriorityList:
		for _, host := range *told {
			if !slices.Contains(known, host.Host) || host.Score < 0 || host.Score > extenderv1.MaxExtenderPriority {
				b.Errorf("prioritize gives %+v", host)
			}
		}
	case *extenderv1.ExtenderPreemptionResult:
		for node, victims := range told.NodeNameToMetaVictims {
			if !slices.Contains(known, node) || len(victims.Pods) == 0 {
				b.Errorf("preempt names %d victims on %q", len(victims.Pods), node)
			}
		}
	}
}

func ptrOr(names *[]string) []string {
	if names == nil {
		return nil
	}
	return *names
}

// checkView checks that only the pods count that the watch has shown.
func (b *bench) checkView() {
	b.Helper()
	for node := range b.Cluster.Snapshot().Nodes() {
		for _, pod := range node.Pods {
			if uids := []types.UID{"uid-p", "uid-v"}; !slices.Contains(uids, pod.UID) {
				b.Errorf("pod %s counts on node %s", pod.UID, node.Name)
			}
		}
	}
	for _, store := range b.profiles.Stores() {
		if classes := store.Classes(); len(classes) > 0 { // the pods that are known have no controller, and so no class
			b.Errorf("%d classes are remembered", len(classes))
		}
	}
}
