package release

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// PushImage pushes the image of a directory of a release. It returns the name with the digest.
func PushImage(ctx context.Context, dir, repository string) (string, error) {
	archive, err := only(dir, "muster_*_image.tar")
	if err != nil {
		return "", err
	}
	unpacked, err := os.MkdirTemp("", "muster-image-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(unpacked)
	called, image, err := OpenImage(archive, unpacked)
	if err != nil {
		return "", err
	}
	tag := called[strings.LastIndex(called, ":")+1:]
	reference, err := name.NewTag(repository + ":" + tag)
	if err != nil {
		return "", err
	}
	if err := remote.WriteIndex(reference, image, remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain)); err != nil {
		return "", fmt.Errorf("push %s: %w", reference, err)
	}
	digest, err := image.Digest()
	if err != nil {
		return "", err
	}
	return reference.Context().Digest(digest.String()).String(), nil
}

// PushCharts pushes the charts of a directory of a release to a registry, as oci://registry/path. Flags are Helm's, as
// --plain-http.
func PushCharts(ctx context.Context, helm, dir, registry string, flags ...string) error {
	charts, err := filepath.Glob(filepath.Join(dir, "muster*.tgz"))
	if err != nil || len(charts) == 0 {
		return fmt.Errorf("%s has no charts", dir)
	}
	for _, chart := range charts {
		cmd := exec.CommandContext(ctx, helm, append([]string{"push", chart, registry}, flags...)...)
		if said, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("push %s: %w: %s", chart, err, said)
		}
	}
	return nil
}

// only is the one file that a pattern finds.
func only(dir, pattern string) (string, error) {
	found, err := filepath.Glob(filepath.Join(dir, pattern))
	if err != nil || len(found) != 1 {
		return "", fmt.Errorf("%s has %d files %s instead of one", dir, len(found), pattern)
	}
	return found[0], nil
}

// ProgramOf takes muster out of its image for a platform of Linux, as amd64.
func ProgramOf(image v1.ImageIndex, architecture string) ([]byte, error) {
	manifest, err := image.IndexManifest()
	if err != nil {
		return nil, err
	}
	for _, m := range manifest.Manifests {
		if m.Platform == nil || m.Platform.OS != "linux" || m.Platform.Architecture != architecture {
			continue
		}
		one, err := image.Image(m.Digest)
		if err != nil {
			return nil, err
		}
		return fileOf(one, program)
	}
	return nil, fmt.Errorf("there is no image for linux/%s", architecture)
}
