package server

import (
	"bytes"
	stdjson "encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"
	k8sjson "sigs.k8s.io/json"

	"muster.dev/muster/api/bounded"
	"muster.dev/muster/api/bounded/boundedtest"
	"muster.dev/muster/api/config/v1alpha2"
	"muster.dev/muster/inspect"
)

// fuzzedVerbs are the verbs, of which the fuzzer chooses.
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

// hostileCalls are bodies that nobody writes but to do harm.
func hostileCalls() []string {
	texts, pods := boundedtest.Texts(), repeatedInPods()
	for _, name := range slices.Sorted(maps.Keys(pods)) {
		texts = append(
			texts, `{"Pod":`+pods[name].of(1<<10)+`,"NodeNames":["small","big"],"NodeNameToMetaVictims":{"small":{"Pods":[{"UID":"uid-v"}]}}}`,
		)
	}
	return texts
}

// FuzzVerbs calls a verb about pod p, which waits and for which big was offered, or about any other.
// Nothing is written but the binding of that pod to that node, and nothing is kept of anybody else.
func FuzzVerbs(f *testing.F) {
	for i, text := range hostileCalls() {
		length := int64(len(text))
		lengths := []int64{length, length, -1, length + 1, length / 2, 1 << 62} // some of which lie
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

// callVerb calls a verb, in a cluster that is made for it. Time is that of a bubble: a call about a pod
// that is not known waits for it, and no goroutine may be left.
func callVerb(t *testing.T, verb string, selection byte, length int64, text []byte) {
	var bound []*corev1.Binding
	client := bindings(func(binding *corev1.Binding) error {
		bound = append(bound, binding)
		return nil
	})
	b := newExtenderBench(t, benchOptions{
		client:    client,
		maxBody:   64 << 20,
		selection: []v1alpha2.NodeSelection{v1alpha2.NodeSelectionScheduler, v1alpha2.NodeSelectionExtender}[selection%2],
	})
	b.node("small", "1")
	b.node("big", "8")
	b.node("other", "8")
	victim := newPod("v", "1")
	victim.Spec.NodeName, victim.Spec.Priority = "small", new(int32(-1))
	for _, pod := range []*corev1.Pod{victim, newPod("p", "1")} {
		if err := b.cluster.Set(pod); err != nil {
			t.Fatal(err)
		}
	}
	b.server.extender.offerAnyway(newPod("p", "1"), "big")
	handler := inspect.Router(b.server.work()...)

	request := httptest.NewRequest(http.MethodPost, "/"+verb, bytes.NewReader(text))
	request.ContentLength = length
	answer := httptest.NewRecorder()
	taken := boundedtest.Taken(func() { handler.ServeHTTP(answer, request) })
	if most := mostTimes*int64(len(text)) + 1<<20; taken > most {
		t.Errorf("%d bytes take %d of memory, and may take %d", len(text), taken, most)
	}
	if held := b.server.bodies.any.Budget.Held() + b.server.bodies.small.Budget.Held(); held != 0 {
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
	for node := range b.cluster.Snapshot().Nodes() {
		for _, pod := range node.Pods {
			if uids := []types.UID{"uid-p", "uid-v"}; !slices.Contains(uids, pod.UID) {
				b.Errorf("pod %s counts on node %s", pod.UID, node.Name)
			}
		}
	}
	for _, store := range b.server.extender.profiles.Stores() {
		if classes := store.Classes(); len(classes) > 0 { // the pods that are known have no controller, and so no class
			b.Errorf("%d classes are remembered", len(classes))
		}
	}
}

// FuzzWebhook posts reviews. The rule of gates reads of them what a decoder of everything does.
func FuzzWebhook(f *testing.F) {
	b := newExtenderBench(f, benchOptions{})
	b.server.config.Gangs.Gates = v1alpha2.GatesUntilPlace
	gates := newGates(b.server.config, b.server.stores.profiles, b.metrics, b.server.bodies)
	for i, text := range boundedtest.Texts() {
		f.Add([]byte([]string{text, reviewOf("CREATE", text)}[i%2]))
	}
	for _, pod := range []string{
		`{"metadata":{"namespace":"d","labels":{"muster.dev/pod-group":"g"}},"spec":{"schedulerName":"default-scheduler"}}`,
		`{"metadata":{"labels":{"muster.dev/pod-group":"g"}},"spec":{"schedulerName":"default-scheduler","schedulingGates":[{"name":"x"},` +
			`{"name":"muster.dev/gang"}]}}`,
		`{"metadata":{"labels":{"scheduling.x-k8s.io/pod-group":"g"}},"spec":{"schedulerName":"default-scheduler","nodeName":"n",` +
			`"schedulingGroup":{}}}`,
	} {
		f.Add([]byte(reviewOf("CREATE", pod)))
		f.Add([]byte(reviewOf("UPDATE", pod)))
		f.Add([]byte(strings.Replace(reviewOf("CREATE", pod), `"operation"`, `"subResource": "status", "operation"`, 1)))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		answer := httptest.NewRecorder()
		boundedtest.Bound{Times: mostTimes, Beside: 64 << 10}.Check(t, len(text), func() {
			answer = httptest.NewRecorder()
			gates.ServeHTTP(answer, httptest.NewRequest(http.MethodPost, "/webhook/gates", bytes.NewReader(text)))
		})
		if held := b.server.bodies.any.Budget.Held(); held != 0 {
			t.Errorf("%d bytes are held", held)
		}
		if answer.Code != http.StatusOK {
			if answer.Code != http.StatusBadRequest || answer.Body.Len() > 16<<10 {
				t.Errorf("answered %d with %d bytes", answer.Code, answer.Body.Len())
			}
			return
		}
		var told, review admissionv1.AdmissionReview
		if err := stdjson.Unmarshal(answer.Body.Bytes(), &told); err != nil || told.Response == nil || !told.Response.Allowed {
			t.Fatalf("answered %s, %v", answer.Body, err)
		}
		if !decodes(text, &review) || review.Request == nil {
			return
		}
		var pod corev1.Pod
		if raw := review.Request.Object.Raw; len(raw) > 0 && !decodes(raw, &pod) {
			return
		}
		wants := review.Request.Operation == admissionv1.Create && review.Request.SubResource == "" && gates.wants(&pod)
		if got := told.Response.Patch != nil; got != wants || told.Response.UID != review.Request.UID {
			t.Errorf("the answer is for %q, gated: %t; want %q, %t", told.Response.UID, got, review.Request.UID, wants)
		}
	})
}

// decodes says that a text can be decoded, which it is, and has no field twice, which decoders merge in
// ways of their own.
func decodes(text []byte, into any) bool {
	if _, err := bounded.Check(text, into); err != nil {
		return false
	}
	wrong, err := k8sjson.UnmarshalStrict(text, into)
	return err == nil && !slices.ContainsFunc(wrong, func(err error) bool { return strings.Contains(err.Error(), "duplicate field") })
}

// FuzzRepeated posts bodies in which an element of the fuzzer's is repeated, so that it finds those of
// which a decoder makes most.
func FuzzRepeated(f *testing.F) {
	boundedtest.SkipWithRaceDetector(f)
	const size = 64 << 10
	handler := newHostileBench(f)
	paths := []string{"/filter", "/prioritize", "/preempt", "/bind", "/webhook/gates", "/debug/explain"}
	pods := repeatedInPods()
	for i, name := range slices.Sorted(maps.Keys(pods)) {
		pod := pods[name]
		switch at := i % 4; paths[at] {
		case "/bind":
			f.Add(byte(5), pod.before, pod.element, pod.after)
		default:
			f.Add(byte(at), `{"NodeNames":["node-1"],"Pod":`+pod.before, pod.element, pod.after+`}`)
		}
		before, after, _ := strings.Cut(reviewOf("CREATE", "%%"), "%%")
		f.Add(byte(4), before+pod.before, pod.element, pod.after+after)
	}
	f.Add(byte(3), `{"PodName":"p","PodNamespace":"d",`, `"PodUID":"u"`, `,"Node":"n"}`)
	f.Fuzz(func(t *testing.T, path byte, before, element, after string) {
		if len(before)+len(element)+len(after) > size/2 {
			t.Skip("there is nothing to repeat")
		}
		body := []byte(filled(size, before, element, after))
		body = append(body, bytes.Repeat([]byte(" "), max(0, size-len(body)))...) // which is too long for YAML
		boundedtest.Ends(func() {
			const most = mostTimes*size + 128<<10 // the runtime takes some for itself
			status, taken := footprint(handler, paths[int(path)%len(paths)], body)
			if taken > most { // as the first call does, if it is this one
				status, taken = footprint(handler, paths[int(path)%len(paths)], body)
			}
			if taken > most {
				t.Errorf("answered %d: takes %d, %.1f times as much", status, taken, float64(taken)/float64(len(body)))
			}
			if status == http.StatusInternalServerError {
				t.Errorf("answered %d", status)
			}
		})
	})
}
