package predicates

import (
	"math"
	"slices"
	"unsafe"

	"muster.dev/muster/cluster"
)

// Images below leastImageBytes in all count for nothing. Images above mostImageBytes for each container and
// image volume count for that limit.
const (
	leastImageBytes = 23 << 20
	mostImageBytes  = 1000 << 20
)

// imageDigest is which of a pod's images the nodes hold. Most nodes hold none of them, or
// the same as others do. So each distinct holding is kept once, and nodes refer to it by
// its number.
type imageDigest struct {
	images    []wantedImage
	mostBytes int64

	nodes    int          // how many nodes there are
	end      int          // of their indexes
	holdings []heldImages // by number; number 0 is for nodes with none of the images
	of       []uint16     // number by node index; nil while it is 0 for all
	rates    []int64      // by number; memory of Rate
}

// heldImages are some of the images, as nodes hold them.
type heldImages struct {
	bytes []int64 // by image; notHeld for one that is not held
	nodes int     // how many hold exactly this
}

const notHeld = -1

func newImageDigest(pod *cluster.Pod) *imageDigest {
	images, uses := wantedImages(pod), int64(0)
	for i := range images {
		uses += images[i].times
	}
	return &imageDigest{images: images, mostBytes: uses * mostImageBytes, holdings: make([]heldImages, 1)}
}

// begins implements sparse: the other nodes hold none of the images.
func (d *imageDigest) begins(snap *cluster.Snapshot) ([]int32, bool) {
	names := make([]string, len(d.images))
	for i := range d.images {
		names[i] = d.images[i].name
	}
	return snap.Holding(names...), true
}

func (d *imageDigest) Update(snap *cluster.Snapshot, nodes []int32) {
	d.nodes, d.end = snap.NodeCount(), snap.IndexEnd()
	if d.of != nil {
		d.of = atLeast(d.of, d.end)
	}
	for _, index := range nodes {
		if node := snap.Node(index); node != nil {
			d.put(index, d.held(node))
		} else {
			d.put(index, 0)
		}
	}
}

// Suppose implements [Digest]. The images of a node are not supposed to change.
func (d *imageDigest) Suppose(*cluster.Snapshot, *cluster.Node) {}

func (d *imageDigest) minds(*cluster.Pod) bool { return false }

// held returns the number of a node's holding.
func (d *imageDigest) held(node *cluster.Node) uint16 {
	var bytes []int64
	for i := range node.Status.Images {
		image := &node.Status.Images[i]
		for _, name := range image.Names {
			for wanted := range d.images {
				if d.images[wanted].name != name {
					continue
				}
				if bytes == nil {
					bytes = slices.Repeat([]int64{notHeld}, len(d.images))
				}
				bytes[wanted] = image.SizeBytes
			}
		}
	}
	if bytes == nil {
		return 0
	}
	return d.number(bytes)
}

// number returns the number of a holding, and gives it one if it has none. 65,535 numbers are more than enough:
// to exhaust them, that number of nodes would have to differ in the sizes of the same few images. A holding
// beyond that counts as empty.
func (d *imageDigest) number(bytes []int64) uint16 {
	unused := len(d.holdings)
	for number := 1; number < len(d.holdings); number++ {
		switch h := &d.holdings[number]; {
		case slices.Equal(h.bytes, bytes):
			return uint16(number)
		case h.nodes == 0:
			unused = number
		}
	}
	if unused > math.MaxUint16 {
		return 0
	}
	if unused == len(d.holdings) {
		d.holdings = append(d.holdings, heldImages{})
	}
	d.holdings[unused].bytes = bytes
	return uint16(unused)
}

func (d *imageDigest) put(index int32, number uint16) {
	if d.of == nil {
		if number == 0 {
			return
		}
		d.of = make([]uint16, d.end)
	}
	d.holdings[d.of[index]].nodes--
	d.holdings[number].nodes++
	d.of[index] = number
}

// Rate implements [Comparison]. The spread of an image is counted over all nodes, even over nodes that are not
// compared.
func (d *imageDigest) Rate(nodes, _ []int32, ratings []int64) {
	if d.of == nil {
		clear(ratings)
		return
	}
	d.rates = atLeast(d.rates, len(d.holdings))
	clear(d.rates)
	for image := range d.images {
		d.addTo(d.rates, image)
	}
	for number, bytes := range d.rates {
		bytes = min(max(bytes, leastImageBytes), d.mostBytes)
		d.rates[number] = MaxScore * (bytes - leastImageBytes) / (d.mostBytes - leastImageBytes)
	}
	for i, index := range nodes {
		ratings[i] = d.rates[d.of[index]]
	}
}

// addTo adds the bytes that an image counts for to the bytes of each holding.
func (d *imageDigest) addTo(counted []int64, image int) {
	held := 0
	for number := 1; number < len(d.holdings); number++ {
		if h := &d.holdings[number]; h.bytes[image] != notHeld {
			held += h.nodes
		}
	}
	spread := float64(held) / float64(d.nodes)
	for number := 1; number < len(d.holdings); number++ {
		if bytes := d.holdings[number].bytes[image]; bytes != notHeld {
			counted[number] += d.images[image].times * int64(float64(bytes)*spread)
		}
	}
}

// Group implements [Comparison].
func (d *imageDigest) Group(index int32) uint64 {
	if d.of == nil {
		return 0
	}
	return uint64(d.of[index])
}

// size is in bytes.
func (d *imageDigest) size() int64 {
	const number, count, perHolding = int(unsafe.Sizeof(uint16(0))), int(unsafe.Sizeof(int64(0))), int(unsafe.Sizeof(heldImages{}))
	return int64(cap(d.of)*number + cap(d.rates)*count + cap(d.holdings)*(perHolding+len(d.images)*count))
}
