package chart

import (
	"log/slog"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	published "muster.dev/muster/e2e/release"
)

// releaseDir names the environment variable with the directory of a release that was made.
const releaseDir = "RELEASE_DIR"

// The content of the directory is pushed to a registry, as a publisher does, and installed from there by its version
// alone: the chart has to name the image, and the image has to have a program that works.
func TestWhatIsReleasedIsInstalledFromARegistryAndPlacesAPodAndAGang(t *testing.T) {
	dir := os.Getenv(releaseDir)
	if dir == "" {
		t.Skip(releaseDir + " names no release: make release-snapshot makes one and runs this")
	}
	if out, err := exec.CommandContext(t.Context(), "sh", "-c", `cd "$1" && sha256sum --check --strict checksums.txt`, "sh", dir).
		CombinedOutput(); err != nil {
		t.Errorf("checksums: %v:\n%s", err, out)
	}
	server := httptest.NewServer(registry.New(registry.Logger(slog.NewLogLogger(slog.DiscardHandler, slog.LevelInfo))))
	defer server.Close()
	host := strings.TrimPrefix(server.URL, "http://")
	pushed, err := published.PushImage(t.Context(), dir, host+"/muster")
	if err != nil {
		t.Fatal(err)
	}
	if err := published.PushCharts(t.Context(), helmProgram(t), dir, "oci://"+host+"/charts", "--plain-http"); err != nil {
		t.Fatal(err)
	}
	version := versionOfPackage(t, dir)
	digest := pushed[strings.Index(pushed, "@")+1:]
	pulled := helm(t, "template", "published", "oci://"+host+"/charts/muster", "--version="+version, "--plain-http")
	if want := "@" + digest; !strings.Contains(pulled, want) {
		t.Errorf("the chart does not install the image %s", want)
	}
	helmTest(t, programOf(t, pushed), "oci://"+host+"/charts/muster", "--version="+version, "--plain-http")
}

// versionOfPackage is the version of the chart in a directory.
func versionOfPackage(t *testing.T, dir string) string {
	t.Helper()
	packages, err := filepath.Glob(filepath.Join(dir, "muster-[0-9]*.tgz"))
	if err != nil || len(packages) != 1 {
		t.Fatalf("%d packages of the chart, error %v", len(packages), err)
	}
	return regexp.MustCompile(`^muster-(.*)\.tgz$`).FindStringSubmatch(filepath.Base(packages[0]))[1]
}

// programOf is the path of the program of an image.
func programOf(t *testing.T, image string) string {
	t.Helper()
	reference, err := name.ParseReference(image)
	if err != nil {
		t.Fatal(err)
	}
	index, err := remote.Index(reference, remote.WithContext(t.Context()))
	if err != nil {
		t.Fatal(err)
	}
	program, err := published.ProgramOf(index, runtime.GOARCH)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "muster")
	if err := os.WriteFile(path, program, 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}
