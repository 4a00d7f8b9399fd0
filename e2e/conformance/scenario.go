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
	Objects Objects        `json:"objects,omitzero"`
	// Placed pods are on one of the nodes.
	Placed []*corev1.Pod `json:"placed,omitempty"`
	// Pending pods ask for a place. A nodeName in their spec is a wish.
	Pending []*corev1.Pod `json:"pending"`
	// Nominated pods wait as well. Room is promised to each on the node that it is nominated to, which only
	// preemption looks at.
	Nominated []*corev1.Pod `json:"nominated,omitempty"`
}

// Read reads the YAML form of a scenario.
func Read(data []byte) (*Scenario, error) {
	s := &Scenario{}
	if err := yaml.UnmarshalStrict(data, s); err != nil {
		return nil, fmt.Errorf("scenario: %w", err)
	}
	if err := s.validate(); err != nil {
		return nil, fmt.Errorf("scenario: %w", err)
	}
	return s, nil
}

func (s *Scenario) validate() error {
	if len(s.Nodes) == 0 || len(s.Pending) == 0 {
		return errors.New("there must be a node and a pending pod")
	}
	nodes := map[string]bool{}
	for _, node := range s.Nodes {
		if node.Name == "" {
			return errors.New("a node has no name")
		}
		nodes[node.Name] = true
	}
	uids := map[types.UID]bool{}
	for _, pod := range s.Placed {
		if !nodes[pod.Spec.NodeName] {
			return fmt.Errorf("pod %q is on node %q, which does not exist", pod.Name, pod.Spec.NodeName)
		}
		if pod.UID == "" || uids[pod.UID] {
			return fmt.Errorf("pod %q has UID %q, which is not its own", pod.Name, pod.UID)
		}
		uids[pod.UID] = true
	}
	return nil
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
	var questions []question
	for _, name := range p.Filter {
		questions = append(questions, question{about: name + " filter", Profile: Profile{Filter: []string{name}, Args: p.Args}})
	}
	for _, score := range p.Score {
		score.Weight = 1
		questions = append(questions, question{about: score.Name + " score", Profile: Profile{Score: []ScorePlugin{score}, Args: p.Args}})
	}
	return append(questions, question{about: "all plugins together", Profile: p})
}

// asking is the scenario with one of its pending pods and part of its profile.
func (s *Scenario) asking(profile Profile, pod int) *Scenario {
	part := *s
	part.Profile, part.Pending = profile, s.Pending[pod:pod+1]
	return &part
}
