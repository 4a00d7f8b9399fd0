// Package mutants breaks muster on purpose, in one place at a time, and looks who notices.
//
// A [Mutant] replaces a text that is in one file once, so that a list that no longer fits the code fails. The lists are in
// data, one for each [Capability]. The tree is not touched: the go command reads the broken file in place of the original
// (-overlay), and what it has compiled of all else is cached. The short tier runs the tests of the capability, the file's
// own package first. What they do not notice, the long tier shows to slower tests, and to a few seeds of a campaign with a
// muster that is broken likewise.
//
// A mutant that survives lacks a test, a fault or an invariant.
package mutants

import (
	"embed"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"

	"sigs.k8s.io/yaml"

	"muster.dev/muster/e2e/campaigns/campaign"
	"muster.dev/muster/e2e/campaigns/faultcampaign"
	"muster.dev/muster/e2e/campaigns/gangfaults"
	"muster.dev/muster/e2e/campaigns/reschedulerfaults"
)

//go:embed data
var data embed.FS

// Mutant is a way to break the code.
type Mutant struct {
	Name string // what is wrong then
	File string // relative to the root of the repository
	Old  string // is in the file once
	New  string // stands in its place
	// Tests are packages of the main module whose tests notice, with spaces between; the capability's packages when
	// empty.
	Tests string `json:",omitempty"`
	// Campaign is the capability's campaign that looks for the breakage; the first one when empty.
	Campaign string `json:",omitempty"`
}

// Tests are runs of go test.
type Tests struct {
	Packages string // patterns, with spaces between
	Dir      string // of the module, relative to the root of the repository
	Env      []string
}

// Capability is a part of what muster does, with ways to break it.
type Capability struct {
	Name    string
	Mutants []Mutant
	// Short are run one after the other until one fails, with -short, and Long after these in the long tier, without.
	Short, Long []Tests
	// Campaigns look for what nobody has noticed, in the long tier. The first has the name "".
	Campaigns map[string]func() faultcampaign.Campaign
}

// Capabilities are all that there are, with their mutants.
func Capabilities() ([]*Capability, error) {
	conformance := []Tests{{Packages: "./conformance", Dir: "e2e"}}
	all := []*Capability{
		{Name: "verdicts", Short: []Tests{{Packages: "./predicates/... ./placement ./server/extender"}}, Long: conformance},
		{
			Name: "load", Short: []Tests{{Packages: "./loadaware/... ./rescheduler/policy ./server/extender"}}, Long: conformance,
			Campaigns: map[string]func() faultcampaign.Campaign{"": reschedulerfaults.Campaign},
		},
		{
			// The first tests look at few states of the models of package core.
			Name: "gang", Short: []Tests{{Packages: "./gang/...", Env: []string{"INTERLEAVINGS=300"}}, {Packages: "./gang/core"}},
			Campaigns: map[string]func() faultcampaign.Campaign{"": gangfaults.Campaign, "ahead": gangfaults.AheadCampaign},
		},
		{
			Name: "operators", Short: []Tests{{Packages: "./gang/operators/... ./gang/membership"}, {Packages: "./cluster ./gang"}},
		},
		{Name: "topology", Short: []Tests{{Packages: "./placement/topology ./gang ./api/scheduling/v1alpha1 ./rescheduler/planner"}}},
		{
			Name: "backfill", Short: []Tests{{Packages: "./placement/runtimes ./rescheduler/reservation ./server/backfill ./server/extender"}},
			Campaigns: map[string]func() faultcampaign.Campaign{"": gangfaults.BookingCampaign},
		},
		{
			Name: "people", Short: []Tests{{Packages: "./gang/status ./gang/membership ./gang/operators"}, {Packages: "./gang ./gang/core"}},
		},
		{
			Name: "nomination", Short: []Tests{{Packages: "./placement/... ./server/extender"}, {Packages: "./server ./gang"}},
			Campaigns: map[string]func() faultcampaign.Campaign{"": campaign.Campaign},
		},
		{
			// What is reserved is asked for by the extender.
			Name: "rescheduler", Short: []Tests{{Packages: "./rescheduler/..."}, {Packages: "./server/extender"}, {Packages: "./server ./gang"}},
			Campaigns: map[string]func() faultcampaign.Campaign{"": reschedulerfaults.Campaign},
		},
		{
			// The first run looks at few situations, and the second one at many.
			Name: "explanations", Short: []Tests{
				{Packages: "./server/explanation"}, {Packages: "./server/explanation", Env: []string{"EXPLAIN_SITUATIONS=5000"}},
			},
		},
	}
	for _, c := range all {
		text, err := data.ReadFile(path.Join("data", c.Name+".yaml"))
		if err != nil {
			return nil, err
		}
		if err := yaml.UnmarshalStrict(text, &c.Mutants); err != nil {
			return nil, fmt.Errorf("mutants of %s: %w", c.Name, err)
		}
	}
	return all, nil
}

// Apply returns the text of the file of a mutant with the break.
func (m *Mutant) Apply(repository string) ([]byte, error) {
	text, err := os.ReadFile(m.path(repository))
	if err != nil {
		return nil, fmt.Errorf("mutant %q: %w", m.Name, err)
	}
	if count := strings.Count(string(text), m.Old); count != 1 {
		return nil, fmt.Errorf("mutant %q: its text is %d times in %s, want once: the code has moved", m.Name, count, m.File)
	}
	return []byte(strings.Replace(string(text), m.Old, m.New, 1)), nil
}

func (m *Mutant) path(repository string) string {
	return filepath.Join(repository, filepath.FromSlash(m.File))
}
