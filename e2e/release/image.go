package release

import (
	"archive/tar"
	"bytes"
	"encoding/pem"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// Build is the input of an image.
type Build struct {
	// Binaries are paths of static programs for Linux, by architecture, as amd64.
	Binaries map[string]string
	Version  string
	Revision string // the commit
	Source   string // host/owner/name
	Time     time.Time
}

// user is who runs muster in its container, as in the Dockerfile.
const user = "65532:65532"

// program is where muster is in its image.
const program = "/muster"

// roots is where Go looks for root certificates first (crypto/x509, root_linux.go).
const roots = "/etc/ssl/certs/ca-certificates.crt"

// Image is the image for all architectures, of nothing but the program and root certificates.
func Image(b Build) (v1.ImageIndex, error) {
	annotations := map[string]string{
		"org.opencontainers.image.title":    "muster",
		"org.opencontainers.image.source":   "https://" + b.Source,
		"org.opencontainers.image.version":  b.Version,
		"org.opencontainers.image.revision": b.Revision,
		"org.opencontainers.image.created":  b.Time.UTC().Format(time.RFC3339),
		"org.opencontainers.image.licenses": "Apache-2.0",
	}
	certificates, err := layer(roots, rootCertificates(), 0o644)
	if err != nil {
		return nil, err
	}
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, architecture := range slices.Sorted(maps.Keys(b.Binaries)) {
		binary, err := os.ReadFile(b.Binaries[architecture])
		if err != nil {
			return nil, err
		}
		programs, err := layer(program, binary, 0o755)
		if err != nil {
			return nil, err
		}
		image, err := mutate.AppendLayers(
			mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON), certificates, programs)
		if err != nil {
			return nil, err
		}
		file, err := image.ConfigFile()
		if err != nil {
			return nil, err
		}
		file = file.DeepCopy()
		file.OS, file.Architecture, file.Created = "linux", architecture, v1.Time{Time: b.Time.UTC()}
		file.Config = v1.Config{Entrypoint: []string{program}, User: user, WorkingDir: "/", Labels: annotations}
		if image, err = mutate.ConfigFile(image, file); err != nil {
			return nil, err
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: image, Descriptor: v1.Descriptor{Platform: file.Platform()}})
	}
	return mutate.Annotations(index, annotations).(v1.ImageIndex), nil
}

// layer has one file, and the directories above it. Times are the beginning of time, so that the same file gives the same
// layer in each release.
func layer(path string, content []byte, mode int64) (v1.Layer, error) {
	var text bytes.Buffer
	archive := tar.NewWriter(&text)
	for at, c := range path {
		if c != '/' || at == 0 {
			continue
		}
		if err := archive.WriteHeader(
			&tar.Header{Typeflag: tar.TypeDir, Name: path[1:at] + "/", Mode: 0o755, ModTime: time.Unix(0, 0)},
		); err != nil {
			return nil, err
		}
	}
	header := &tar.Header{Typeflag: tar.TypeReg, Name: path[1:], Mode: mode, Size: int64(len(content)), ModTime: time.Unix(0, 0)}
	if err := archive.WriteHeader(header); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if _, err := archive.Write(content); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if err := archive.Close(); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return tarball.LayerFromOpener(
		func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(text.Bytes())), nil },
		tarball.WithMediaType(types.OCILayer))
}

// rootCertificates writes down whom Mozilla trusts without conditions. A file has no way to say a condition.
func rootCertificates() []byte {
	var text bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint == nil {
			text.Write(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}))
		}
	}
	return text.Bytes()
}
