package conformance

import (
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"
)

// Scenario is a cluster, a profile and the pods that ask for a place. Its YAML form is
// that of the files in testdata.
type Scenario struct {
	Profile Profile        `json:"profile"`
	Nodes   []*corev1.Node `json:"nodes"`
	// Placed pods are on one of the nodes.
	Placed []*corev1.Pod `json:"placed,omitempty"`
	// Pending pods ask for a place. A nodeName in their spec is a wish.
	Pending []*corev1.Pod `json:"pending"`
}

// Read reads the YAML form of a scenario.
func Read(data []byte) (*Scenario, error) {
	s := &Scenario{}
	if err := yaml.UnmarshalStrict(data, s); err != nil {
		return nil, fmt.Errorf("scenario: %w", err)
	}
	if len(s.Nodes) == 0 || len(s.Pending) == 0 {
		return nil, errors.New("scenario: there must be a node and a pending pod")
	}
	nodes := map[string]bool{}
	for _, node := range s.Nodes {
		if node.Name == "" {
			return nil, errors.New("scenario: a node has no name")
		}
		nodes[node.Name] = true
	}
	uids := map[types.UID]bool{}
	for _, pod := range s.Placed {
		if !nodes[pod.Spec.NodeName] {
			return nil, fmt.Errorf("scenario: pod %q is on node %q, which does not exist", pod.Name, pod.Spec.NodeName)
		}
		if pod.UID == "" || uids[pod.UID] {
			return nil, fmt.Errorf("scenario: pod %q has UID %q, which is not its own", pod.Name, pod.UID)
		}
		uids[pod.UID] = true
	}
	return s, nil
}

// Profile says which plugins run, in their order.
type Profile struct {
	Filter []string      `json:"filter,omitempty"`
	Score  []ScorePlugin `json:"score,omitempty"`
	// Args are the arguments of plugins by name. Absent ones are the defaults.
	Args map[string]map[string]any `json:"args,omitempty"`
}

// ScorePlugin is a plugin that scores, and the weight of its score.
type ScorePlugin struct {
	Name   string `json:"name"`
	Weight int32  `json:"weight"`
}

// question is a part of a profile that is asked on its own.
type question struct {
	about string
	Profile
}

// questions are every plugin of the profile alone, at each extension point, and the
// whole profile.
func (p Profile) questions() []question {
	questions := []question{{about: "all plugins together", Profile: p}}
	for _, name := range p.Filter {
		questions = append(questions, question{about: name + " filter", Profile: Profile{Filter: []string{name}, Args: p.Args}})
	}
	for _, score := range p.Score {
		score.Weight = 1
		questions = append(questions, question{about: score.Name + " score", Profile: Profile{Score: []ScorePlugin{score}, Args: p.Args}})
	}
	return questions
}

// at is the part of a scenario that one pod and one node make up.
func (s *Scenario) at(profile Profile, pod, node int) Scenario {
	part := Scenario{Profile: profile, Nodes: s.Nodes[node : node+1], Pending: s.Pending[pod : pod+1]}
	for _, placed := range s.Placed {
		if placed.Spec.NodeName == s.Nodes[node].Name {
			part.Placed = append(part.Placed, placed)
		}
	}
	return part
}
