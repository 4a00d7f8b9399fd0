package binaries

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path"
	"runtime"
	"strings"
)

// Where the projects publish what they release.
const (
	publishedKubernetes = "https://dl.k8s.io"
	publishedGitHub     = "https://github.com"
	publishedDigests    = "https://api.github.com"
)

// released is a file that a project publishes.
type released struct {
	url      string
	checksum string                            // the URL of what has its checksum
	find     func(text []byte) (string, error) // finds the checksum in there
	member   string                            // the program in it, if it is an archive
}

// published are the files that have the programs of a control plane, at the versions that are compiled otherwise.
func (r recipe) published(ctx context.Context, from string) (map[Binary]released, error) {
	if runtime.GOOS != "linux" {
		return nil, nil // an API server is published for Linux alone
	}
	kubernetes, gitHub, digests := publishedKubernetes, publishedGitHub, publishedDigests
	if from != "1" {
		mirror, err := url.Parse(from)
		if err != nil || mirror.Host == "" || mirror.Scheme != "http" && mirror.Scheme != "https" {
			return nil, fmt.Errorf("%s=%s: want 1 or the URL of a mirror", DownloadEnv, from)
		}
		base := strings.TrimRight(from, "/")
		kubernetes, gitHub, digests = base, base, base
	}
	etcd, err := goList(ctx, r.module, "{{.Version}}", "go.etcd.io/etcd/server/v3", "-modfile="+r.modfile)
	if err != nil {
		return nil, err
	}
	kwok, err := goList(ctx, r.module, "{{.Version}}", "sigs.k8s.io/kwok", "-modfile="+r.modfile)
	if err != nil {
		return nil, err
	}
	files := map[Binary]released{
		Etcd: etcdOf(gitHub, etcd),
		KWOK: kwokOf(gitHub, digests, kwok),
	}
	for _, b := range []Binary{APIServer, ControllerManager, Scheduler, Kubectl} {
		program := fmt.Sprintf("%s/%s/bin/%s/%s/%s", kubernetes, r.kubernetes, runtime.GOOS, runtime.GOARCH, b)
		files[b] = released{url: program, checksum: program + ".sha256", find: firstWord}
	}
	return files, nil
}

func etcdOf(gitHub, version string) released {
	release := fmt.Sprintf("%s/etcd-io/etcd/releases/download/%s/", gitHub, version)
	name := fmt.Sprintf("etcd-%s-%s-%s", version, runtime.GOOS, runtime.GOARCH)
	return released{
		url: release + name + ".tar.gz", member: name + "/etcd",
		checksum: release + "SHA256SUMS", find: func(text []byte) (string, error) { return ofFile(text, name+".tar.gz") },
	}
}

// kwokOf has the checksum from GitHub: the project publishes none itself.
func kwokOf(gitHub, digests, version string) released {
	const repository = "kubernetes-sigs/kwok"
	name := fmt.Sprintf("kwok-%s-%s", runtime.GOOS, runtime.GOARCH)
	return released{
		url:      fmt.Sprintf("%s/%s/releases/download/%s/%s", gitHub, repository, version, name),
		checksum: fmt.Sprintf("%s/repos/%s/releases/tags/%s", digests, repository, version),
		find:     func(text []byte) (string, error) { return ofAsset(text, name) },
	}
}

// firstWord is the checksum in a file that is of one file.
func firstWord(text []byte) (string, error) {
	words := strings.Fields(string(text))
	if len(words) == 0 {
		return "", errors.New("the file is empty")
	}
	return words[0], nil
}

// ofFile is the checksum of a file in what sha256sum prints of many.
func ofFile(text []byte, name string) (string, error) {
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Scan() {
		words := strings.Fields(lines.Text())
		if len(words) == 2 && strings.TrimPrefix(words[1], "*") == name {
			return words[0], nil
		}
	}
	return "", fmt.Errorf("there is none of %s", name)
}

// ofAsset is the checksum of a file in what GitHub's API says of a release.
func ofAsset(text []byte, name string) (string, error) {
	var release struct {
		Assets []struct{ Name, Digest string }
	}
	if err := json.Unmarshal(text, &release); err != nil {
		return "", err
	}
	for _, asset := range release.Assets {
		if sum, is := strings.CutPrefix(asset.Digest, "sha256:"); is && asset.Name == name {
			return sum, nil
		}
	}
	return "", fmt.Errorf("there is none of %s", name)
}

// extract writes one regular file of a compressed archive to a new file. Nothing else of the archive is written.
func extract(archive, member, file string) (err error) {
	from, err := os.Open(archive)
	if err != nil {
		return err
	}
	defer from.Close()
	unzipped, err := gzip.NewReader(from)
	if err != nil {
		return err
	}
	// However small an archive is, it may become anything.
	entries := tar.NewReader(io.LimitReader(unzipped, maxProgram))
	for {
		entry, err := entries.Next()
		if errors.Is(err, io.EOF) {
			return fmt.Errorf("it has no file %s", member)
		}
		if err != nil {
			return err
		}
		if entry.Typeflag != tar.TypeReg || path.Clean(entry.Name) != member {
			continue
		}
		to, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return err
		}
		return errors.Join(copyAll(to, entries, maxProgram), to.Close())
	}
}
