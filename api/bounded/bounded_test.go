package bounded

import (
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"
	"sigs.k8s.io/randfill"

	"muster.dev/muster/api/seeded"
)

// allocated returns the bytes that a function allocates.
func allocated(work func()) int64 {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	work()
	runtime.ReadMemStats(&after)
	return int64(after.TotalAlloc - before.TotalAlloc)
}

func times(n int, text string) string { return strings.TrimSuffix(strings.Repeat(text+",", n), ",") }

func TestHostileTextsAreRefusedWithThePlaceAndTheFigure(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{
			"containers of nothing", `{"spec":{"containers":[` + times(1<<20, "{}") + `]}}`,
			`spec.containers[14127]: to decode it up to here takes more than 25362632 bytes, which is too much for its length`,
		},
		{
			"an exponent", `{"spec":{"initContainers":[{},{"resources":{"limits":{"cpu":"1e-2147483648"}}}]}}`,
			`spec.initContainers[1].resources.limits[cpu]: "1e-2147483648" has an exponent of 10 digits; a quantity has 2 at most`,
		},
		{
			"an exponent of a number", `{"spec":{"overhead":{"cpu":1e-30000000}}}`,
			`spec.overhead[cpu]: "1e-30000000" has an exponent of 8 digits; a quantity has 2 at most`,
		},
		{
			"an exponent under a name with escapes", `{"sp\u0065c":{"overhead":{"cpu":" 1e-30000000 "}}}`,
			`spec.overhead[cpu]: "1e-30000000" has an exponent of 8 digits; a quantity has 2 at most`,
		},
		{
			"an exponent that is written twice", `{"spec":{"overhead":{"cpu":"1e-30000000"},"overhead":{}}}`,
			`spec.overhead[cpu]: "1e-30000000" has an exponent of 8 digits; a quantity has 2 at most`,
		},
		{
			"terms", `{"spec":{"tolerations":[` + times(MaxElements+1, `{"key":"a long key that makes up for it","operator":"Exists"}`) + `]}}`,
			`spec.tolerations[20000]: there are more than 20000 of them`,
		},
		{
			"labels", `{"metadata":{"labels":{` + entries(MaxElements+1, `"%d":"`+strings.Repeat("v", 40)+`"`) + `}}}`,
			`metadata.labels[20000]: there are more than 20000 of them`,
		},
		{
			"resources", `{"spec":{"overhead":{` + entries(5_000, `"r%d":"1"`) + `}}}`,
			`spec.overhead[r1792]: to decode it up to here takes more than 667912 bytes, which is too much for its length`,
		},
		{
			"a long name", `{"metadata":{"labels":{"` + strings.Repeat("n", 1000) + `":""}}}`,
			`metadata.labels[` + strings.Repeat("n", 64) + `…]: the name has 1000 bytes; it may have 317`,
		},
		{
			"a long name of no field", `{"` + strings.Repeat("n", 1000) + `":""}`,
			strings.Repeat("n", 64) + `…: the name has 1000 bytes; it may have 317`,
		},
		{"a long number", `{"spec":{"priority":` + strings.Repeat("1", 100) + `}}`, `spec.priority: the number has 100 bytes; it may have 64`},
		{
			"a list in the place of a mapping",
			`{"spec":{"containers":[{"resources":[]}]}}`,
			`spec.containers[0].resources: must be a mapping, and is array`,
		},
		{"a number that is too large", `{"spec":{"priority":2147483648}}`, `spec.priority: must be an integer of 32 bits, and is 2147483648`},
		{"lists in lists", `{"spec":` + strings.Repeat("[", 1<<20), "objects and lists are nested more than 100 levels deep"},
		{
			"lists in lists in what no type knows",
			`{"x":` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + `}`,
			"objects and lists are nested more than 100 levels deep",
		},
		{"lists and objects in turn", strings.Repeat(`{"x":[`, 1<<16), "objects and lists are nested more than 100 levels deep"},
		{"bytes that are no text", `{"metadata":{"name":"` + "\xff" + `"}}`, "it is not UTF-8 text"},
		{
			"a time that is none, and long",
			`{"metadata":{"creationTimestamp":"` + strings.Repeat("x", 1<<20) + `"}}`,
			"metadata.creationTimestamp: the text has 1048578 bytes; it may have 1024 here",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var err error
			took := allocated(func() { err = Decode([]byte(test.text), &corev1.Pod{}) })
			if err == nil || err.Error() != test.want {
				t.Errorf("refused with\n%v\nwant\n%s", err, test.want)
			}
			if most := Memory(len(test.text)); took > most {
				t.Errorf("took %d bytes of memory, want %d at most", took, most)
			}
		})
	}
}

func entries(n int, format string) string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf(format, i)
	}
	return strings.Join(all, ",")
}

func TestWhatAnAPIServerWritesIsDecodedAsEver(t *testing.T) {
	filler := randfill.NewWithSeed(1).NilChance(0.3).NumElements(0, 3).MaxDepth(12).Funcs(
		func(list *corev1.ResourceList, _ randfill.Continue) { *list = corev1.ResourceList{"cpu": {}} },
	)
	for range 200 {
		var pod, got, want corev1.Pod
		filler.Fill(&pod)
		text, err := json.Marshal(&pod)
		if err != nil {
			continue // with values that have no JSON
		}
		if err := json.Unmarshal(text, &want); err != nil {
			continue
		}
		if err := Decode(text, &got); err != nil {
			t.Fatalf("%v, of\n%s", err, text)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("-encoding/json +bounded:\n%s", diff)
		}
	}
}

// Pods as API servers write them are far from the bounds, however many containers they have.
func TestPodsAsTheyAreStayFarBelowTheBounds(t *testing.T) {
	for _, containers := range []int{1, 10, 100, 1000} {
		yes, seconds := true, int64(300)
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Name:            "web-5d8f9c7b6d-x2x7v",
				GenerateName:    "web-5d8f9c7b6d-",
				Namespace:       "shop",
				UID:             "0b9ff6a4-6ed6-4a0c-9b6c-2f3f4f7a2f11",
				ResourceVersion: "123456789",
				Labels: map[string]string{
					"app.kubernetes.io/name":     "web",
					"app.kubernetes.io/instance": "shop",
					"pod-template-hash":          "5d8f9c7b6d",
				},
				Annotations: map[string]string{"prometheus.io/scrape": "true"},
				OwnerReferences: []metav1.OwnerReference{
					{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web-5d8f9c7b6d", UID: "uid", Controller: &yes},
				},
			},
			Spec: corev1.PodSpec{
				SchedulerName:      "default-scheduler",
				DNSPolicy:          corev1.DNSClusterFirst,
				RestartPolicy:      corev1.RestartPolicyAlways,
				ServiceAccountName: "default",
				Tolerations: []corev1.Toleration{
					{Key: "node.kubernetes.io/not-ready", Operator: "Exists", Effect: "NoExecute", TolerationSeconds: &seconds},
				},
			},
		}
		for i := range containers {
			amounts := corev1.ResourceList{"cpu": resource.MustParse("100m"), "memory": resource.MustParse("128Mi")}
			pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{
				Name:                     fmt.Sprintf("container-%d", i),
				Image:                    "registry.example.com/shop/web:v1.2.3",
				ImagePullPolicy:          corev1.PullIfNotPresent,
				TerminationMessagePath:   "/dev/termination-log",
				TerminationMessagePolicy: "File",
				Resources:                corev1.ResourceRequirements{Requests: amounts, Limits: amounts},
				Env:                      []corev1.EnvVar{{Name: "MODE", Value: "production"}},
				Ports:                    []corev1.ContainerPort{{Name: "http", ContainerPort: 8080, Protocol: "TCP"}},
				VolumeMounts: []corev1.VolumeMount{
					{Name: "kube-api-access-abcde", MountPath: "/var/run/secrets/kubernetes.io/serviceaccount", ReadOnly: true},
				},
			})
		}
		text, err := json.Marshal(pod)
		if err != nil {
			t.Fatal(err)
		}
		took, err := Check(text, &corev1.Pod{})
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%d containers: %d bytes of text, %d to decode, of %d", containers, len(text), took, Memory(len(text)))
	}
}

func TestStrictDecodingKnowsAllFields(t *testing.T) {
	for text, want := range map[string]string{
		`{"kind":"Pod","spec":{"nodeName":"a"}}`: "",
		`{"Kind":"Pod"}`:                         `unknown field "Kind"`,
		`{"spec":{"container":[]}}`:              `unknown field "spec.container"`,
		`{"kind":"Pod","kind":"Pod"}`:            `duplicate field "kind"`,
		`{"kind":`:                               "unexpected end of JSON input",
		`{"spec":{"overhead":{"cpu":"1e-999"}}}`: `spec.overhead[cpu]: "1e-999" has an exponent of 3 digits; a quantity has 2 at most`,
	} {
		got := ""
		if err := DecodeStrict([]byte(text), &corev1.Pod{}); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

// everything has a value of every kind that the API has.
type everything struct {
	Any     any                    `json:"any"`
	Lists   [][]string             `json:"lists"`
	Maps    map[string]*everything `json:"maps"`
	Bytes   []byte                 `json:"bytes"`
	Pod     corev1.Pod             `json:"pod"`
	Pods    []corev1.Pod           `json:"pods"`
	Pointer **int64                `json:"pointer"`
	Plain   bool
}

// Whatever is decoded, decoding allocates at most the sum that Check makes.
func TestDecodingAllocatesNoMoreThanWasAccountedFor(t *testing.T) {
	value := hostileValue()
	seeded.Check(t, func(t *rapid.T) {
		text := []byte(`{` + strings.Join(rapid.SliceOfNDistinct(rapid.Custom(func(t *rapid.T) string {
			return fmt.Sprintf(
				`"%s":%s`,
				rapid.SampledFrom([]string{"any", "lists", "maps", "bytes", "pod", "pods", "pointer", "Plain"}).Draw(t, "field"),
				value.Draw(t, "value"),
			)
		}), 0, 4, rapid.ID[string]).Draw(t, "fields"), ",") + `}`)
		accounted, err := Check(text, &everything{})
		if err != nil {
			return
		}
		took := allocated(func() { _ = Decode(text, &everything{}) })
		const more = 16 << 10 // the decoder's own, and what Check takes
		if most := accounted*5/4 + more; took > most {
			t.Errorf("accounted for %d bytes, took %d, of\n%.500s", accounted, took, text)
		}
	})
}

// hostileValue draws JSON values that have names of fields of a Pod, many times.
func hostileValue() *rapid.Generator[string] {
	names := []string{
		"spec",
		"containers",
		"resources",
		"limits",
		"env",
		"metadata",
		"labels",
		"volumes",
		"affinity",
		"podAffinity",
		"name",
		"any",
		"lists",
		"maps",
		"pods",
		"managedFields",
		"tolerations",
		"ownerReferences",
	}
	leaf := rapid.SampledFrom(
		[]string{`{}`, `[]`, `null`, `""`, `1`, `"1"`, `true`, `"text of some length"`, `"\u0041\n"`, `[{}]`, `{"a":"1"}`, `1.5`},
	)
	return rapid.Custom(func(t *rapid.T) string {
		value := leaf.Draw(t, "leaf")
		for range rapid.IntRange(0, 6).Draw(t, "depth") {
			n := rapid.SampledFrom([]int{1, 1, 2, 7, 9, 30, 300}).Draw(t, "times")
			if len(value)*n > 1<<17 {
				n = 1
			}
			switch rapid.IntRange(0, 2).Draw(t, "around") {
			case 0:
				value = "[" + times(n, value) + "]"
			case 1:
				value = fmt.Sprintf(`{"%s":%s}`, rapid.SampledFrom(names).Draw(t, "name"), value)
			default:
				value = "{" + entries(n, `"k%d":`+strings.ReplaceAll(value, "%", "%%")) + "}"
			}
		}
		return value
	})
}

func TestLengthEndsWithTheValue(t *testing.T) {
	for text, want := range map[string]int{
		`{"a":[1,2],"b":"}"},rest`: 19, `"a\"b\\" , 1`: 8, `12,3`: 2, `null}`: 4, `[[]]]`: 4, `{"a":`: 5, ``: 0,
	} {
		if got, err := Length([]byte(text)); got != want || err != nil {
			t.Errorf("%s: %d, %v, want %d", text, got, err, want)
		}
	}
	if _, err := Length([]byte(`{"a":"b\"}`)); err == nil {
		t.Error("a string without an end has a length")
	}
}
