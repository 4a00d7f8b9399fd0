package wire_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/go-faster/jx"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"
	"pgregory.net/rapid"

	"muster.dev/muster/api/seeded"
	"muster.dev/muster/server/wire"
)

func testPod() *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name:            "web-0",
			Namespace:       "shop",
			UID:             "u-1",
			ResourceVersion: "17",
			Labels:          map[string]string{"uid": "not this"},
		},
		Spec: corev1.PodSpec{SchedulerName: "pack", Containers: []corev1.Container{{Name: "c", Image: "i"}}},
	}
}

func encode(t testing.TB, v any) []byte {
	t.Helper()
	encoded, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return encoded
}

// names keeps what it receives, and knows some names.
type names struct {
	got   []string
	known map[string]bool
	took  int // of the known
	drops map[string]bool
	most  int // 0 for any number
}

func (n *names) Known(text []byte) int {
	for name := range n.known {
		quoted, err := json.Marshal(name)
		if err != nil {
			panic(err)
		}
		if bytes.HasPrefix(text, quoted) {
			n.got = append(n.got, name)
			n.took++
			return len(quoted)
		}
	}
	return 0
}

func (n *names) Name(name []byte) (bool, error) {
	if n.most > 0 && len(n.got) == n.most {
		return false, errors.New("too many")
	}
	if n.drops[string(name)] {
		return false, nil
	}
	n.got = append(n.got, string(name))
	return true, nil
}

func TestArgsReadWhatTheSchedulerWrites(t *testing.T) {
	sent := []string{"node-1", "node-2", "ünïcode", `quote"d`, "node-3"}
	body := encode(t, extenderv1.ExtenderArgs{Pod: testPod(), NodeNames: &sent})

	var args wire.Args
	var read names
	if err := args.Read(&jx.Decoder{}, body, &read); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(sent, read.got); diff != "" {
		t.Errorf("names (-sent +read):\n%s", diff)
	}
	p := args.Pod
	if got, want := fmt.Sprint(p.Namespace, p.Name, p.UID, p.ResourceVersion, p.SchedulerName), fmt.Sprint(
		"shop", "web-0", "u-1", "17", "pack",
	); got != want {
		t.Errorf("pod header %q, want %q", got, want)
	}
	object, err := p.Object()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(testPod(), object); diff != "" {
		t.Errorf("pod (-sent +read):\n%s", diff)
	}
}

func TestArgsReadWholeNodes(t *testing.T) {
	list := &corev1.NodeList{Items: []corev1.Node{
		{ObjectMeta: metav1.ObjectMeta{Name: "a", Labels: map[string]string{"name": "x"}}},
		{ObjectMeta: metav1.ObjectMeta{Name: "b"}},
	}}
	var args wire.Args
	var read names
	if err := args.Read(&jx.Decoder{}, encode(t, extenderv1.ExtenderArgs{Pod: testPod(), Nodes: list}), &read); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"a", "b"}, read.got); diff != "" || !args.WholeNodes {
		t.Errorf("whole nodes %v, names (-want +got):\n%s", args.WholeNodes, diff)
	}
	var first corev1.Node
	if err := json.Unmarshal(args.Nodes[0], &first); err != nil || first.Labels["name"] != "x" {
		t.Errorf("first node read as %v, %v", first, err)
	}
}

func TestArgsForgetThePreviousRequest(t *testing.T) {
	sent := []string{"a"}
	var args wire.Args
	d := &jx.Decoder{}
	list := &corev1.NodeList{Items: []corev1.Node{{ObjectMeta: metav1.ObjectMeta{Name: "old"}}}}
	if err := args.Read(d, encode(t, extenderv1.ExtenderArgs{Pod: testPod(), Nodes: list}), &names{}); err != nil {
		t.Fatal(err)
	}
	var read names
	if err := args.Read(d, encode(t, extenderv1.ExtenderArgs{Pod: &corev1.Pod{}, NodeNames: &sent}), &read); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(sent, read.got); diff != "" || args.WholeNodes || args.Pod.Name != "" || len(args.Nodes) != 0 {
		t.Errorf("read %+v, names (-want +got):\n%s", args, diff)
	}
}

var long = strings.Repeat("n", 318)

func TestArgsNameTheFieldAtFault(t *testing.T) {
	for name, test := range map[string]struct{ body, want string }{
		"an empty body":               {``, "EOF"},
		"no object":                   {`[]`, "unexpected byte"},
		"a truncated object":          {`{"Pod":{"metadata":{"name":"x"}`, "EOF"},
		"no pod":                      {`{"NodeNames":["a"]}`, "Pod: missing"},
		"a null pod":                  {`{"Pod":null,"NodeNames":["a"]}`, "Pod: missing"},
		"a pod that is a string":      {`{"Pod":"x"}`, "Pod: "},
		"a name that is a number":     {`{"Pod":{},"NodeNames":["a",7]}`, "NodeNames: "},
		"a uid that is an object":     {`{"Pod":{"metadata":{"uid":{}}}}`, "Pod: metadata: "},
		"a node without a name":       {`{"Pod":{},"Nodes":{"items":[{"metadata":{"name":"a"}},{}]}}`, "Nodes: items[1]: metadata.name: missing"},
		"something behind the object": {`{"Pod":{}} {}`, "unexpected data"},
		"a word that is none":         {`{"Pod":{},"x":nul}`, "x: "},
		"a word that goes on":         {`{"Pod":{},"x":truex}`, "x: "},
		"a value that is cut":         {`{"Pod":{},"x":[1,}`, "x: "},
		"a pod that is nested":        {`{"Pod":` + strings.Repeat(`{"a":`, 101), "Pod: objects and lists are nested more than 100 levels deep"},
		"what else is nested": {
			`{"Pod":{},"x":` + strings.Repeat("[", 1<<20), "x: objects and lists are nested more than 100 levels deep",
		},
		"a name that is nested": {
			`{"Pod":{},"NodeNames":[` + strings.Repeat("[", 1<<20), "NodeNames: objects and lists are nested more than 100 levels deep",
		},
		"a long name of a field":   {`{"` + long + `":1}`, `"` + long[:64] + `"…: the name has 318 bytes; it may have 317`},
		"a long name of a pod":     {`{"Pod":{"metadata":{"name":"` + long + `"}}}`, "Pod: metadata: name: it has 318 bytes; it may have 317"},
		"a long UID":               {`{"Pod":{"metadata":{"uid":"` + long + `"}}}`, "Pod: metadata: uid: it has 318 bytes"},
		"a long name of a profile": {`{"Pod":{"spec":{"schedulerName":"` + long + `"}}}`, "Pod: spec: schedulerName: it has 318 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			var args wire.Args
			err := args.Read(&jx.Decoder{}, []byte(test.body), &names{})
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want one with %q", err, test.want)
			}
		})
	}
}

func TestTooManyNamesEndAList(t *testing.T) {
	for _, body := range []string{
		`{"Pod":{},"NodeNames":["a","b","c"]}`,
		`{"Pod":{},"Nodes":{"items":[{"metadata":{"name":"a"}},{"metadata":{"name":"b"}},{"metadata":{"name":"c"}}]}}`,
	} {
		var args wire.Args
		if err := args.Read(&jx.Decoder{}, []byte(body), &names{most: 2}); err == nil || !strings.HasSuffix(err.Error(), ": too many") {
			t.Errorf("%s: error %v", body, err)
		}
	}
}

func TestObjectsOfNodesThatAreLeftOutAreLeftOut(t *testing.T) {
	var args wire.Args
	body := `{"Pod":{},"Nodes":{"items":[{"metadata":{"name":"a"}},{"metadata":{"name":"b"}},{"metadata":{"name":"c"}}]}}`
	if err := args.Read(&jx.Decoder{}, []byte(body), &names{drops: map[string]bool{"b": true}}); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprintf("%s", args.Nodes); got != `[{"metadata":{"name":"a"}} {"metadata":{"name":"c"}}]` {
		t.Errorf("the objects are %s", got)
	}
}

func TestAPodIsDecodedWithinBounds(t *testing.T) {
	for pod, want := range map[string]string{
		`{"spec":{"overhead":{"cpu":"1e-2147483648"}}}`: `Pod: spec.overhead[cpu]: "1e-2147483648" has an exponent of 10 ` +
			`digits; a quantity has 2 at most`,
		`{"spec":{"containers":[` + strings.Repeat("{},", 100_000) + `{}]}}`: "Pod: spec.containers[",
	} {
		var args wire.Args
		if err := args.Read(&jx.Decoder{}, []byte(`{"Pod":`+pod+`}`), &names{}); err != nil {
			t.Fatal(err)
		}
		if _, err := args.Pod.Object(); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}

func TestArgsReadAnyNames(t *testing.T) {
	seeded.Check(t, func(t *rapid.T) {
		sent := rapid.SliceOf(rapid.String()).Draw(t, "names")
		encoded, err := json.Marshal(extenderv1.ExtenderArgs{Pod: &corev1.Pod{}, NodeNames: &sent})
		if err != nil {
			t.Fatal(err)
		}
		var want extenderv1.ExtenderArgs // encoding/json may replace invalid UTF-8
		if err := json.Unmarshal(encoded, &want); err != nil {
			t.Fatal(err)
		}
		read := names{known: map[string]bool{}}
		known := 0
		for _, name := range *want.NodeNames {
			if rapid.Bool().Draw(t, "known") {
				read.known[name] = true
			}
		}
		for _, name := range *want.NodeNames {
			if read.known[name] {
				known++
			}
		}
		var args wire.Args
		if err := args.Read(&jx.Decoder{}, encoded, &read); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(*want.NodeNames, read.got, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("(-sent +read):\n%s", diff)
		}
		if read.took != known {
			t.Fatalf("%d of %d known names were taken as such", read.took, known)
		}
	})
}

func TestFilterReplies(t *testing.T) {
	for name, test := range map[string]struct {
		write func(w *jx.Writer)
		want  extenderv1.ExtenderFilterResult
	}{
		"names that fit and nodes that do not": {
			write: func(w *jx.Writer) {
				r := wire.NewFilterReply(w)
				r.Accept([]byte(`"a"`))
				r.Accept([]byte(`"b"`))
				r.Reject([]byte(`"c"`), `too "big"`)
				r.Reject([]byte(`"d"`), "full")
				r.End()
			},
			want: extenderv1.ExtenderFilterResult{
				NodeNames:                  &[]string{"a", "b"},
				FailedAndUnresolvableNodes: extenderv1.FailedNodesMap{"c": `too "big"`, "d": "full"},
			},
		},
		"nothing at all": {
			write: func(w *jx.Writer) {
				r := wire.NewFilterReply(w)
				r.End()
			},
			want: extenderv1.ExtenderFilterResult{NodeNames: &[]string{}},
		},
		"objects": {
			write: func(w *jx.Writer) {
				r := wire.NewFilterReplyOfObjects(w)
				r.Accept([]byte(`{"metadata":{"name":"a"}}`))
				r.Reject([]byte(`"b"`), "full")
				r.End()
			},
			want: extenderv1.ExtenderFilterResult{
				Nodes:                      &corev1.NodeList{Items: []corev1.Node{{ObjectMeta: metav1.ObjectMeta{Name: "a"}}}},
				FailedAndUnresolvableNodes: extenderv1.FailedNodesMap{"b": "full"},
			},
		},
		"an error": {
			write: func(w *jx.Writer) { wire.FilterError(w, "no\nprofile") },
			want:  extenderv1.ExtenderFilterResult{Error: "no\nprofile"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var w jx.Writer
			test.write(&w)
			var got extenderv1.ExtenderFilterResult
			if err := json.Unmarshal(w.Buf, &got); err != nil {
				t.Fatalf("%s: %v", w.Buf, err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestPriorityReply(t *testing.T) {
	var w jx.Writer
	r := wire.NewPriorityReply(&w)
	r.Add([]byte(`"a"`), 0)
	r.Add([]byte(`"b"`), 10)
	r.End()
	var got extenderv1.HostPriorityList
	if err := json.Unmarshal(w.Buf, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(extenderv1.HostPriorityList{{Host: "a", Score: 0}, {Host: "b", Score: 10}}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
