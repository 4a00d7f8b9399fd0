package placeable

// topologyAssignment is where Kueue's topology-aware scheduling wants the pods of a set, as it says it.
type topologyAssignment struct {
	Levels []string        `json:"levels"`
	Slices []topologySlice `json:"slices"`
}

type topologySlice struct {
	DomainCount    int32         `json:"domainCount"`
	ValuesPerLevel []levelValues `json:"valuesPerLevel"`
	PodCounts      struct {
		Universal  *int32  `json:"universal"`
		Individual []int32 `json:"individual"`
	} `json:"podCounts"`
}

type levelValues struct {
	Universal  *string `json:"universal"`
	Individual *struct {
		Prefix string   `json:"prefix"`
		Suffix string   `json:"suffix"`
		Roots  []string `json:"roots"`
	} `json:"individual"`
}

// domain is a number of pods that go to nodes with these labels.
type domain struct {
	selector map[string]string
	count    int
}

// hostname is the label that says all of a place: a level above it says nothing more.
const hostname = "kubernetes.io/hostname"

// domains returns the domains of an assignment, nil for none. What is not there as Kueue writes it is left out.
func (t *topologyAssignment) domains() (all []domain) {
	if t == nil {
		return nil
	}
	pods := 0
	for i := range t.Slices {
		slice := &t.Slices[i]
		for at := range int(slice.DomainCount) {
			d := domain{selector: map[string]string{}, count: slice.podsAt(at)}
			for level, label := range t.Levels {
				if level < len(slice.ValuesPerLevel) {
					if value, known := slice.ValuesPerLevel[level].at(at); known {
						d.selector[label] = value
					}
				}
			}
			if host, named := d.selector[hostname]; named {
				d.selector = map[string]string{hostname: host}
			}
			if pods += d.count; d.count == 0 || pods > mostPods {
				return all
			}
			all = append(all, d)
		}
	}
	return all
}

func (s *topologySlice) podsAt(domain int) int {
	switch {
	case s.PodCounts.Universal != nil:
		return int(max(*s.PodCounts.Universal, 0))
	case domain < len(s.PodCounts.Individual):
		return int(max(s.PodCounts.Individual[domain], 0))
	}
	return 0
}

func (v *levelValues) at(domain int) (value string, known bool) {
	switch {
	case v.Universal != nil:
		return *v.Universal, true
	case v.Individual != nil && domain < len(v.Individual.Roots):
		return v.Individual.Prefix + v.Individual.Roots[domain] + v.Individual.Suffix, true
	}
	return "", false
}
