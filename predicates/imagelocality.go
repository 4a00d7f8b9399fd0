package predicates

import (
	"strings"

	"muster.dev/muster/api/config"
	"muster.dev/muster/cluster"
)

// imageLocality prefers the nodes that hold the pod's images already, by the bytes that need not be pulled. The
// bytes of an image count in proportion to the number of nodes that hold it: otherwise all pods of a new image
// would go to the one node that has it (pkg/scheduler/framework/plugins/imagelocality).
type imageLocality struct{}

func newImageLocality(*config.Profile) (Score, error) { return imageLocality{}, nil }

func (imageLocality) Name() string { return config.ImageLocality }

func (imageLocality) Aspects() cluster.Aspect { return cluster.AspectImages }

func (imageLocality) For(pod *cluster.Pod, _ *cluster.Snapshot) Rating {
	d := newImageDigest(pod)
	if len(d.images) == 0 {
		return Rating{}
	}
	return Rating{Among: d}
}

// wantedImage is an image that containers or volumes of a pod are made of.
type wantedImage struct {
	name  string
	times int64
}

// wantedImages returns the images of a pod's init containers, containers and volumes, by the names that nodes have for
// them.
func wantedImages(pod *cluster.Pod) []wantedImage {
	var images []wantedImage
	add := func(name string) {
		name = tagged(name)
		for i := range images {
			if images[i].name == name {
				images[i].times++
				return
			}
		}
		images = append(images, wantedImage{name: name, times: 1})
	}
	for i := range pod.Spec.InitContainers {
		add(pod.Spec.InitContainers[i].Image)
	}
	for i := range pod.Spec.Containers {
		add(pod.Spec.Containers[i].Image)
	}
	for i := range pod.Spec.Volumes {
		if image := pod.Spec.Volumes[i].Image; image != nil {
			add(image.Reference)
		}
	}
	return images
}

// tagged returns the name of an image with its tag, which may be left out where it is
// "latest".
func tagged(name string) string {
	if strings.LastIndex(name, ":") <= strings.LastIndex(name, "/") {
		return name + ":latest"
	}
	return name
}
