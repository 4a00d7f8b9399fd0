package wire_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/go-faster/jx"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"

	"muster.dev/muster/api/bounded/boundedtest"
	"muster.dev/muster/server/wire"
)

// A streaming reader and a decoder of everything read the same from a text, if both take it. A
// decoder merges what is said twice, and makes text of invalid text: the test passes over such texts.

// message has the fields of the requests, as encoding/json reads them.
type message struct {
	Pod, Nodes, NodeNameToVictims, NodeNameToMetaVictims json.RawMessage
	NodeNames                                            *[]string
}

// definite says that a text stands for one thing alone.
func definite(text []byte) bool {
	return utf8.Valid(text) && !strings.Contains(strings.ToLower(string(text)), `\ud`) && json.Valid(text) &&
		!repeats(json.NewDecoder(strings.NewReader(string(text))))
}

// repeats says that some object of a valid text has a field twice, in any case.
func repeats(d *json.Decoder) bool {
	token, _ := d.Token()
	delim, opens := token.(json.Delim)
	if !opens {
		return false
	}
	seen := map[string]bool{}
	for d.More() {
		if delim == '{' {
			name, _ := d.Token()
			folded := strings.ToLower(strings.ToUpper(name.(string)))
			if seen[folded] {
				return true
			}
			seen[folded] = true
		}
		if repeats(d) {
			return true
		}
	}
	_, _ = d.Token()
	return false
}

// head identifies a pod.
func head(pod *corev1.Pod) wire.Pod {
	return wire.Pod{
		Namespace:       pod.Namespace,
		Name:            pod.Name,
		UID:             pod.UID,
		ResourceVersion: pod.ResourceVersion,
		SchedulerName:   pod.Spec.SchedulerName,
	}
}

// samePod compares the pod of a request with that of the message.
func samePod(t *testing.T, raw json.RawMessage, got *wire.Pod) {
	t.Helper()
	var want corev1.Pod
	if utiljson.Unmarshal(raw, &want) != nil {
		return
	}
	if diff := cmp.Diff(
		head(&want),
		wire.Pod{Namespace: got.Namespace, Name: got.Name, UID: got.UID, ResourceVersion: got.ResourceVersion, SchedulerName: got.SchedulerName},
		cmp.AllowUnexported(wire.Pod{}),
	); diff != "" {
		t.Errorf("the pod of %s (-decoded +streamed):\n%s", raw, diff)
	}
}

// mustBeJSON checks that nothing else was accepted.
func mustBeJSON(t *testing.T, text []byte, err error) {
	t.Helper()
	if err == nil && !json.Valid(text) {
		t.Errorf("accepted %q, which is no JSON", text)
	}
}

func addRequests(f *testing.F) {
	f.Helper()
	const pod = `"Pod":{"metadata":{"name":"p","namespace":"d","uid":"u","resourceVersion":"7"},"spec":{"schedulerName":"s"}}`
	for _, text := range append(boundedtest.Texts(),
		`{`+pod+`,"NodeNames":["a","b","ü","quote\"d","\u0061"]}`, `{`+pod+`,"nodenames":null,"Nodes":{"items":[{"metadata":{"name":"a"}},`+
			`{"metadata":{"name":"b","labels":{"name":"x"}}}]}}`,
		`{ "pod" : {"Metadata":{"Name":"no"}} , "NodeNames" : [ ] `+
			`}`, `{`+pod+`,"NodeNames":["a",]}`, `{`+pod+`,"NodeNames":[null]}`, `{`+pod+`,"x":tru}`, `{`+pod+`,"x":01}`,
		`{`+pod+`,"NodeNameToMetaVictims":{"a":{"Pods":[{"UID":"x"},null,{"uid":"y"}],"NumPDBViolations":1},"b":null,"ghost":{}}}`,
		`{`+pod+`,"NodeNameToVictims":{"a":{"pods":[{"metadata":{"uid":"x"}}],"numpdbviolations":-1}}}`,
		`{`+pod+`,"NodeNameToMetaVictims":{"a":{"Pods":[`+boundedtest.Times(200, `{"UID":"x"}`)+`]}}}`,
		`{"PodName":"p","PodNamespace":"d","PodUID":"u","Node":"a"}`, `{"podname":"p","podnamespace":"d","poduid":"\u0075","NODE":"a",`+
			`"x":{}} `, `{"PodName":"p","PodNamespace":"d","PodUID":"u","Node":7}`,
	) {
		f.Add([]byte(text))
	}
}

func FuzzArgs(f *testing.F) {
	addRequests(f)
	f.Fuzz(func(t *testing.T, text []byte) {
		var args wire.Args
		read := names{known: map[string]bool{"a": true, "ü": true}}
		var err error
		boundedtest.Bound{Times: 64, Beside: 16 << 10}.Check(t, len(text), func() { err = args.Read(&jx.Decoder{}, text, &read) })
		mustBeJSON(t, text, err)
		var want message
		if err != nil || !definite(text) || json.Unmarshal(text, &want) != nil {
			return
		}
		samePod(t, want.Pod, &args.Pod)
		boundedtest.Bound{Times: 10, Beside: args.Pod.Memory()}.Check(t, len(text), func() { _, _ = args.Pod.Object() })
		var nodes corev1.NodeList
		wantNodes := len(want.Nodes) > 0 && string(want.Nodes) != "null"
		if args.WholeNodes != wantNodes {
			t.Errorf("whole nodes: %t, want %t", args.WholeNodes, wantNodes)
		}
		switch {
		case want.NodeNames != nil && wantNodes, wantNodes && utiljson.Unmarshal(want.Nodes, &nodes) != nil:
		case wantNodes:
			var named []string
			for i := range nodes.Items {
				named = append(named, nodes.Items[i].Name)
			}
			if !slices.Equal(named, read.got) || len(args.Nodes) != len(named) {
				t.Errorf("nodes %q, want %q", read.got, named)
			}
		case want.NodeNames != nil && !slices.Equal(*want.NodeNames, read.got):
			t.Errorf("names %q, want %q", read.got, *want.NodeNames)
		}
	})
}

func FuzzPreemptArgs(f *testing.F) {
	addRequests(f)
	f.Fuzz(func(t *testing.T, text []byte) {
		const pods = 2
		var args wire.PreemptArgs
		var err error
		boundedtest.Bound{Times: 64, Beside: 64 << 10}.Check(t, len(text), func() { err = args.Read(&jx.Decoder{}, text, onTwo(pods)) })
		mustBeJSON(t, text, err)
		for node, victims := range args.Victims {
			if node != "a" && node != "b" || victims != nil && len(victims.Pods) > pods+100 {
				t.Errorf("of node %q %d victims are kept", node, len(victims.Pods))
			}
		}
		var want message
		if err != nil || !definite(text) || json.Unmarshal(text, &want) != nil {
			return
		}
		samePod(t, want.Pod, &args.Pod)
		var meta map[string]*extenderv1.MetaVictims
		var whole map[string]*extenderv1.Victims
		if json.Unmarshal(orNull(want.NodeNameToMetaVictims), &meta) != nil || json.Unmarshal(orNull(want.NodeNameToVictims), &whole) != nil ||
			meta != nil && whole != nil {
			return
		}
		decoded := map[string]*extenderv1.MetaVictims{}
		for node, victims := range meta {
			if victims != nil {
				kept := &extenderv1.MetaVictims{NumPDBViolations: victims.NumPDBViolations}
				kept.Pods = slices.DeleteFunc(victims.Pods, func(p *extenderv1.MetaPod) bool { return p == nil })
				decoded[node] = kept
			}
		}
		for node, victims := range whole {
			if victims != nil {
				kept := &extenderv1.MetaVictims{NumPDBViolations: victims.NumPDBViolations}
				for _, pod := range victims.Pods {
					if pod != nil {
						kept.Pods = append(kept.Pods, &extenderv1.MetaPod{UID: string(pod.UID)})
					}
				}
				decoded[node] = kept
			}
		}
		maps.DeleteFunc(decoded, func(node string, _ *extenderv1.MetaVictims) bool { return node != "a" && node != "b" })
		if strings.Contains(strings.ToLower(string(text)), "metadata") && whole != nil && !strings.Contains(string(text), `"metadata"`) {
			return // in another case, which encoding/json takes for the same and the API machinery does not
		}
		for _, victims := range decoded {
			if len(victims.Pods) == 0 {
				victims.Pods = nil
			}
		}
		for _, victims := range args.Victims {
			if victims != nil && len(victims.Pods) == 0 {
				victims.Pods = nil
			}
		}
		if diff := cmp.Diff(decoded, args.Victims); diff != "" {
			t.Errorf("victims (-decoded +streamed):\n%s", diff)
		}
	})
}

func orNull(text json.RawMessage) json.RawMessage {
	if len(text) == 0 {
		return json.RawMessage("null")
	}
	return text
}

func FuzzBind(f *testing.F) {
	addRequests(f)
	f.Fuzz(func(t *testing.T, text []byte) {
		var got, want extenderv1.ExtenderBindingArgs
		var err error
		boundedtest.Bound{Times: 16, Beside: 16 << 10}.Check(t, len(text), func() { got, err = wire.ReadBind(&jx.Decoder{}, text) })
		mustBeJSON(t, text, err)
		if err != nil {
			return
		}
		if got.PodName == "" || got.PodNamespace == "" || got.PodUID == "" || got.Node == "" {
			t.Errorf("something is missing in %+v", got)
		}
		if !definite(text) || json.Unmarshal(text, &want) != nil {
			return
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-decoded +streamed):\n%s", diff)
		}
	})
}

// Whatever a request names, the reply is JSON.
func FuzzReply(f *testing.F) {
	f.Add("node-1", "node(s) had a taint")
	f.Add("\x1b[2J\n\xff", "\u2028\x00\"\\")
	f.Fuzz(func(t *testing.T, name, reason string) {
		quoted, err := json.Marshal(name)
		if err != nil {
			t.Skip(err)
		}
		var w jx.Writer
		reply := wire.NewFilterReply(&w)
		reply.Accept(quoted)
		reply.Reject(quoted, reason)
		reply.End()
		var told extenderv1.ExtenderFilterResult
		if err := json.Unmarshal(w.Buf, &told); err != nil || len(*told.NodeNames) != 1 || len(told.FailedAndUnresolvableNodes) != 1 {
			t.Errorf("%s: %v", w.Buf, err)
		}
		w.Reset()
		wire.FilterError(&w, reason)
		if !json.Valid(w.Buf) {
			t.Errorf("%s", w.Buf)
		}
	})
}
