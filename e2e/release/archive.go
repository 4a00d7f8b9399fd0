package release

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
)

// The annotations by which containerd, and so kind, and others learn what an image in an archive is called.
const (
	nameForContainerd = "io.containerd.image.name"
	nameForOthers     = "org.opencontainers.image.ref.name"
)

// SaveImage writes an image as an OCI archive: what docker load, ctr image import and kind load image-archive take.
func SaveImage(path, name string, image v1.ImageIndex) (err error) {
	dir, err := os.MkdirTemp("", "muster-image-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	laid, err := layout.Write(dir, empty.Index)
	if err != nil {
		return err
	}
	annotations := map[string]string{nameForContainerd: name, nameForOthers: name}
	if err := laid.AppendIndex(image, layout.WithAnnotations(annotations)); err != nil {
		return err
	}
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	return pack(file, os.DirFS(dir))
}

// pack writes all files, in the order of their names.
func pack(w io.Writer, files fs.FS) error {
	archive := tar.NewWriter(w)
	err := fs.WalkDir(files, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := fs.ReadFile(files, path)
		if err != nil {
			return err
		}
		if err := archive.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: path, Mode: 0o644, Size: int64(len(content))}); err != nil {
			return err
		}
		_, err = archive.Write(content)
		return err
	})
	return errors.Join(err, archive.Close())
}

// OpenImage reads an OCI archive of one image into a directory, where it stays, and returns what it is called.
func OpenImage(path, dir string) (name string, image v1.ImageIndex, err error) {
	file, err := os.Open(path)
	if err != nil {
		return "", nil, err
	}
	defer file.Close()
	if err := unpack(file, dir); err != nil {
		return "", nil, fmt.Errorf("%s: %w", path, err)
	}
	laid, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		return "", nil, fmt.Errorf("%s: %w", path, err)
	}
	manifest, err := laid.IndexManifest()
	if err != nil {
		return "", nil, fmt.Errorf("%s: %w", path, err)
	}
	if len(manifest.Manifests) != 1 {
		return "", nil, fmt.Errorf("%s has %d images instead of one", path, len(manifest.Manifests))
	}
	only := manifest.Manifests[0]
	image, err = laid.ImageIndex(only.Digest)
	return only.Annotations[nameForContainerd], image, err
}

// unpack is the reverse of pack. No file can come to be outside of the directory.
func unpack(r io.Reader, dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	for archive := tar.NewReader(r); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if header.Typeflag != tar.TypeReg {
			continue
		}
		if err := root.MkdirAll(filepath.Dir(header.Name), 0o755); err != nil {
			return err
		}
		content, err := io.ReadAll(archive)
		if err != nil {
			return err
		}
		if err := root.WriteFile(header.Name, content, 0o644); err != nil {
			return err
		}
	}
}

// fileOf is the content of a file of an image, as a container sees it.
func fileOf(image v1.Image, path string) ([]byte, error) {
	files := mutate.Extract(image)
	defer files.Close()
	for archive := tar.NewReader(files); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("the image has no %s", path)
		}
		if err != nil {
			return nil, err
		}
		if "/"+header.Name == path {
			return io.ReadAll(archive)
		}
	}
}
