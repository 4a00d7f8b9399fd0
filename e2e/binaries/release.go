package binaries

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

// Release is a release of Kubernetes whose programs can be built, as "1.37". Each is pinned by a module file of its own.
type Release string

// The releases that muster is tested with.
const (
	Release136 Release = "1.36"
	Release137 Release = "1.37"
)

// Newest is the release that is taken where nobody says otherwise. The module itself is pinned to it.
const Newest = Release137

// ReleaseEnv names the environment variable that says which release a control plane is of, Newest when it is empty.
const ReleaseEnv = "E2E_KUBERNETES"

// Releases are all there are, the oldest first.
func Releases() []Release { return []Release{Release136, Release137} }

// Chosen is the release that the environment asks for.
func Chosen() (Release, error) {
	asked := Release(os.Getenv(ReleaseEnv))
	switch {
	case asked == "":
		return Newest, nil
	case slices.Contains(Releases(), asked):
		return asked, nil
	}
	known := make([]string, 0, len(Releases()))
	for _, r := range Releases() {
		known = append(known, string(r))
	}
	return "", fmt.Errorf("%s: unknown release %q: want one of %s", ReleaseEnv, asked, strings.Join(known, ", "))
}

// modfile is the name of the module file that pins a release; see -modfile in "go help build".
func (r Release) modfile() string {
	if r == Newest {
		return "go.mod"
	}
	return "go." + string(r) + ".mod"
}
