package binaries

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"time"
)

// DownloadEnv names the environment variable that has released programs of a control plane be downloaded instead of
// compiled, where the projects publish them: "1" from their own places, or a URL from a mirror that has the same paths.
// What is not to be had is compiled.
const DownloadEnv = "E2E_DOWNLOAD"

// Limits of what is read from a network.
const (
	maxProgram  = 512 << 20 // bytes of a program, and of an archive that has one
	maxChecksum = 4 << 20   // bytes of a file with checksums
	maxDownload = 15 * time.Minute
	maxAnswer   = time.Minute // for a file with checksums
)

// checksumError says that a file is not the one that was published. Nobody may use it, so this is no reason to go on with
// another way.
type checksumError struct{ url, want, got string }

func (e *checksumError) Error() string {
	return fmt.Sprintf("%s: its sha256 is %s, and %s is published", e.url, e.got, e.want)
}

// download downloads the published programs, and returns the others.
func (r recipe) download(ctx context.Context, from string, set Set, programs []program, progress io.Writer) (left []program, err error) {
	files, err := r.published(ctx, from)
	if err != nil {
		return nil, err
	}
	for _, p := range programs {
		began := time.Now()
		err := files[p.binary].save(ctx, set, p.binary)
		var wrong *checksumError
		switch {
		case err == nil:
			fmt.Fprintf(progress, "downloaded %s, sha256 ok (%.1fs)\n", files[p.binary].url, time.Since(began).Seconds())
		case errors.As(err, &wrong) || ctx.Err() != nil:
			return nil, fmt.Errorf("download %s: %w", p.binary, err)
		default:
			fmt.Fprintf(progress, "cannot download %s, so it is compiled: %v\n", p.binary, err)
			left = append(left, p)
		}
	}
	return left, nil
}

// save has a program be in a set once it is whole and its checksum is right.
func (f released) save(ctx context.Context, set Set, b Binary) error {
	if f.url == "" {
		return errors.New("nobody publishes it for this machine")
	}
	ctx, cancel := context.WithTimeoutCause(ctx, maxDownload, fmt.Errorf("gave up after %s", maxDownload))
	defer cancel()
	want, err := f.published(ctx)
	if err != nil {
		return fmt.Errorf("its checksum: %w", err)
	}
	dir, err := os.MkdirTemp(set.Dir, "partial-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "downloaded")
	got, err := store(ctx, f.url, file)
	if err != nil {
		return err
	}
	if got != want {
		return &checksumError{url: f.url, want: want, got: got}
	}
	if f.member != "" {
		archive := file
		file = filepath.Join(dir, "extracted")
		if err := extract(archive, f.member, file); err != nil {
			return fmt.Errorf("%s: %w", f.url, err)
		}
	}
	if err := os.Chmod(file, 0o755); err != nil {
		return err
	}
	return os.Rename(file, set.Path(b))
}

// published is the checksum that is published, in hexadecimal digits.
func (f released) published(ctx context.Context) (sum string, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, maxAnswer, fmt.Errorf("gave up after %s", maxAnswer))
	defer cancel()
	err = get(ctx, f.checksum, func(body io.Reader) error {
		text, err := readAll(body, maxChecksum)
		if err != nil {
			return err
		}
		sum, err = f.find(text)
		return err
	})
	if err == nil && !isSHA256(sum) {
		err = fmt.Errorf("%s has %q, which is no sha256", f.checksum, sum)
	}
	return sum, err
}

func isSHA256(text string) bool {
	raw, err := hex.DecodeString(text)
	return err == nil && len(raw) == sha256.Size
}

// store writes what is at a URL to a new file, and returns its checksum.
func store(ctx context.Context, url, file string) (sum string, err error) {
	err = get(ctx, url, func(body io.Reader) (err error) {
		to, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, to.Close()) }()
		hash := sha256.New()
		if err := copyAll(io.MultiWriter(to, hash), body, maxProgram); err != nil {
			return fmt.Errorf("%s: %w", url, err)
		}
		sum = hex.EncodeToString(hash.Sum(nil))
		return nil
	})
	return sum, err
}

// get has the body be read that a URL answers with 200.
func get(ctx context.Context, url string, read func(io.Reader) error) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", url, response.Status)
	}
	return read(response.Body)
}

// copyAll copies everything, and fails when that is more than most bytes.
func copyAll(to io.Writer, from io.Reader, most int64) error {
	n, err := io.Copy(to, io.LimitReader(from, most+1))
	if err == nil && n > most {
		err = fmt.Errorf("it has more than %d bytes", most)
	}
	return err
}

func readAll(from io.Reader, most int64) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(from, most+1))
	if err == nil && int64(len(text)) > most {
		err = fmt.Errorf("it has more than %d bytes", most)
	}
	return text, err
}
