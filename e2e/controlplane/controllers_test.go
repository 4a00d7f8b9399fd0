package controlplane

import (
	"slices"
	"testing"
)

func TestControllersComeWithThoseThatPodsNeed(t *testing.T) {
	const accounts, roots = "serviceaccount-controller", "root-ca-certificate-publisher-controller"
	for name, c := range map[string]struct{ asked, want []string }{
		"none are asked for":   {nil, nil},
		"one is":               {[]string{"job-controller"}, []string{"job-controller", accounts, roots}},
		"one of them is":       {[]string{accounts}, []string{accounts, roots}},
		"all by name are":      {[]string{"*"}, []string{"*"}},
		"both of them are":     {[]string{roots, accounts}, []string{roots, accounts}},
		"the default ones are": {DefaultControllers(), DefaultControllers()},
	} {
		if got := withPodCreation(c.asked); !slices.Equal(got, c.want) {
			t.Errorf("when %s: %v, want %v", name, got, c.want)
		}
	}
}
