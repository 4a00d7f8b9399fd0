package gang

import (
	"maps"
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/cluster"
	"muster.dev/muster/cluster/lock"
	"muster.dev/muster/gang/membership"
	"muster.dev/muster/gang/status"
)

// marks follows the pods that wait and have marks without effect: they start one by one, or not as somebody thinks, and
// nothing else would say so. Pods of other schedulers may have marks for those.
type marks struct {
	news *news

	mu      lock.Mutex
	unread  map[types.UID]*cluster.Pod // whose marks nobody has looked at since the watch showed them
	ignored map[types.UID]*cluster.Pod
}

func newMarks(n *news) *marks {
	return &marks{news: n, mu: lock.New(lock.Inbox), unread: map[types.UID]*cluster.Pod{}, ignored: map[types.UID]*cluster.Pod{}}
}

// put takes what the watch shows of a pod.
func (m *marks) put(state cluster.PodState) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if pod := state.Pod; pod != nil && pod.Spec.NodeName == "" && membership.MayIgnore(pod) {
		m.unread[state.UID] = pod
		return
	}
	delete(m.unread, state.UID)
	delete(m.ignored, state.UID)
}

// look reads the marks of pods that have come, or have changed, since it last did. It returns what is to be told of them, to
// their controllers.
func (m *marks) look() (all []status.Event) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, uid := range slices.Sorted(maps.Keys(m.unread)) {
		pod := m.unread[uid]
		reporter := m.news.reporter(pod.Spec.SchedulerName)
		ignored := membership.Ignored(pod)
		if reporter == "" || len(ignored) == 0 {
			delete(m.ignored, uid)
			continue
		}
		m.ignored[uid] = pod
		event := status.Event{
			SchedulerName: reporter, About: pod.Pod, Reason: status.MarkIgnored, Words: pod.Name + ": " + strings.Join(ignored, "; "),
		}
		if ref := metav1.GetControllerOfNoCopy(pod); ref != nil {
			event.About, event.Related = membership.Subject(pod.Namespace, ref), pod.Pod
		}
		all = append(all, event)
	}
	clear(m.unread)
	return all
}

func (m *marks) count() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.ignored)
}

// What is wrong, as the metric of mistakes has it.
const (
	mistakenMark    = "mark"
	mistakenMinimum = "minimum"
	mistakenLate    = "withheld"
)

// mistakes is a [prometheus.Collector] of markings that do not mean what somebody thinks.
type mistakes struct {
	machine *machine
	marks   *marks
	desc    *prometheus.Desc
}

func newMistakes(machine *machine, m *marks) *mistakes {
	return &mistakes{machine: machine, marks: m, desc: prometheus.NewDesc("muster_gang_mistakes",
		"Markings of gangs that do not mean what they seem to, by kind: pods that wait with a mark that is ignored (mark), gangs whose members "+
			"disagree about the minimum (minimum), gangs that wait for members which are made only once others have started (withheld).",
		[]string{"kind"}, nil)}
}

// Describe implements [prometheus.Collector].
func (m *mistakes) Describe(descs chan<- *prometheus.Desc) { descs <- m.desc }

// Collect implements [prometheus.Collector].
func (m *mistakes) Collect(values chan<- prometheus.Metric) {
	disagree, withheld := m.ofGangs()
	for kind, count := range map[string]int{mistakenMark: m.marks.count(), mistakenMinimum: disagree, mistakenLate: withheld} {
		values <- prometheus.MustNewConstMetric(m.desc, prometheus.GaugeValue, float64(count), kind)
	}
}

func (m *mistakes) ofGangs() (disagree, withheld int) {
	m.machine.mu.Lock()
	defer m.machine.mu.Unlock()
	m.machine.look()
	return m.machine.state.Mistakes()
}
