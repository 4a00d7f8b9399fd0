package cluster

import (
	"fmt"
	"maps"
	"math"
	"runtime"
	"testing"
	"time"
	"unique"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"muster.dev/muster/api/seeded"
)

// scalars are amounts of scalar resources, in the order that is given.
func scalars(namesAndAmounts ...any) (all []Scalar) {
	for i := 0; i < len(namesAndAmounts); i += 2 {
		all = append(all, Scalar{unique.Make(corev1.ResourceName(namesAndAmounts[i].(string))), int64(namesAndAmounts[i+1].(int))})
	}
	return all
}

func TestResourcesAreEqualWhenAllAmountsAre(t *testing.T) {
	tests := []struct {
		name string
		a, b Resources
		want bool
	}{
		{"nothing and no list are equal", Resources{}, Resources{Scalars: []Scalar{}}, true},
		{"the same amounts are equal", Resources{MilliCPU: 1, Scalars: scalars("a", 1)}, Resources{MilliCPU: 1, Scalars: scalars("a", 1)}, true},
		{"another scalar is another amount", Resources{Scalars: scalars("a", 1)}, Resources{Scalars: scalars("b", 1)}, false},
		{"one more scalar is another amount", Resources{Scalars: scalars("a", 1)}, Resources{Scalars: scalars("a", 1, "b", 1)}, false},
		{"another memory is another amount", Resources{Memory: 1}, Resources{Memory: 2}, false},
		{"another storage is another amount", Resources{EphemeralStorage: 1}, Resources{}, false},
		{"another number of pods is another amount", Resources{Pods: 1}, Resources{}, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := test.a.equal(&test.b); got != test.want || test.b.equal(&test.a) != test.want {
				t.Errorf("equal says %v, want %v both ways", got, test.want)
			}
		})
	}
}

// Scalars add up as maps do. A sum leaves its operands alone, and omits names with a zero amount.
func TestSumsOfScalarsAreThoseOfMaps(t *testing.T) {
	amount := rapid.Custom(func(t *rapid.T) Resources {
		list := corev1.ResourceList{}
		for name, n := range rapid.MapOfN(rapid.SampledFrom([]string{"a", "b", "c", "d"}), rapid.Int64Range(0, 3), 0, 4).Draw(t, "scalars") {
			list[corev1.ResourceName(name)] = *resource.NewQuantity(n, resource.DecimalSI)
		}
		return ResourcesOf(list)
	})
	byName := func(r Resources) map[corev1.ResourceName]int64 {
		amounts := map[corev1.ResourceName]int64{}
		for _, scalar := range r.Scalars {
			if _, twice := amounts[scalar.Name.Value()]; twice || scalar.Amount == 0 {
				panic(fmt.Sprint("a name twice, or for nothing: ", r.Scalars))
			}
			amounts[scalar.Name.Value()] = scalar.Amount
		}
		return amounts
	}
	seeded.Check(t, func(t *rapid.T) {
		a, b, sign := amount.Draw(t, "a"), amount.Draw(t, "b"), rapid.SampledFrom([]int64{-1, 1}).Draw(t, "sign")
		before, other := byName(a), byName(b)
		want := maps.Clone(before)
		for name, n := range other {
			if want[name] += sign * n; want[name] == 0 {
				delete(want, name)
			}
		}
		sum := a.plus(&b, sign)
		if diff := cmp.Diff(want, byName(sum)); diff != "" {
			t.Errorf("%v %+d × %v (-want +got):\n%s", before, sign, other, diff)
		}
		if back := sum.plus(&b, -sign); !back.equal(&a) {
			t.Errorf("taken off again it leaves %v, want %v", byName(back), before)
		}
		if diff := cmp.Diff([]any{before, other}, []any{byName(a), byName(b)}); diff != "" {
			t.Errorf("the operands changed:\n%s", diff)
		}
		for _, name := range []corev1.ResourceName{"a", "b", "nobody's"} {
			if got := sum.Scalar(unique.Make(name)); got != want[name] {
				t.Errorf("%d of %s, want %d", got, name, want[name])
			}
		}
	})
}

func TestResourcesThatCostNothingAreLeftOut(t *testing.T) {
	one := resource.MustParse("1")
	got := ResourcesOf(corev1.ResourceList{
		corev1.ResourceCPU:   one,
		"example.com/gpu":    one,
		"muster.dev/managed": one,
		"muster.dev/bound":   one,
		"hugepages-1Gi":      resource.MustParse("0"),
	})
	if want := (Resources{MilliCPU: 1000, Scalars: scalars("example.com/gpu", 1)}); !got.equal(&want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestAmountsAreAsFarAsTheyCanBeCounted(t *testing.T) {
	const most = math.MaxInt64
	for text, want := range map[string]int64{
		"9E": 9e18, "10E": most, "1e90": most, "123456789012345678901234567890": most, "-1": 0, "-1e90": 0, "1m": 1,
	} {
		list := corev1.ResourceList{"cpu": resource.MustParse(text), "memory": resource.MustParse(text), "a": resource.MustParse(text)}
		got := ResourcesOf(list)
		if scalar := got.Scalar(unique.Make(corev1.ResourceName("a"))); got.Memory != want || scalar != want {
			t.Errorf("%s is %d of memory and %d of a scalar resource, want %d", text, got.Memory, scalar, want)
		}
		if text != "1m" && want > 0 && got.MilliCPU != most {
			t.Errorf("%s is %d thousandths of a CPU, want %d", text, got.MilliCPU, int64(most))
		}
	}
}

// However much pods ask for, the sum of a node is no less than that of any of them.
func TestSumsOverPodsAreNumbers(t *testing.T) {
	node := newNode(nodeObject("a"), 0)
	for i := range 1000 {
		node = node.WithPod(NewPod(podObject(fmt.Sprint(i), func(p *corev1.Pod) {
			p.Spec.Containers = []corev1.Container{
				container("a", "cpu", "9E", "memory", "9E", "x/y", "9E"), container("b", "cpu", "9E", "memory", "9E", "x/y", "9E"),
			}
		})))
	}
	r, want := node.Requested, int64(math.MaxInt64)
	if scalar := r.Scalars[0].Amount; r.MilliCPU != want || r.Memory != want || scalar != want || node.NonZeroMilliCPU != want ||
		node.NonZeroMemory != want {
		t.Errorf("1000 pods ask for %+v, %d and %d, want %d of each", r, node.NonZeroMilliCPU, node.NonZeroMemory, want)
	}
}

func TestASumThatNoNumberHeldIsExactAgainOnceItsPodsAreGone(t *testing.T) {
	asks := func(name, amount string) *Pod {
		return NewPod(podObject(name, func(p *corev1.Pod) {
			p.Spec.Containers = []corev1.Container{container("a", "cpu", "3", "memory", amount, "x/y", amount)}
		}))
	}
	node := newNode(nodeObject("a"), 0)
	for _, pod := range []*Pod{asks("p", "9007199254740993"), asks("q", "9E"), asks("r", "9E")} { // 2⁵³+1 is no float
		node = node.WithPod(pod)
	}
	if r := node.Requested; r.Memory != math.MaxInt64 || r.Scalars[0].Amount != math.MaxInt64 || r.MilliCPU != 9000 {
		t.Errorf("all three ask for %+v", r)
	}
	for _, name := range []types.UID{"pod-q", "pod-r"} {
		node = node.WithoutPod(name)
	}
	const want = 9007199254740993
	r := node.Requested
	if r.Memory != want || r.Scalars[0].Amount != want || r.MilliCPU != 3000 || node.NonZeroMemory != want || node.NonZeroMilliCPU != 3000 {
		t.Errorf("the one that is left asks for %+v, %d and %d", r, node.NonZeroMilliCPU, node.NonZeroMemory)
	}
}

// heap returns the bytes in use on the heap.
func heap() int64 {
	var stats runtime.MemStats
	runtime.GC()
	runtime.GC() // unique names go with the second one
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}

// Pods with resources that nobody else names take no more than other pods, and leave nothing.
func TestResourceNamesCostNothingToOthers(t *testing.T) {
	const pods, most = 10_000, 1 << 20
	taken := func(resource func(i int) string) (used, left int64) {
		c := newCluster(t)
		c.Snapshot()
		before := heap()
		for i := range pods {
			set(t, c, podObject(fmt.Sprintf("p%d", i), func(p *corev1.Pod) {
				p.Spec.Containers = []corev1.Container{container("c", resource(i), "1")}
			}))
		}
		c.Snapshot()
		used = heap() - before
		for i := range pods {
			remove(t, c, podObject(fmt.Sprintf("p%d", i)))
		}
		c.Snapshot()
		for deadline := time.Now().Add(time.Minute); ; { // the runtime forgets unique names a moment after a collection
			if left = heap() - before; left <= most || time.Now().After(deadline) {
				break
			}
			runtime.Gosched()
		}
		runtime.KeepAlive(c)
		return used, left
	}
	alike, _ := taken(func(int) string { return "example.com/gpu" })
	different, left := taken(func(i int) string { return fmt.Sprintf("example.com/%d", i) })
	const perName = 400 // bytes: the text, and where it is looked up
	if more := different - alike; more > pods*perName {
		t.Errorf("%d pods that each ask for a resource of their own take %d bytes more than others", pods, more)
	}
	if left > most {
		t.Errorf("%d bytes are left once they are gone", left)
	}
}
