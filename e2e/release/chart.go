package release

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"sigs.k8s.io/yaml"
)

// Versions of a chart, and of the program that it installs.
type Versions struct {
	Chart string `json:"version"`
	App   string `json:"appVersion"`
}

// ReadVersions are the versions that a chart in this repository says.
func ReadVersions(chart string) (Versions, error) {
	path := filepath.Join(chart, "Chart.yaml")
	text, err := os.ReadFile(path)
	if err != nil {
		return Versions{}, err
	}
	var v Versions
	if err := yaml.Unmarshal(text, &v); err != nil {
		return Versions{}, fmt.Errorf("%s: %w", path, err)
	}
	if v.Chart == "" || v.App == "" {
		return Versions{}, fmt.Errorf("%s: version %q, appVersion %q", path, v.Chart, v.App)
	}
	return v, nil
}

// Packager packages charts.
type Packager struct {
	Helm     string // the program
	Versions Versions
	Source   string // host/owner/name
	// Image and Digest are what a chart with an image installs by default.
	Image, Digest string
	Out           string // the directory for packages
}

// Package packages a chart of this repository, and returns where the package is.
func (p Packager) Package(ctx context.Context, chart string) (string, error) {
	dir, err := os.MkdirTemp("", "muster-chart-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	name := filepath.Base(chart)
	copied := filepath.Join(dir, name)
	if err := p.copy(chart, copied); err != nil {
		return "", fmt.Errorf("chart %s: %w", name, err)
	}
	cmd := exec.CommandContext(ctx, p.Helm, "package", copied, "--destination="+p.Out,
		"--version="+p.Versions.Chart, "--app-version="+p.Versions.App)
	if said, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("package chart %s: %w: %s", name, err, said)
	}
	return filepath.Join(p.Out, name+"-"+p.Versions.Chart+".tgz"), nil
}

// copy copies a chart, links followed, with where its image and its source are.
func (p Packager) copy(from, to string) error {
	if err := copyTree(from, to); err != nil {
		return err
	}
	edits := []edit{{"Chart.yaml", regexp.MustCompile(`(?m)^home: .*$`), "$0\nsources: [https://" + p.Source + "]"}}
	if hasImage(to) {
		edits = append(edits,
			edit{"values.yaml", regexp.MustCompile(`(?m)^image:\n((?: .*\n)*?  repository:) ""$`), "image:\n$1 " + p.Image},
			edit{"values.yaml", regexp.MustCompile(`(?m)^image:\n((?: .*\n)*?  digest:) ""$`), "image:\n$1 " + p.Digest},
		)
	}
	for _, e := range edits {
		if err := e.apply(to); err != nil {
			return err
		}
	}
	return nil
}

// copyTree copies a directory. In place of links come what they lead to: they would lead nowhere from there.
func copyTree(from, to string) error {
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	for _, entry := range entries {
		source, target := filepath.Join(from, entry.Name()), filepath.Join(to, entry.Name())
		info, err := os.Stat(source)
		if err != nil {
			return err
		}
		if info.IsDir() {
			err = copyTree(source, target)
		} else {
			err = copyFile(source, target)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func copyFile(from, to string) error {
	content, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, content, 0o644)
}

// hasImage says whether a chart has an image of its own.
func hasImage(chart string) bool {
	text, err := os.ReadFile(filepath.Join(chart, "values.yaml"))
	return err == nil && strings.Contains("\n"+string(text), "\nimage:\n")
}

// edit changes one place of a file, and keeps its comments.
type edit struct {
	file  string
	place *regexp.Regexp
	text  string
}

func (e edit) apply(dir string) error {
	path := filepath.Join(dir, e.file)
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if found := len(e.place.FindAllIndex(text, -1)); found != 1 {
		return fmt.Errorf("%s has %d places like %q instead of one", e.file, found, e.place)
	}
	return os.WriteFile(path, e.place.ReplaceAll(text, []byte(e.text)), 0o644)
}
