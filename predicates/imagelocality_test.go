package predicates

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"muster.dev/muster/api/config"
	"muster.dev/muster/cluster"
)

func TestImageLocality(t *testing.T) {
	const web, log = "registry.example.com:5000/web:v1", "log"
	// alone is a pod of containers on the only node, where an image counts in full.
	alone := func(n *corev1.Node, images ...string) scene { return scene{node: n, pod: pod(running(images...))} }
	other := func(change ...func(*corev1.Node)) *corev1.Node {
		return node(append(change, called("other"))...)
	}
	volume := func(image string) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Spec.Volumes = append(
				p.Spec.Volumes, corev1.Volume{VolumeSource: corev1.VolumeSource{Image: &corev1.ImageVolumeSource{Reference: image}}},
			)
		}
	}
	initially := func(image string) func(*corev1.Pod) {
		return func(p *corev1.Pod) { p.Spec.InitContainers = []corev1.Container{{Image: image}} }
	}
	// The rate is 100·(bytes - 23)/(1000·containers - 23), in MiB. Bytes is the sum over the images: the size of each,
	// times the share of nodes that hold it.
	checkRates(t, config.ImageLocality, []rateCase{
		{name: "a node without images is the worst", scene: alone(node(), web), want: 0},
		{name: "so is one with another image", scene: alone(node(holding(500, log)), web), want: 0},
		// 477 of 977.
		{name: "an image counts by its size", scene: alone(node(holding(500, web)), web), want: 48},
		{name: "up to 1000 MiB", scene: alone(node(holding(20_000, web)), web), want: 100},
		{name: "from 23 MiB", scene: alone(node(holding(23, web)), web), want: 0},
		// 477 of 1977.
		{name: "more containers want more", scene: alone(node(holding(500, web)), web, log), want: 24},
		// 877 of 1977.
		{name: "images add up", scene: alone(node(holding(500, web), holding(400, "log:latest")), web, log), want: 44},
		// 977 of 1977.
		{name: "an image of two containers counts twice", scene: alone(node(holding(500, web)), web, web), want: 49},
		{name: "any of its names will do", scene: alone(node(holding(500, "web@sha256:0", web)), web), want: 48},
		{
			name:  "a port in the name of the registry is no tag",
			scene: alone(node(holding(500, "registry:5000/log:latest")), "registry:5000/log"),
			want:  48,
		},
		{name: "another tag is another image", scene: alone(node(holding(500, "log:v2")), log), want: 0},
		// 477 of 1977.
		{name: "init containers count", scene: scene{node: node(holding(500, web)), pod: pod(running(log), initially(web))}, want: 24},
		// 477 of 977.
		{
			name:  "volumes of images count as containers do",
			scene: scene{node: node(holding(500, web)), pod: pod(running(log), volume(web))},
			want:  24,
		},
		{
			name: "what the pod's ephemeral containers run does not count",
			want: 0,
			scene: scene{node: node(holding(500, web)), pod: pod(running(log), func(p *corev1.Pod) {
				p.Spec.EphemeralContainers = []corev1.EphemeralContainer{{EphemeralContainerCommon: corev1.EphemeralContainerCommon{Image: web}}}
			})},
		},
		// 250 - 23 of 977.
		{
			name:  "an image that half of the nodes hold counts for half",
			scene: scene{node: node(holding(500, web)), others: []*corev1.Node{other()}, pod: pod(running(web))},
			want:  23,
		},
		{
			name:  "one that all of them hold counts in full",
			scene: scene{node: node(holding(500, web)), others: []*corev1.Node{other(holding(100, web))}, pod: pod(running(web))},
			want:  48,
		},
		// 250 + 400 - 23 of 1977.
		{name: "each image counts by how far it has spread itself", want: 31, scene: scene{
			node:   node(holding(500, web), holding(400, "log:latest")),
			others: []*corev1.Node{other(holding(400, "log:latest"))},
			pod:    pod(running(web, log)),
		}},
		{name: "a pod without containers finds all nodes alike", scene: alone(node(holding(500, web))), alike: true},
	})
}

func TestNodesOfOtherImagesTakeNoMemory(t *testing.T) {
	c := newCluster()
	for i := range 100 {
		if err := c.Set(node(called(string(rune('a'+i))), holding(500, "other:v1"))); err != nil {
			t.Fatal(err)
		}
	}
	d := newImageDigest(cluster.NewPod(pod(running("web:v1"))))
	empty := d.size()
	d.Update(c.Snapshot(), indexes(c.Snapshot()))
	if got := d.size(); got != empty {
		t.Errorf("%d bytes, %d without nodes", got, empty)
	}
	if err := c.Set(node(called("a"), holding(500, "web:v1"))); err != nil {
		t.Fatal(err)
	}
	d.Update(c.Snapshot(), []int32{0})
	if got, most := d.size(), empty+2*100+64; got <= empty || got > most {
		t.Errorf("%d bytes when one of 100 nodes holds the image, want more than %d and at most %d", got, empty, most)
	}
}

// TestSizesThatNoNodeHasAnyMoreAreForgotten gives a node one size of an image after the
// other.
func TestSizesThatNoNodeHasAnyMoreAreForgotten(t *testing.T) {
	c := newCluster()
	d := newImageDigest(cluster.NewPod(pod(running("web:latest"))))
	for size := range int64(100) {
		if err := c.Set(node(holding(size, "web:latest"))); err != nil {
			t.Fatal(err)
		}
		d.Update(c.Snapshot(), []int32{0})
	}
	if got := len(d.holdings); got > 3 {
		t.Errorf("%d holdings are kept for one node", got)
	}
}
