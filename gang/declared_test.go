package gang

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/gang/core"
)

func saying(minMember string, pods ...*corev1.Pod) []*corev1.Pod {
	var all []*corev1.Pod
	for _, pod := range pods {
		pod = pod.DeepCopy()
		pod.Annotations = map[string]string{v1alpha1.AnnotationMinMember: minMember}
		all = append(all, pod)
	}
	return all
}

func TestWhatMembersSayCountsAsTheySayItNow(t *testing.T) {
	for _, test := range []struct {
		name   string
		first  []*corev1.Pod
		change func(p *process, pods []*corev1.Pod)
		asked  string
		want   string
	}{
		{"nonsense is mended on all", members("g", 2, "1", withoutObject("g", "two")), func(p *process, pods []*corev1.Pod) {
			p.set(objects(saying("2", pods...))...)
		}, "g-0", "a"},
		{"members that said nonsense are replaced", members("g", 2, "1", withoutObject("g", "two")), func(p *process, pods []*corev1.Pod) {
			p.set(objects(members("h", 2, "1", withoutObject("g", "2")))...)
			p.delete(pods...)
		}, "h-0", "a"},
		{"all say more", members("g", 2, "1", withoutObject("g", "2")), func(p *process, pods []*corev1.Pod) {
			p.set(objects(saying("4", pods...))...)
		}, "g-0", core.ReasonSiblings},
		{"the first by name came last and says more", members("h", 2, "1", withoutObject("g", "2")), func(p *process, _ []*corev1.Pod) {
			p.set(members("g", 1, "1", withoutObject("g", "4"))[0])
		}, "g-0", core.ReasonSiblings},
		{"nobody says anything any more", members("g", 2, "1", withoutObject("g", "2")), func(p *process, pods []*corev1.Pod) {
			for _, pod := range saying("", pods...) {
				pod.Annotations = nil
				p.set(pod)
			}
		}, "g-0", core.ReasonNoGroup},
	} {
		t.Run(test.name, func(t *testing.T) {
			run(t, func(p *process) {
				p.set(objects(test.first)...)
				p.after(time.Second)
				test.change(p, test.first)
				p.set(node("a", "8"))
				p.after(time.Second)
				asked := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: types.UID(test.asked)}}
				if got := p.filter(asked); got != test.want {
					t.Errorf("%s is told %q, want %q", test.asked, got, test.want)
				}
			})
		})
	}
}
