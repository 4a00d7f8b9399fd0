package v1alpha1

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"muster.dev/muster/api/bounded/boundedtest"
)

// told is how long an error may be, which people are told, in bytes.
const told = 16 << 10

// FuzzObserve reads PodGroups as the watch shows them: of a CRD that is not ours, with anything in them.
func FuzzObserve(f *testing.F) {
	for _, text := range boundedtest.Texts() {
		f.Add([]byte(text))
	}
	f.Add(
		[]byte(
			`{"metadata":{"name":"g","namespace":"d","annotations":{"muster.dev/gang-mode":"NonStrict","muster.dev/groups":"[\"d/g\",\"d/h\"]"}},
		"spec":{"minMember":4,"minResources":{"cpu":12,"memory":"2Gi"},"scheduleTimeoutSeconds":10},
		"status":{"phase":"Scheduling","scheduled":3,"conditions":[{"type":"Scheduled","lastTransitionTime":"2021-11-21T10:00:00Z"}]}}`,
		),
	)
	f.Add([]byte(`{"spec":{"minMember":0,"minResources":{` + boundedtest.Entries(maxResources+1, `"r%d":1`) + `}}}`))
	f.Add([]byte(`{"spec":{"minResources":{"cpu":1e300,"memory":-1,"x":{},"y":[1]}},"status":{"phase":7}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var fields map[string]any
		if utiljson.Unmarshal(text, &fields) != nil || fields == nil {
			return
		}
		fields["apiVersion"], fields["kind"] = GroupX+"/"+Version, Kind
		var seen *Observed
		boundedtest.Bound{
			Times:  200,
			Beside: 256 << 10,
		}.Check(t, len(text), func() { seen = Observe(&unstructured.Unstructured{Object: fields}) })
		if seen.Err != nil {
			if len(seen.Err.Error()) > told {
				t.Errorf("the error has %d bytes", len(seen.Err.Error()))
			}
			return
		}
		spec := seen.PodGroup.Spec
		if spec.MinMember < 1 || len(spec.MinResources) > maxResources || len(seen.Policy.Groups) > maxGroups {
			t.Errorf("it asks for %+v, and says %+v", spec, seen.Policy)
		}
		for name, amount := range spec.MinResources {
			if amount.Sign() < 0 || len(amount.String()) > 256 {
				t.Errorf("minResources[%s] is %s", name, &amount)
			}
		}
	})
}

// FuzzAnnotations reads what members of a group without an object say.
func FuzzAnnotations(f *testing.F) {
	f.Add("3", "once-satisfied", "Strict", `["d/g","d/h"]`)
	f.Add("-1", "", "strict", `["d"]`)
	f.Add("99999999999", "\x1b[2J", "\xff", `["d/g/h","/","d/",""]`)
	for _, text := range boundedtest.Texts() {
		f.Add(text, text, text, text)
	}
	f.Add("1", "once-satisfied", "Strict", `[`+boundedtest.Entries(maxGroups+1, `"d/g%d"`)+`]`)
	f.Fuzz(func(t *testing.T, minMember, match, mode, groups string) {
		annotations := map[string]string{
			AnnotationMinMember:   minMember,
			AnnotationMatchPolicy: match,
			AnnotationGangMode:    mode,
			AnnotationGroups:      groups,
		}
		length := len(minMember) + len(match) + len(mode) + len(groups)
		boundedtest.Bound{Times: 64, Beside: 256 << 10}.Check(t, length, func() {
			n, err := DecodeMinMember(annotations)
			if err == nil && n < 1 || err != nil && len(err.Error()) > told {
				t.Errorf("minMember is %d, %v", n, err)
			}
			policy, err := DecodePolicy(annotations)
			if err != nil && len(err.Error()) > told || len(policy.Groups) > maxGroups {
				t.Errorf("the policy is %+v, %v", policy, err)
			}
			for _, group := range policy.Groups {
				if group.Namespace == "" || group.Name == "" {
					t.Errorf("a group is %q", group)
				}
			}
		})
	})
}
