package v1alpha1

import (
	"encoding/json"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"muster.dev/muster/api/fields"
)

// layer is a slice as an annotation has it.
type layer struct{ size, key string }

// slices reads "SIZE@KEY", several with commas between them, or else Kueue's list, Kueue's two annotations or KAI's. Of a pair of
// annotations one alone means nothing.
func (t *Topology) slices(errs *field.ErrorList, annotations map[string]string) {
	name := saidBy(annotations, AnnotationTopologySlices, AnnotationKueueSlices)
	path := annotation(name)
	text, said := annotations[name]
	var layers []layer
	switch {
	case said && name == AnnotationKueueSlices:
		layers = listed(errs, path, text)
	case said:
		for _, one := range strings.SplitN(text, ",", maxSlices+1) {
			size, key, _ := strings.Cut(one, "@")
			layers = append(layers, layer{size, key})
		}
	default:
		path, layers = paired(annotations)
	}
	if len(layers) > maxSlices {
		*errs = append(*errs, field.TooMany(path, len(layers), maxSlices))
		return
	}
	for _, one := range layers {
		size, err := strconv.ParseInt(one.size, 10, 32)
		if err != nil || size < 1 {
			*errs = append(*errs, field.Invalid(path, fields.Brief(one.size+"@"+one.key),
				"must be as 16@KEY: how many pods have nodes with the same label"))
			return
		}
		t.Slices = append(t.Slices, TopologySlice{Size: int(size), Level: t.level(errs, path, one.key)})
	}
}

// paired reads a slice from two annotations.
func paired(annotations map[string]string) (path *field.Path, layers []layer) {
	for _, pair := range []layer{
		{AnnotationKueueSliceSize, AnnotationKueueSliceTopology}, {AnnotationKAISegmentSize, AnnotationKAISegmentTopology},
	} {
		key, has := annotations[pair.key]
		if size, sized := annotations[pair.size]; has && sized {
			return annotation(pair.key), []layer{{size, key}}
		}
	}
	return nil, nil
}

// maxListLength is how long Kueue's list may be, in bytes: a key has 316 at most.
const maxListLength = 4 << 10

// listed reads Kueue's list of slices.
func listed(errs *field.ErrorList, path *field.Path, text string) (layers []layer) {
	if len(text) > maxListLength {
		*errs = append(*errs, field.TooLong(path, "", maxListLength))
		return nil
	}
	var list []struct {
		Topology string          `json:"topology"`
		Size     json.Number     `json:"size"`
		Sizes    json.RawMessage `json:"sizes"`
	}
	if err := json.Unmarshal([]byte(text), &list); err != nil || len(list) == 0 {
		*errs = append(
			*errs,
			field.Invalid(path, fields.Brief(text), `must be a JSON list such as [{"topology": "example.com/rack", "size": 16}]`),
		)
		return nil
	}
	for i, one := range list {
		if one.Sizes != nil {
			*errs = append(*errs, field.Forbidden(path.Index(i).Child("sizes"), "domains with sizes of their own are not placed yet"))
			return nil
		}
		layers = append(layers, layer{one.Size.String(), one.Topology})
	}
	return layers
}
