package release

import (
	"archive/tar"
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

// madeOf makes an image whose programs say which architecture they are for.
func madeOf(t *testing.T) v1.ImageIndex {
	t.Helper()
	b := Build{
		Binaries: map[string]string{}, Version: "1.2.3", Revision: "0f0f", Source: "git.example.com/a/muster",
		Time: time.Date(2026, 11, 26, 12, 0, 0, 0, time.FixedZone("somewhere", 3600)),
	}
	for _, architecture := range []string{"amd64", "arm64"} {
		b.Binaries[architecture] = filepath.Join(t.TempDir(), "muster")
		if err := os.WriteFile(b.Binaries[architecture], []byte("for "+architecture), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	image, err := Image(b)
	if err != nil {
		t.Fatal(err)
	}
	return image
}

func TestAnImageIsTheSameWhereverItIsMade(t *testing.T) {
	t.Parallel()
	var digests []string
	for range 2 {
		digest, err := madeOf(t).Digest()
		if err != nil {
			t.Fatal(err)
		}
		digests = append(digests, digest.String())
	}
	if digests[0] != digests[1] {
		t.Errorf("digests %v", digests)
	}
}

func TestAnArchiveHasTheImageForEachArchitecture(t *testing.T) {
	t.Parallel()
	image := madeOf(t)
	archive := filepath.Join(t.TempDir(), "image.tar")
	if err := SaveImage(archive, "registry.example.com/muster:v1.2.3", image); err != nil {
		t.Fatal(err)
	}
	called, opened, err := OpenImage(archive, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Index(opened); err != nil {
		t.Error(err)
	}
	if called != "registry.example.com/muster:v1.2.3" {
		t.Errorf("it is called %q", called)
	}
	for _, architecture := range []string{"amd64", "arm64"} {
		program, err := ProgramOf(opened, architecture)
		if err != nil || string(program) != "for "+architecture {
			t.Errorf("the program for %s is %q, error %v", architecture, program, err)
		}
	}
	if _, err := ProgramOf(opened, "s390x"); err == nil || !strings.Contains(err.Error(), "linux/s390x") {
		t.Errorf("for an architecture that it lacks: error %v", err)
	}
}

func TestAContainerRunsMusterAsNobodyInParticularWithRootCertificates(t *testing.T) {
	t.Parallel()
	index := madeOf(t)
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	if manifest.Annotations["org.opencontainers.image.created"] != "2026-11-26T11:00:00Z" {
		t.Errorf("annotations %v", manifest.Annotations)
	}
	image, err := index.Image(manifest.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	file, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	want := v1.Config{Entrypoint: []string{"/muster"}, User: "65532:65532", WorkingDir: "/", Labels: manifest.Annotations}
	if diff := cmp.Diff(want, file.Config); diff != "" {
		t.Errorf("config (-want +got):\n%s", diff)
	}
	text, err := fileOf(image, "/etc/ssl/certs/ca-certificates.crt")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if _, err := x509.ParseCertificate(block.Bytes); err != nil {
			t.Errorf("certificate %d: %v", found, err)
		}
		found++
	}
	if found < 50 {
		t.Errorf("%d root certificates", found)
	}
}

func TestAnArchiveThatLeadsOutsideIsRefused(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "hostile.tar")
	if err := os.WriteFile(path, hostile(t), 0o600); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "in")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, _, err := OpenImage(path, dir); err == nil {
		t.Error("it was read")
	}
	if _, err := os.Stat(filepath.Join(dir, "..", "out")); err == nil {
		t.Error("a file is outside of the directory")
	}
}

// hostile is an archive of a file that is to be beside the directory.
func hostile(t *testing.T) []byte {
	t.Helper()
	var text bytes.Buffer
	archive := tar.NewWriter(&text)
	if err := archive.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: "../out", Mode: 0o644, Size: 1}); err != nil {
		t.Fatal(err)
	}
	if _, err := archive.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	return text.Bytes()
}
