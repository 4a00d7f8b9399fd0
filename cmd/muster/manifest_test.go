package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
)

// Whatever makes pods has templates of them, by which it is asked about.
func TestTheTemplatesOfAnObjectAreFound(t *testing.T) {
	const spec = "spec: {containers: [{name: a, image: a}]}"
	for manifest, want := range map[string][]string{
		"kind: Pod\n" + spec: nil,
		spec:                 nil, // whom it is sent to says what it is
		"kind: [":            nil,
		"kind: Deployment\nmetadata: {name: web, namespace: shop}\nspec: {template: {" + spec + "}}": {"spec.template shop/web"},
		"kind: CronJob\nmetadata: {name: nightly}\nspec: {jobTemplate: {spec: {template: {" + spec + "}}}}": {
			"spec.jobTemplate.spec.template /nightly",
		},
		"kind: TFJob\nmetadata: {name: t}\nspec: {tfReplicaSpecs: {Worker: {template: {" + spec + "}}, PS: {template: {" + spec + "}}}}": {
			"spec.tfReplicaSpecs.PS.template /t", "spec.tfReplicaSpecs.Worker.template /t",
		},
		"kind: RayCluster\nmetadata: {name: r}\nspec: {workerGroupSpecs: [{template: {metadata: {name: w}, " + spec + "}}]}": {
			"spec.workerGroupSpecs[0].template /w",
		},
		"kind: List\nitems: [{kind: Pod, metadata: {name: p, namespace: q}, " + spec + "}]": {"items[0] q/p"},
	} {
		found, err := templatesOf([]byte(manifest))
		if err != nil {
			t.Errorf("%s: %v", manifest, err)
		}
		var got []string
		for _, one := range found {
			var pod struct {
				Metadata struct{ Namespace, Name string }
			}
			if err := json.Unmarshal(one.pod, &pod); err != nil {
				t.Fatal(err)
			}
			got = append(got, fmt.Sprintf("%s %s/%s", one.path, pod.Metadata.Namespace, pod.Metadata.Name))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: found %q, want %q", manifest, got, want)
		}
	}
}
