package operators

import "muster.dev/muster/api/scheduling/v1alpha1"

// mostValue is how much of an annotation is kept, in bytes: no name or key is as long.
const mostValue = 400

// network returns the annotations about the network that KAI reads of the object that makes a gang, besides what its kind says of
// that in its own way, which counts first.
func network(o Object, own map[string]string) map[string]string {
	of := own
	for _, name := range []string{
		v1alpha1.AnnotationKAITopology, v1alpha1.AnnotationKAIRequiredTopology, v1alpha1.AnnotationKAIPreferredTopology,
	} {
		value := o.Annotation(name)
		if value == "" {
			continue
		}
		if of == nil {
			of = map[string]string{}
		}
		of[name] = value[:min(len(value), mostValue)]
	}
	return of
}
