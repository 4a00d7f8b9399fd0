package binaries

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path"
	"runtime"
	"strings"
	"testing"
)

// mirror serves programs as the projects do that release them.
type mirror struct {
	files     map[string][]byte // by path
	truncated map[string]bool   // end in their middle
}

// newMirror is one with programs of a control plane, etcd and KWOK among them.
func newMirror(t *testing.T, r recipe, programs map[Binary][]byte) *mirror {
	t.Helper()
	m := &mirror{files: map[string][]byte{}, truncated: map[string]bool{}}
	files := m.published(t, r, "http://mirror")
	for b, text := range programs {
		switch b {
		case Etcd:
			m.serveEtcd(t, files[b], text)
		case KWOK:
			m.put(files[b].url, text)
			m.put(files[b].checksum, digests(t, path.Base(files[b].url), text))
		default:
			m.put(files[b].url, text)
			m.put(files[b].checksum, []byte(sum(text)))
		}
	}
	return m
}

func (m *mirror) published(t *testing.T, r recipe, url string) map[Binary]released {
	t.Helper()
	files, err := r.published(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Skipf("nobody publishes a control plane for %s", runtime.GOOS)
	}
	return files
}

// put has a file be at a URL, whichever host.
func (m *mirror) put(url string, text []byte) {
	m.files[strings.TrimPrefix(url, "http://mirror")] = text
}

func (m *mirror) serveEtcd(t *testing.T, f released, text []byte) {
	t.Helper()
	m.serveArchive(f, pack(t, entry{name: path.Dir(f.member) + "/", kind: tar.TypeDir}, entry{name: f.member, text: text, kind: tar.TypeReg}))
}

func (m *mirror) serveArchive(f released, archive []byte) {
	m.put(f.url, archive)
	m.put(f.checksum, fmt.Appendf(nil, "%s  another.tar.gz\n%s  %s\n", strings.Repeat("0", 64), sum(archive), path.Base(f.url)))
}

func (m *mirror) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	text, there := m.files[r.URL.Path]
	switch {
	case !there:
		http.NotFound(w, r)
	case m.truncated[r.URL.Path]:
		w.Header().Set("Content-Length", fmt.Sprint(len(text)))
		_, _ = w.Write(text[:len(text)/2])
	default:
		_, _ = w.Write(text)
	}
}

// start serves the mirror until the test ends, and returns its URL.
func (m *mirror) start(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(m)
	t.Cleanup(server.Close)
	return server.URL
}

func sum(text []byte) string {
	hash := sha256.Sum256(text)
	return hex.EncodeToString(hash[:])
}

// digests imitates GitHub's answer about a release with a file.
func digests(t *testing.T, name string, text []byte) []byte {
	t.Helper()
	said, err := json.Marshal(map[string]any{"assets": []any{
		map[string]any{"name": "kwok.yaml", "digest": nil}, map[string]any{"name": name, "digest": "sha256:" + sum(text)},
	}})
	if err != nil {
		t.Fatal(err)
	}
	return said
}

// entry of an archive.
type entry struct {
	name string
	text []byte
	kind byte
}

func pack(t *testing.T, entries ...entry) []byte {
	t.Helper()
	var packed bytes.Buffer
	zipped := gzip.NewWriter(&packed)
	archive := tar.NewWriter(zipped)
	for _, e := range entries {
		header := &tar.Header{Name: e.name, Typeflag: e.kind, Mode: 0o755, Size: int64(len(e.text))}
		if e.kind == tar.TypeSymlink {
			header.Linkname, header.Size = string(e.text), 0
		}
		if err := archive.WriteHeader(header); err != nil {
			t.Fatal(err)
		}
		if header.Size > 0 {
			if _, err := archive.Write(e.text); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	if err := zipped.Close(); err != nil {
		t.Fatal(err)
	}
	return packed.Bytes()
}
