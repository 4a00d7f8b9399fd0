package binaries

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// skewVariable says by how many seconds the clock of a muster is wrong that BuildSkewable has built.
const skewVariable = "MUSTER_E2E_CLOCK_SKEW_SECONDS"

// Skew returns an addition to the environment of a program that BuildSkewable has built: it puts the program's clock ahead
// or behind. Others do not heed it.
func Skew(by time.Duration) string { return fmt.Sprintf("%s=%d", skewVariable, int64(by.Seconds())) }

// In package time: Now reads the clock, and adds what is wrong with it. How much time goes by is not touched.
const (
	readsClock  = "\tsec, nsec, mono := runtimeNow()\n\tif mono == 0 {\n\t\treturn Time{"
	skewedClock = "\tsec, nsec, mono := runtimeNow()\n\tsec += clockSkew\n\tif mono == 0 {\n\t\treturn Time{"
	imports     = "import (\n"
	skewedBy    = `
var clockSkew = func() int64 {
	text, _ := syscall.Getenv("` + skewVariable + `")
	seconds, _ := atoi(text)
	return int64(seconds)
}()
`
)

// BuildSkewable builds the muster of this checkout as BuildMuster does, but with a clock that may be wrong, as on a machine
// of its own; see Skew. Go's standard library is compiled again for it, which takes minutes for the first time.
func BuildSkewable(ctx context.Context, dir string, progress io.Writer) (string, error) {
	overlay, err := skewClock(ctx, dir)
	if err != nil {
		return "", fmt.Errorf("have a clock that may be wrong: %w", err)
	}
	repository, err := RepositoryDir(ctx)
	if err != nil {
		return "", err
	}
	return buildOwn(ctx, build{module: repository, overlay: overlay}, "muster", dir, progress)
}

// skewClock writes another package time, and returns the path of the overlay that has the go command read it.
func skewClock(ctx context.Context, dir string) (overlay string, err error) {
	root, err := exec.CommandContext(ctx, "go", "env", "GOROOT").Output()
	if err != nil {
		return "", fmt.Errorf("go env GOROOT: %w", err)
	}
	original := filepath.Join(strings.TrimSpace(string(root)), "src", "time", "time.go")
	source, err := os.ReadFile(original)
	if err != nil {
		return "", err
	}
	text := string(source)
	if strings.Count(text, readsClock) != 1 || !strings.Contains(text, imports) {
		return "", fmt.Errorf("%s reads the clock otherwise than this knows of", original)
	}
	text = strings.Replace(text, imports, imports+"\t\"syscall\"\n", 1)
	text = strings.Replace(text, readsClock, skewedClock, 1) + skewedBy
	overlay = filepath.Join(dir, "skew.json")
	return overlay, WriteOverlay(overlay, original, []byte(text))
}
