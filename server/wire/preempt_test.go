package wire_test

import (
	"strings"
	"testing"

	"github.com/go-faster/jx"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"

	"muster.dev/muster/server/wire"
)

// onTwo puts a number of pods each on nodes a and b.
func onTwo(pods int) wire.Node {
	return func(name []byte) (int, bool) { return pods, string(name) == "a" || string(name) == "b" }
}

func victim(uid string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: uid, UID: types.UID(uid)},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c"}}},
	}
}

func TestPreemptArgsReadWhatTheSchedulerWrites(t *testing.T) {
	uids := func(violations int64, uids ...string) *extenderv1.MetaVictims {
		v := &extenderv1.MetaVictims{NumPDBViolations: violations}
		for _, uid := range uids {
			v.Pods = append(v.Pods, &extenderv1.MetaPod{UID: uid})
		}
		return v
	}
	for name, sent := range map[string]extenderv1.ExtenderPreemptionArgs{
		"names": {
			Pod:                   testPod(),
			NodeNameToMetaVictims: map[string]*extenderv1.MetaVictims{"a": uids(1, "x", "y"), "b": uids(0), "ghost": uids(0, "z")},
		},
		"whole pods": {Pod: testPod(), NodeNameToVictims: map[string]*extenderv1.Victims{
			"a": {
				Pods: []*corev1.Pod{victim("x"), nil, victim("y")}, NumPDBViolations: 1,
			}, "b": {}, "ghost": {Pods: []*corev1.Pod{victim("z")}}, "none": nil,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			var args wire.PreemptArgs
			if err := args.Read(&jx.Decoder{}, encode(t, sent), onTwo(2)); err != nil {
				t.Fatal(err)
			}
			want := map[string]*extenderv1.MetaVictims{"a": uids(1, "x", "y"), "b": uids(0)}
			if diff := cmp.Diff(want, args.Victims); diff != "" {
				t.Errorf("victims (-want +got):\n%s", diff)
			}
			if args.Pod.Name != "web-0" || args.Pod.UID != "u-1" || args.Pod.SchedulerName != "pack" {
				t.Errorf("the pod is %+v", args.Pod)
			}
			if object, err := args.Pod.Object(); err != nil || cmp.Diff(testPod(), object) != "" {
				t.Errorf("decoded %+v, %v", object, err)
			}
		})
	}
}

func TestPreemptArgsNameTheFieldAtFault(t *testing.T) {
	many := strings.TrimSuffix(strings.Repeat(`{"UID":"u"},`, 103), ",")
	for name, test := range map[string]struct{ body, want string }{
		"an empty body":           {``, "EOF"},
		"no pod":                  {`{"NodeNameToMetaVictims":{}}`, "Pod: missing"},
		"a null pod":              {`{"Pod":null}`, "Pod: missing"},
		"victims that are a list": {`{"Pod":{},"NodeNameToMetaVictims":[]}`, "NodeNameToMetaVictims: "},
		"a UID that is a number":  {`{"Pod":{},"NodeNameToMetaVictims":{"a":{"Pods":[{"UID":1}]}}}`, "NodeNameToMetaVictims: a: Pods: UID: "},
		"a UID that is long": {
			`{"Pod":{},"NodeNameToVictims":{"a":{"Pods":[{"metadata":{"uid":"` + long + `"}}]}}}`,
			"NodeNameToVictims: a: Pods: metadata.uid: it has 318 bytes",
		},
		"too many victims": {
			`{"Pod":{},"NodeNameToMetaVictims":{"a":{"Pods":[` + many + `]}}}`,
			"NodeNameToMetaVictims: a: Pods: there are more than 102, which are 100 more than the pods that are known there",
		},
		"violations that are many": {
			`{"Pod":{},"NodeNameToMetaVictims":{"a":{"NumPDBViolations":1e9}}}`, "NodeNameToMetaVictims: a: NumPDBViolations: ",
		},
		"victims that are nested": {
			`{"Pod":{},"NodeNameToMetaVictims":{"ghost":` + strings.Repeat("[", 200) + `}}`,
			"NodeNameToMetaVictims: objects and lists are nested more than 100 levels deep",
		},
		"something behind it": {`{"Pod":{}} {}`, "unexpected data"},
	} {
		t.Run(name, func(t *testing.T) {
			var args wire.PreemptArgs
			err := args.Read(&jx.Decoder{}, []byte(test.body), onTwo(2))
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want one with %q", err, test.want)
			}
		})
	}
}

func TestReadBind(t *testing.T) {
	sent := extenderv1.ExtenderBindingArgs{PodName: "p", PodNamespace: "d", PodUID: "u", Node: "n"}
	got, err := wire.ReadBind(&jx.Decoder{}, encode(t, sent))
	if err != nil || got != sent {
		t.Errorf("read %+v, %v, want %+v", got, err, sent)
	}
	for body, want := range map[string]string{
		``:                                       "EOF",
		`[]`:                                     "unexpected byte",
		`{"PodName":"p"}`:                        "PodNamespace: missing",
		`{"PodName":null}`:                       "PodName: missing",
		`{"PodName":{}}`:                         "PodName: ",
		`{"PodName":"` + long + `"}`:             "PodName: it has 318 bytes; it may have 317",
		string(encode(t, sent)) + "x":            "unexpected data",
		`{"x":` + strings.Repeat("[", 200) + `}`: "x: objects and lists are nested",
		`{"x":falsehood}`:                        "x: ",
	} {
		if got, err := wire.ReadBind(&jx.Decoder{}, []byte(body)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: read %+v, %v, want an error with %q", body, got, err, want)
		}
	}
}
