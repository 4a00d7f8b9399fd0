package binaries

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

const modulePath = "muster.dev/muster/e2e"

// recipe is everything that decides what the binaries contain.
type recipe struct {
	module     string // the directory of the module that pins them
	modfile    string // of that module
	programs   []program
	ldflags    string
	tags       string
	kubernetes string // the version of the control plane, "" for other programs
	hash       string
}

func readRecipe(ctx context.Context, release Release, which []Binary) (recipe, error) {
	programs, err := programsOf(which)
	if err != nil {
		return recipe{}, err
	}
	module, err := moduleDir(ctx)
	if err != nil {
		return recipe{}, err
	}
	kubernetes, err := goList(ctx, module, "{{.Version}}", "k8s.io/kubernetes", "-modfile="+release.modfile())
	if err != nil {
		return recipe{}, err
	}
	r := recipe{module: module, modfile: release.modfile(), programs: programs, ldflags: stamp(kubernetes), kubernetes: kubernetes}
	return r.pinned()
}

// programsOf are the programs of a control plane with those names, in the order of packages.
func programsOf(which []Binary) ([]program, error) {
	var programs []program
	for _, p := range packages {
		if slices.Contains(which, p.binary) {
			programs = append(programs, p)
		}
	}
	for _, b := range which {
		if !slices.ContainsFunc(packages, func(p program) bool { return p.binary == b }) {
			return nil, fmt.Errorf("%q is no program of a control plane", b)
		}
	}
	return programs, nil
}

// readExtraRecipe reads the recipe of a program that is alone in a directory of recipes.
func readExtraRecipe(ctx context.Context, name, tags string, p program) (recipe, error) {
	module, err := moduleDir(ctx)
	if err != nil {
		return recipe{}, err
	}
	r := recipe{
		module: filepath.Join(module, "binaries", "recipes", name), modfile: "go.mod", programs: []program{p},
		ldflags: "-s -w", tags: tags,
	}
	return r.pinned()
}

// pinned is the recipe with its hash.
func (r recipe) pinned() (recipe, error) {
	hash := sha256.New()
	for _, name := range []string{r.modfile, strings.TrimSuffix(r.modfile, "mod") + "sum"} {
		text, err := os.ReadFile(filepath.Join(r.module, name))
		if err != nil {
			return recipe{}, fmt.Errorf("read the pinned versions: %w", err)
		}
		hash.Write(text)
	}
	fmt.Fprint(hash, r.ldflags, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	r.hash = hex.EncodeToString(hash.Sum(nil))[:16]
	return r, nil
}

// stamp makes the programs tell the version that they are built from: clients compare
// it, and without it they read "v0.0.0-master".
func stamp(version string) string {
	major, rest, _ := strings.Cut(strings.TrimPrefix(version, "v"), ".")
	minor, _, _ := strings.Cut(rest, ".")
	flags := []string{"-s", "-w"}
	for _, pkg := range []string{"k8s.io/component-base/version", "k8s.io/client-go/pkg/version"} {
		flags = append(flags,
			"-X", pkg+".gitVersion="+version,
			"-X", pkg+".gitMajor="+major,
			"-X", pkg+".gitMinor="+minor)
	}
	return strings.Join(flags, " ")
}

// directory returns where the binaries are kept, and makes it.
func (r recipe) directory() (string, error) {
	dir := os.Getenv(DirEnv)
	if dir == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return "", fmt.Errorf("find a place for the binaries (or set %s): %w", DirEnv, err)
		}
		dir = filepath.Join(cache, "muster-e2e", r.hash)
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("resolve the directory of the binaries: %w", err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("make the directory of the binaries: %w", err)
	}
	return dir, nil
}

func moduleDir(ctx context.Context) (string, error) {
	return goList(ctx, ".", "{{.Dir}}", modulePath)
}

func goList(ctx context.Context, dir, format, module string, flags ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", slices.Concat([]string{"list", "-m", "-f", format}, flags, []string{module})...)
	cmd.Dir = dir
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("find module %s (run this inside the e2e module): %w: %s", module, err, bytes.TrimSpace(stderr.Bytes()))
	}
	return strings.TrimSpace(string(out)), nil
}
