package upgrade

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

func TestTheRecordFindsWhatIsWrong(t *testing.T) {
	for name, test := range map[string]struct {
		bind  func(bind func(pod *corev1.Pod, node string), open func())
		wrong []string
	}{
		"every pod has room": {
			bind: func(bind func(*corev1.Pod, string), _ func()) {
				bind(newPod("a", "4"), "one")
				bind(newPod("b", "4"), "one")
				bind(newPod("c", "8"), "two")
			},
		},
		"too much on a node": {
			bind: func(bind func(*corev1.Pod, string), _ func()) {
				bind(newPod("a", "4"), "one")
				bind(newPod("b", "5"), "one")
			},
			wrong: []string{"pod b on node one"},
		},
		"another node later": {
			bind: func(bind func(*corev1.Pod, string), _ func()) {
				p := newPod("a", "4")
				bind(p, "one")
				bind(p, "two")
			},
			wrong: []string{"pod a from node one"},
		},
		"a gang with no room": {
			bind: func(bind func(*corev1.Pod, string), open func()) {
				bind(newMember(lateGang, 0, "1"), "one")
				open()
				bind(newMember(lateGang, 1, "1"), "one")
			},
			wrong: []string{"pod late-0 is bound to node one"},
		},
		"a whole gang": {
			bind: func(bind func(*corev1.Pod, string), open func()) {
				open()
				bind(newMember(lateGang, 0, "1"), "one")
				bind(newMember(lateGang, 1, "1"), "two")
			},
		},
		"a part of a gang": {
			bind: func(bind func(*corev1.Pod, string), open func()) {
				open()
				bind(newMember(lateGang, 0, "1"), "one")
			},
			wrong: []string{"1 of 2 members of gang late are bound"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			r, version := newRecord(lateGang), 0
			numbered := func() string { version++; return fmt.Sprint(version) }
			for _, name := range []string{"one", "two"} {
				n := newNode(name, "")
				n.ResourceVersion = numbered()
				r.node(n)
			}
			test.bind(func(pod *corev1.Pod, node string) {
				bound := pod.DeepCopy()
				bound.UID, bound.ResourceVersion, bound.Spec.NodeName = types.UID(pod.Name), numbered(), node
				r.observe(pod, bound)
			}, r.open)
			wrong, err := r.wrong(map[string]int{lateGang: 2})
			if err != nil {
				t.Fatal(err)
			}
			if len(wrong) != len(test.wrong) {
				t.Fatalf("%q is wrong, want %q", wrong, test.wrong)
			}
			for i, want := range test.wrong {
				if !strings.HasPrefix(wrong[i], want) {
					t.Errorf("%q is wrong, want %q", wrong[i], want)
				}
			}
		})
	}
}

func TestAPodIsLostThatIsGoneOrNotBound(t *testing.T) {
	bound, pending := newPod("bound", "1"), newPod("pending", "1")
	bound.Spec.NodeName = "one"
	got := lost([]string{"bound", "pending", "gone"}, []corev1.Pod{*pending, *bound})
	if diff := cmp.Diff([]string{"pending", "gone"}, got); diff != "" {
		t.Errorf("lost pods (-want +got):\n%s", diff)
	}
}
