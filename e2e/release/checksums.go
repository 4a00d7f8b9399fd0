package release

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Digests returns the digest of each file of a directory, as sha256:…, by name.
func Digests(dir string) (map[string]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	digests := map[string]string{}
	for _, entry := range entries {
		digest, err := digestOf(filepath.Join(dir, entry.Name()))
		if err != nil {
			return nil, err
		}
		digests[entry.Name()] = digest
	}
	return digests, nil
}

func digestOf(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, file); err != nil {
		return "", fmt.Errorf("%s: %w", path, err)
	}
	return "sha256:" + hex.EncodeToString(sum.Sum(nil)), nil
}

// WriteChecksums writes digests as sha256sum --check reads them.
func WriteChecksums(path string, digests map[string]string) error {
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(digests)) {
		fmt.Fprintf(&text, "%s  %s\n", strings.TrimPrefix(digests[name], "sha256:"), name)
	}
	return os.WriteFile(path, []byte(text.String()), 0o644)
}
