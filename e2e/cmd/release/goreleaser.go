package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"muster.dev/muster/e2e/release"
)

// made lists what goreleaser has made.
type made struct {
	Version   string `json:"version"`
	Tag       string `json:"tag"`
	Commit    string `json:"commit"`
	artifacts []artifact
}

// artifact is one of its files, by a path relative to the repository.
type artifact struct {
	Path string `json:"path"`
	OS   string `json:"goos"`
	Arch string `json:"goarch"`
	Type string `json:"type"`
}

// goreleaser runs it.
func goreleaser(ctx context.Context, root string, owner release.Owner, versions release.Versions, snapshot bool) (*made, error) {
	account, name := owner.OwnerAndName()
	goProxy, err := output(ctx, root, "go", "env", "GOPROXY")
	if err != nil {
		return nil, err
	}
	args := []string{"tool", "-modfile=" + filepath.Join(root, ".ci", "goreleaser", "go.mod"), "goreleaser", "release", "--clean"}
	if snapshot {
		args = append(args, "--snapshot")
	} else {
		args = append(args, "--skip=publish,announce")
	}
	fmt.Println("compiling goreleaser, which takes some minutes the first time")
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = root, os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), "GOWORK=off", "MUSTER_ROOT="+root, "MUSTER_GOPROXY="+goProxy, "MUSTER_VERSION="+versions.App,
		"MUSTER_SOURCE="+owner.Source, "MUSTER_OWNER="+account, "MUSTER_REPOSITORY="+name)
	if _, err := output(ctx, root, "git", "remote", "get-url", "origin"); err != nil { // without one it knows no commit
		cmd.Env = append(cmd.Env, "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=remote.origin.url", "GIT_CONFIG_VALUE_0=https://"+owner.Source)
	}
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("goreleaser: %w", err)
	}
	m, dist := &made{}, filepath.Join(root, "build", "goreleaser")
	if err := read(filepath.Join(dist, "metadata.json"), m); err != nil {
		return nil, err
	}
	if err := read(filepath.Join(dist, "artifacts.json"), &m.artifacts); err != nil {
		return nil, err
	}
	return m, nil
}

// versions says which versions the charts get.
func (m *made) versions(said release.Versions, snapshot bool) (release.Versions, error) {
	if !snapshot {
		if m.Version != said.App {
			return release.Versions{}, fmt.Errorf("charts/muster/Chart.yaml: appVersion: %q, and the tag is %q", said.App, m.Tag)
		}
		return said, nil
	}
	return release.Versions{Chart: said.Chart + strings.TrimPrefix(m.Version, said.App), App: m.Version}, nil
}

// binaries are the paths of the programs for Linux, by architecture.
func (m *made) binaries(root string) map[string]string {
	paths := map[string]string{}
	for _, a := range m.artifacts {
		if a.Type == "Binary" && a.OS == "linux" {
			paths[a.Arch] = filepath.Join(root, a.Path)
		}
	}
	return paths
}

// collect copies what is released.
func (m *made) collect(root, dist string) error {
	for _, a := range m.artifacts {
		name := filepath.Base(a.Path)
		switch a.Type {
		case "Krew Plugin Manifest":
			name = "muster-krew.yaml"
		case "Archive", "SBOM":
		default:
			continue
		}
		content, err := os.ReadFile(filepath.Join(root, a.Path))
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dist, name), content, 0o644); err != nil {
			return err
		}
	}
	return nil
}

func read(path string, into any) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// commitTime is when the commit was made.
func commitTime(ctx context.Context, root string) (time.Time, error) {
	said, err := output(ctx, root, "git", "show", "--no-patch", "--format=%ct")
	if err != nil {
		return time.Time{}, err
	}
	seconds, err := strconv.ParseInt(said, 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("git: the time of the commit: %w", err)
	}
	return time.Unix(seconds, 0), nil
}

func output(ctx context.Context, dir, program string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = dir
	said, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w", program, strings.Join(args, " "), err)
	}
	return strings.TrimSpace(string(said)), nil
}
