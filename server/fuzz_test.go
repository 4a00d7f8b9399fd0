package server

import (
	"bytes"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"muster.dev/muster/api/bounded/boundedtest"
	"muster.dev/muster/server/servertest"
)

// FuzzRepeated posts bodies that repeat an element of the fuzzer's, so that it finds the elements that
// take a decoder the most memory.
func FuzzRepeated(f *testing.F) {
	boundedtest.SkipWithRaceDetector(f)
	const size = 64 << 10
	handler := newHostileBench(f)
	paths := []string{"/filter", "/prioritize", "/preempt", "/bind", "/webhook/gates", "/debug/explain", "/webhook/ahead"}
	pods := servertest.RepeatedInPods()
	for i, name := range slices.Sorted(maps.Keys(pods)) {
		pod := pods[name]
		switch at := i % 4; paths[at] {
		case "/bind":
			f.Add(byte(5), pod.Before, pod.Element, pod.After)
		default:
			f.Add(byte(at), `{"NodeNames":["node-1"],"Pod":`+pod.Before, pod.Element, pod.After+`}`)
		}
		before, after, _ := strings.Cut(servertest.ReviewOf("CREATE", "%%"), "%%")
		f.Add(byte(4), before+pod.Before, pod.Element, pod.After+after)
		f.Add(byte(6), before+pod.Before, pod.Element, pod.After+after)
	}
	f.Add(byte(3), `{"PodName":"p","PodNamespace":"d",`, `"PodUID":"u"`, `,"Node":"n"}`)
	f.Fuzz(func(t *testing.T, path byte, before, element, after string) {
		if len(before)+len(element)+len(after) > size/2 {
			t.Skip("there is nothing to repeat")
		}
		body := []byte(servertest.Filled(size, before, element, after))
		body = append(body, bytes.Repeat([]byte(" "), max(0, size-len(body)))...) // which is too long for YAML
		boundedtest.Ends(func() {
			const most = servertest.MostTimes*size + 128<<10 // the runtime takes some for itself
			status, taken := servertest.Footprint(handler, paths[int(path)%len(paths)], body)
			if taken > most { // as the first call does, if it is this one
				status, taken = servertest.Footprint(handler, paths[int(path)%len(paths)], body)
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
