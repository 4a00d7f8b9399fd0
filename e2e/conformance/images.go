package conformance

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// nodeImages are the names of images as nodes report them, podImages as pods do: with and
// without a tag, with a port in the name of the registry, and by digest.
func nodeImages() []string {
	return []string{
		"web:latest", "web:v2", "registry.example.com:5000/db:latest", "registry.example.com:5000/db:v1", "cache@sha256:0", "nobody/runs-it:v1",
	}
}

func podImages() []string {
	return []string{
		"web",
		"web:latest",
		"web:v2",
		"registry.example.com:5000/db",
		"registry.example.com:5000/db:v1",
		"cache@sha256:0",
		"cache",
		"nobody/has-it",
		"",
	}
}

// pull gives a node images, none of a name that another one has there: which of them
// counts, kube-scheduler's snapshots and its cache do not agree on.
func pull(s *source, node *corev1.Node) {
	for images := several(s, len(nodeImages()), nodeImages()...); len(images) > 0; {
		names := 1 + s.upTo(min(len(images), 2)-1)
		node.Status.Images = append(node.Status.Images, corev1.ContainerImage{
			Names:     slices.Clone(images[:names]),
			SizeBytes: one(s, int64(0), 1, 20<<20, 200<<20, 700<<20, 731123456, 1500<<20, 30<<30),
		})
		images = images[names:]
	}
}

// run gives the containers of a pod images, and now and then the pod a volume of one.
func run(s *source, pod *corev1.Pod) {
	for _, container := range containers(pod) {
		container.Image = one(s, podImages()...)
	}
	for countsImageVolumes && s.chance(20) {
		pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: "image", VolumeSource: corev1.VolumeSource{
			Image: &corev1.ImageVolumeSource{Reference: one(s, podImages()...)},
		}})
	}
}
