package strict

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func TestPruneTakesOutWhatTheTypeDoesNotHave(t *testing.T) {
	type leaf struct {
		Known int64 `json:"known,omitempty"`
	}
	type document struct {
		metav1.TypeMeta `json:",inline"`

		Leaf    *leaf            `json:"leaf,omitempty"`
		List    []leaf           `json:"list,omitempty"`
		Map     map[string]leaf  `json:"map,omitempty"`
		Amounts map[string]int64 `json:"amounts,omitempty"`
		Wait    metav1.Duration  `json:"wait,omitzero"`
		Any     any              `json:"any,omitempty"`
		Hidden  int              `json:"-"`
	}
	for _, test := range []struct {
		name, document, want string
		unknown              []string
	}{
		{"nothing", `{"kind":"a","leaf":{"known":9007199254740993}}`, `{"kind":"a","leaf":{"known":9007199254740993}}`, nil},
		{
			"at every depth", `{"b":1,"a":null,"leaf":{"known":1,"x":2},"list":[{"x":[]},{"known":3}],"map":{"k":{"x":{}}}}`,
			`{"leaf":{"known":1},"list":[{},{"known":3}],"map":{"k":{}}}`,
			[]string{"at.a", "at.b", "at.leaf.x", "at.list[0].x", "at.map[k].x"},
		},
		{"another case of letters", `{"Leaf":{"known":1},"Hidden":1}`, `{}`, []string{"at.Hidden", "at.Leaf"}},
		{
			"keys of mappings and what decodes itself or is anything stay", `{"amounts":{"x":1},"any":{"x":1},"wait":"5s"}`,
			`{"amounts":{"x":1},"any":{"x":1},"wait":"5s"}`, nil,
		},
		{
			"what is of the wrong type stays", `{"amounts":1,"leaf":[{"x":1}],"list":{"x":1},"map":[1]}`,
			`{"amounts":1,"leaf":[{"x":1}],"list":{"x":1},"map":[1]}`, nil,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			known, pruned, err := Prune(field.NewPath("at"), []byte(test.document), new(document))
			if err != nil {
				t.Fatal(err)
			}
			var unknown []string
			for _, p := range pruned {
				unknown = append(unknown, p.Path.String())
			}
			if diff := cmp.Diff(test.unknown, unknown); diff != "" {
				t.Errorf("unknown (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.want, string(known)); diff != "" {
				t.Errorf("known (-want +got):\n%s", diff)
			}
		})
	}
}
