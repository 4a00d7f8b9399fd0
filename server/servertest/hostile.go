package servertest

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"net/http"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

	"muster.dev/muster/api/bounded/boundedtest"
)

// nowhere is a ResponseWriter that keeps the status alone.
type nowhere struct {
	header http.Header
	status int
}

func (n *nowhere) Header() http.Header { return n.header }

func (n *nowhere) WriteHeader(status int) { n.status = status }

func (n *nowhere) Write(text []byte) (int, error) { return len(text), nil }

// Footprint returns the memory that a call takes, in bytes, when nothing is left of former ones.
func Footprint(handler http.Handler, path string, body []byte) (status int, taken int64) {
	request, err := http.NewRequestWithContext(context.Background(), http.MethodPost, path, bytes.NewReader(body))
	if err != nil {
		panic(err)
	}
	request.Header.Set("Content-Type", "application/json")
	answer := &nowhere{header: http.Header{}, status: http.StatusOK}
	runtime.GC() // what pools keep goes
	runtime.GC()
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	taken = boundedtest.Taken(func() { handler.ServeHTTP(answer, request) })
	return answer.status, taken
}

// Filled is a text with an element repeated between two others, of about a size. A %d in the
// element is its number.
func Filled(size int, before, element, after string) string {
	var text strings.Builder
	text.WriteString(before)
	for i := 0; ; i++ {
		next := element
		if strings.Contains(element, "%d") {
			next = strings.ReplaceAll(element, "%d", fmt.Sprint(i))
		}
		if text.Len()+len(next)+len(after) > size {
			break
		}
		if i > 0 {
			text.WriteByte(',')
		}
		text.WriteString(next)
	}
	text.WriteString(after)
	return text.String()
}

// Repeated is a text with an element that may be repeated.
type Repeated struct{ Before, Element, After string }

// Of returns the text with the largest number of elements that fit into a size.
func (r Repeated) Of(size int) string { return Filled(size, r.Before, r.Element, r.After) }

// RepeatedInPods returns pods, each with one thing that there can be too many of.
func RepeatedInPods() map[string]Repeated {
	pods := map[string]Repeated{}
	spec := func(name, before, element, after string) {
		pods[name] = Repeated{
			`{"metadata":{"name":"p","namespace":"d","uid":"u"},"spec":{"schedulerName":"default-scheduler",` + before,
			element,
			after + `}}`,
		}
	}
	meta := func(name, before, element, after string) {
		pods[name] = Repeated{
			`{"spec":{"schedulerName":"default-scheduler"},"metadata":{"name":"p","namespace":"d","uid":"u",` + before,
			element,
			after + `}}`,
		}
	}
	spec("containers of nothing", `"containers":[`, `{}`, `]`)
	spec(
		"containers",
		`"containers":[`,
		`{"name":"container-%d","image":"registry.example.com/image:%d","terminationMessagePath":"/dev/termination-log",`+
			`"terminationMessagePolicy":"File","imagePullPolicy":"Always","resources":{"requests":{"cpu":"1"},"limits":{"cpu":"1"}},`+
			`"volumeMounts":[{"name":"token","readOnly":true,"mountPath":"/var/run/secrets"}]}`,
		`]`,
	)
	spec("containers with a little", `"containers":[`, `{"name":"c","resources":{"requests":{"cpu":"1"}}}`, `]`)
	spec("init containers that go on", `"initContainers":[`, `{"restartPolicy":"Always","resources":{"limits":{"a.b/%d":"1"}}}`, `]`)
	spec("variables", `"containers":[{"env":[`, `{}`, `]}]`)
	spec("ports", `"containers":[{"ports":[`, `{"hostPort":%d}`, `]}]`)
	spec("volumes", `"volumes":[`, `{}`, `]`)
	spec("ephemeral volumes", `"volumes":[`, `{"ephemeral":{"volumeClaimTemplate":{}}}`, `]`)
	spec("resources", `"containers":[{"resources":{"requests":{`, `"a.b/%d":"1"`, `}}}]`)
	spec(
		"quantities with many digits",
		`"containers":[{"resources":{"requests":{`,
		`"a.b/%d":"1234567890123456789012345678901234567890e20"`,
		`}}}]`,
	)
	spec("tolerations", `"tolerations":[`, `{}`, `]`)
	spec("tolerations with values", `"tolerations":[`, `{"key":"key-%d","operator":"Equal","value":"v","effect":"NoSchedule"}`, `]`)
	spec("node selector", `"nodeSelector":{`, `"a%d":"b"`, `}`)
	terms := `"affinity":{"podAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[`
	spec("terms of nothing", terms, `{}`, `]}}`)
	spec("terms with keys", terms, `{"topologyKey":"key-%d","labelSelector":{}}`, `]}}`)
	spec("terms with selectors", terms, `{"topologyKey":"key-%d","labelSelector":{"matchLabels":{"a":"b"}}}`, `]}}`)
	spec(
		"values of a selector",
		terms+`{"topologyKey":"zone","labelSelector":{"matchExpressions":[{"key":"a","operator":"In","values":[`,
		`"%d"`,
		`]}]}}]}}`,
	)
	spec(
		"requirements of a selector",
		terms+`{"topologyKey":"zone","labelSelector":{"matchExpressions":[`,
		`{"key":"a","operator":"Exists"}`,
		`]}}]}}`,
	)
	spec("labels of a selector", terms+`{"topologyKey":"zone","labelSelector":{"matchLabels":{`, `"a%d":"b"`, `}}}]}}`)
	spec("namespaces of a term", terms+`{"topologyKey":"zone","namespaces":[`, `"%d"`, `]}]}}`)
	spec(
		"preferred terms",
		`"affinity":{"podAntiAffinity":{"preferredDuringSchedulingIgnoredDuringExecution":[`,
		`{"weight":1,"podAffinityTerm":{"topologyKey":"key-%d"}}`,
		`]}}`,
	)
	spec(
		"node terms",
		`"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[`,
		`{"matchExpressions":[{"key":"a","operator":"In","values":["%d"]}]}`,
		`]}}}`,
	)
	spec(
		"values of a node term",
		`"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[{"matchExpressions":[{"key":"a",`+
			`"operator":"In","values":[`,
		`"%d"`,
		`]}]}]}}}`,
	)
	spec(
		"preferred node terms",
		`"affinity":{"nodeAffinity":{"preferredDuringSchedulingIgnoredDuringExecution":[`,
		`{"weight":1,"preference":{"matchExpressions":[{"key":"a","operator":"Exists"}]}}`,
		`]}}`,
	)
	spec(
		"constraints",
		`"topologySpreadConstraints":[`,
		`{"topologyKey":"key-%d","whenUnsatisfiable":"DoNotSchedule","maxSkew":1,"labelSelector":{"matchLabels":{"a":"b"}}}`,
		`]`,
	)
	spec("soft constraints", `"topologySpreadConstraints":[`, `{"topologyKey":"key-%d","whenUnsatisfiable":"ScheduleAnyway","maxSkew":1}`, `]`)
	spec(
		"keys of a constraint",
		`"topologySpreadConstraints":[{"topologyKey":"zone","whenUnsatisfiable":"DoNotSchedule","maxSkew":1,"labelSelector":{},`+
			`"matchLabelKeys":[`,
		`"%d"`,
		`]}]`,
	)
	spec("gates", `"schedulingGates":[`, `{"name":"g%d"}`, `]`)
	spec("claims", `"resourceClaims":[`, `{}`, `]`)
	spec("unknown fields", ``, `"field%d":1`, ``)
	spec("fields again", `"containers":[{"name":"c"}],`, `"containers":[{}]`, ``)
	meta("labels", `"labels":{`, `"a%d":"b"`, `}`)
	meta("annotations", `"annotations":{`, `"a%d":""`, `}`)
	meta("owners", `"ownerReferences":[`, `{}`, `]`)
	meta("managers", `"managedFields":[`, `{}`, `]`)
	meta("managers of fields", `"managedFields":[`, `{"fieldsV1":{"f:status":{"f:nominatedNodeName":{}}}}`, `]`)
	pods["conditions"] = Repeated{
		`{"metadata":{"name":"p"},"spec":{"schedulerName":"default-scheduler"},"status":{"conditions":[`,
		`{}`,
		`]}}`,
	}
	pods["statuses"] = Repeated{
		`{"metadata":{"name":"p"},"spec":{"schedulerName":"default-scheduler"},"status":{"containerStatuses":[`,
		`{"resources":{}}`,
		`]}}`,
	}
	return pods
}

// HostilePods are pods of a size, one for each thing that there can be too many of.
func HostilePods(size int) map[string]string {
	pods := map[string]string{}
	for name, pod := range RepeatedInPods() {
		pods[name] = pod.Of(size)
	}
	long := func(of string) string { return strings.Repeat(of, max(0, size-600)/len(of)) }
	pods["a long name"] = `{"metadata":{"name":"` + long("n") + `"},"spec":{"schedulerName":"default-scheduler"}}`
	pods["a long profile"] = `{"metadata":{"name":"p"},"spec":{"schedulerName":"` + long("n") + `"}}`
	pods["escapes"] = `{"metadata":{"name":"` + long(`\u0001`) + `"},"spec":{"schedulerName":"default-scheduler"}}`
	pods["a long annotation"] = `{"metadata":{"name":"p","annotations":{"a":"` + long(
		"n",
	) + `"}},"spec":{"schedulerName":"default-scheduler"}}`
	pods["a long label"] = `{"metadata":{"name":"p","labels":{"a":"` + long("\\n") + `"}},"spec":{"schedulerName":"default-scheduler"}}`
	pods["lists in lists"] = `{"metadata":` + long("[")
	pods["lists in lists that end"] = `{"metadata":` + strings.Repeat("[", size/2-20) + strings.Repeat("]", size/2-20) + `}`
	pods["objects in objects"] = `{"metadata":` + long(`{"a":`)
	pods["no pod"] = long("1")
	return pods
}

// MostTimes is how many times the length of a body a call may take.
const MostTimes = 25

// HostileCalls are bodies that nobody writes but to do harm.
func HostileCalls() []string {
	texts, pods := boundedtest.Texts(), RepeatedInPods()
	for _, name := range slices.Sorted(maps.Keys(pods)) {
		texts = append(
			texts, `{"Pod":`+pods[name].Of(1<<10)+`,"NodeNames":["small","big"],"NodeNameToMetaVictims":{"small":{"Pods":[{"UID":"uid-v"}]}}}`,
		)
	}
	return texts
}

// HostileBodies are bodies of a size for each path that takes one.
func HostileBodies(size int) map[string]map[string]string {
	bodies := map[string]map[string]string{
		"/filter":                  {},
		"/prioritize":              {},
		"/preempt":                 {},
		"/bind":                    {},
		"/webhook/gates":           {},
		"/webhook/ahead":           {},
		"/debug/explain":           {},
		"/webhook/scheduler/batch": {},
	}
	const about = `"Pod":{"metadata":{"name":"p","uid":"u"},"spec":{"schedulerName":"default-scheduler"}}`
	for name, pod := range HostilePods(size - 300) {
		for _, verb := range []string{"/filter", "/prioritize"} {
			bodies[verb][name] = `{"Pod":` + pod + `,"NodeNames":["node-1","node-2"]}`
		}
		bodies["/preempt"][name] = `{"Pod":` + pod + `,"NodeNameToMetaVictims":{"node-1":{"Pods":[{"UID":"u"}]}}}`
		bodies["/preempt"]["of a victim: "+name] = `{` + about + `,"NodeNameToVictims":{"node-1":{"Pods":[` + pod + `]}}}`
		bodies["/bind"][name] = `{"PodName":"p","PodNamespace":"d","PodUID":"u","Node":"node-1","Pod":` + pod + `}`
		for _, webhook := range []string{"/webhook/gates", "/webhook/ahead", "/webhook/scheduler/batch"} {
			bodies[webhook][name] = `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u",` +
				`"operation":"CREATE","resource":{"version":"v1","resource":"pods"},"object":` + pod + `}}`
			bodies[webhook]["beside: "+name] = `{"apiVersion":"admission.k8s.io/v1","request":{"uid":"u","operation":"CREATE",` +
				`"resource":{"resource":"pods"},"options":` + pod + `,"object":{}}}`
		}
		bodies["/debug/explain"][name] = pod
	}
	for _, verb := range []string{"/filter", "/prioritize"} {
		to := bodies[verb]
		to["names that nobody knows"] = Filled(size, `{`+about+`,"NodeNames":[`, `"n%d"`, `]}`)
		to["empty names"] = Filled(size, `{`+about+`,"NodeNames":[`, `""`, `]}`)
		to["a name again and again"] = Filled(size, `{`+about+`,"NodeNames":[`, `"node-1"`, `]}`)
		to["names with escapes"] = Filled(size, `{`+about+`,"NodeNames":[`, `"\u0001%d"`, `]}`)
		to["nodes"] = Filled(size, `{`+about+`,"Nodes":{"items":[`, `{"metadata":{"name":"n%d"}}`, `]}}`)
		to["a node again and again"] = Filled(size, `{`+about+`,"Nodes":{"items":[`, `{"metadata":{"name":"node-1"}}`, `]}}`)
		to["names, again and again"] = Filled(size, `{`+about+`,`, `"NodeNames":["node-1"]`, `}`)
		to["a pod again and again"] = Filled(size, `{`+about+`,`, `"Pod":{}`, `}`)
	}
	victims := bodies["/preempt"]
	victims["nodes"] = Filled(size, `{`+about+`,"NodeNameToMetaVictims":{`, `"n%d":{}`, `}}`)
	victims["nodes with victims"] = Filled(size, `{`+about+`,"NodeNameToMetaVictims":{`, `"n%d":{"Pods":[{"UID":"u"}]}`, `}}`)
	victims["victims of nothing"] = Filled(size, `{`+about+`,"NodeNameToMetaVictims":{"node-1":{"Pods":[`, `{}`, `]}}}`)
	victims["victims"] = Filled(size, `{`+about+`,"NodeNameToMetaVictims":{"node-1":{"Pods":[`, `{"UID":"u%d"}`, `]}}}`)
	victims["whole victims"] = Filled(size, `{`+about+`,"NodeNameToVictims":{"node-1":{"Pods":[`, `{}`, `]}}}`)
	victims["a node again and again"] = Filled(size, `{`+about+`,"NodeNameToVictims":{`, `"node-1":{"Pods":[{}]}`, `}}`)
	bodies["/bind"]["a long name"] = `{"PodName":"` + strings.Repeat("n", size-100) + `","PodNamespace":"d","PodUID":"u","Node":"node-1"}`
	explain := bodies["/debug/explain"]
	explain["YAML: containers"] = "spec:\n  containers:\n" + strings.Repeat("  -\n", (size-30)/4)
	explain["YAML: flow"] = "spec: [" + strings.Repeat("[],", (size-30)/3) + "[]]"
	explain["YAML: lists in lists"] = "spec: " + strings.Repeat("[", size-30)
	explain["YAML: indented"] = "spec:\n" + strings.Repeat("- ", (size-30)/2)
	var bomb strings.Builder
	bomb.WriteString("a: &a [x,x,x,x,x,x,x,x,x]\n")
	for c := 'b'; c < 'k'; c++ {
		fmt.Fprintf(&bomb, "%c: &%c [%s]\n", c, c, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*%c,", c-1), 9), ","))
	}
	explain["YAML: aliases"] = bomb.String() + "# " + strings.Repeat("x", max(0, size-bomb.Len()-2))
	explain["YAML: comments"] = strings.Repeat("#\n", size/2)
	explain["YAML: documents"] = strings.Repeat("---\n", size/4)
	return bodies
}
