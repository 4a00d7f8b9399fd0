package binaries

import (
	"archive/tar"
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// script is a program that says who it is.
func script(b Binary) []byte { return []byte("#!/bin/sh\necho I am " + string(b) + "\n") }

var downloaded = []Binary{Etcd, APIServer, Scheduler, KWOK}

// newDownload is a recipe of what is downloaded, a set without anything, and a mirror with all of it.
func newDownload(t *testing.T) (recipe, Set, *mirror) {
	t.Helper()
	r, err := readRecipe(t.Context(), Newest, downloaded)
	if err != nil {
		t.Fatal(err)
	}
	scripts := map[Binary][]byte{}
	for _, b := range downloaded {
		scripts[b] = script(b)
	}
	return r, Set{Dir: t.TempDir()}, newMirror(t, r, scripts)
}

func TestReleasedProgramsAreDownloaded(t *testing.T) {
	r, set, m := newDownload(t)
	var told bytes.Buffer
	left, err := r.download(t.Context(), m.start(t)+"/", set, r.programs, &told)
	if err != nil || len(left) > 0 {
		t.Fatalf("%v are left, error %v", left, err)
	}
	for _, b := range downloaded {
		said, err := exec.CommandContext(t.Context(), set.Path(b)).Output()
		if err != nil || string(said) != "I am "+string(b)+"\n" {
			t.Errorf("%s says %q, error %v", b, said, err)
		}
	}
	if n := strings.Count(told.String(), "sha256 ok"); n != len(downloaded) {
		t.Errorf("told of %d programs:\n%s", n, &told)
	}
	wantOnly(t, set, downloaded...)
}

func TestAProgramWithAWrongChecksumIsKeptByNobody(t *testing.T) {
	for _, b := range downloaded {
		t.Run(string(b), func(t *testing.T) {
			r, set, m := newDownload(t)
			f := m.published(t, r, "http://mirror")[b]
			want := sum(m.files[strings.TrimPrefix(f.url, "http://mirror")])
			forged := []byte("#!/bin/sh\necho I am somebody else\n")
			m.put(f.url, forged)
			r.programs = []program{{binary: b}}
			_, err := r.download(t.Context(), m.start(t), set, r.programs, io.Discard)
			if err == nil {
				t.Fatal("no error")
			}
			for _, part := range []string{filepath.Base(f.url), want, sum(forged)} {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("error %q, want it to name %s", err, part)
				}
			}
			wantOnly(t, set)
		})
	}
}

func TestWhatCannotBeDownloadedIsLeftToBeCompiled(t *testing.T) {
	for name, c := range map[string]struct {
		binary Binary
		spoil  func(t *testing.T, m *mirror, f released)
		told   string
	}{
		"there is no such program": {binary: APIServer, told: "404", spoil: func(_ *testing.T, m *mirror, f released) {
			delete(m.files, f.url)
		}},
		"there is no checksum": {binary: APIServer, told: "its checksum: ", spoil: func(_ *testing.T, m *mirror, f released) {
			delete(m.files, f.checksum)
		}},
		"the checksum is empty": {binary: APIServer, told: "is empty", spoil: func(_ *testing.T, m *mirror, f released) {
			m.put(f.checksum, nil)
		}},
		"the checksum is a page": {binary: APIServer, told: "which is no sha256", spoil: func(_ *testing.T, m *mirror, f released) {
			m.put(f.checksum, []byte("<html>"))
		}},
		"the checksums are of others": {binary: Etcd, told: "there is none of etcd-", spoil: func(_ *testing.T, m *mirror, f released) {
			m.put(f.checksum, []byte(strings.Repeat("0", 64)+"  another.tar.gz\n"))
		}},
		"the digests are of others": {binary: KWOK, told: "there is none of kwok-", spoil: func(t *testing.T, m *mirror, f released) {
			m.put(f.checksum, digests(t, "another", nil))
		}},
		"a program ends in its middle": {binary: Scheduler, told: "unexpected EOF", spoil: func(_ *testing.T, m *mirror, f released) {
			m.truncated[f.url] = true
		}},
		"an archive ends in its middle": {binary: Etcd, told: "unexpected EOF", spoil: func(_ *testing.T, m *mirror, f released) {
			m.serveArchive(f, m.files[f.url][:40])
		}},
		"an archive is none": {binary: Etcd, told: "gzip", spoil: func(_ *testing.T, m *mirror, f released) {
			m.serveArchive(f, []byte("etcd, and no archive"))
		}},
		"an archive lacks the program": {binary: Etcd, told: "it has no file", spoil: func(t *testing.T, m *mirror, f released) {
			m.serveArchive(f, pack(t, entry{name: "README.md", text: []byte("etcd"), kind: tar.TypeReg}))
		}},
		"the program is a link": {binary: Etcd, told: "it has no file", spoil: func(t *testing.T, m *mirror, f released) {
			m.serveArchive(f, pack(t, entry{name: f.member, text: []byte("/bin/sh"), kind: tar.TypeSymlink}))
		}},
		"an archive leads out": {binary: Etcd, told: "it has no file", spoil: func(t *testing.T, m *mirror, f released) {
			m.serveArchive(f, pack(t, entry{name: "../" + f.member, text: script(Etcd), kind: tar.TypeReg}))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			r, set, m := newDownload(t)
			f := m.published(t, r, "http://mirror")[c.binary]
			f.url, f.checksum = strings.TrimPrefix(f.url, "http://mirror"), strings.TrimPrefix(f.checksum, "http://mirror")
			c.spoil(t, m, f)
			var told bytes.Buffer
			left, err := r.download(t.Context(), m.start(t), set, r.programs, &told)
			if err != nil || len(left) != 1 || left[0].binary != c.binary {
				t.Fatalf("%v are left, error %v, want %s:\n%s", left, err, c.binary, &told)
			}
			if !strings.Contains(told.String(), "cannot download "+string(c.binary)) || !strings.Contains(told.String(), c.told) {
				t.Errorf("told of %q and not:\n%s", c.told, &told)
			}
			var others []Binary
			for _, b := range downloaded {
				if b != c.binary {
					others = append(others, b)
				}
			}
			wantOnly(t, set, others...)
		})
	}
}

func TestAMirrorIsAURL(t *testing.T) {
	r, set, m := newDownload(t)
	url := m.start(t)
	for _, from := range []string{"yes", "ftp://127.0.0.1/", "https://"} {
		_, err := r.download(t.Context(), from, set, r.programs, io.Discard)
		if err == nil || !strings.Contains(err.Error(), DownloadEnv+"="+from) {
			t.Errorf("error %v, want one that names %s=%s", err, DownloadEnv, from)
		}
	}
	left, err := r.download(t.Context(), url+"/nothing/is/here", set, r.programs, io.Discard)
	if err != nil || len(left) != len(downloaded) {
		t.Errorf("%d programs are left, error %v, want all", len(left), err)
	}
	wantOnly(t, set)
}

func TestMoreBytesThanAllowedAreAnError(t *testing.T) {
	if err := copyAll(io.Discard, strings.NewReader("12345"), 5); err != nil {
		t.Error(err)
	}
	if err := copyAll(io.Discard, strings.NewReader("123456"), 5); err == nil {
		t.Error("six bytes of five are no error")
	}
	if _, err := readAll(strings.NewReader("123456"), 5); err == nil {
		t.Error("six bytes of five are no error")
	}
}

// What is compiled here is served as if it were released, and has to run.
func TestEnsureDownloadsAControlPlane(t *testing.T) {
	ctx := t.Context()
	compiled, err := Ensure(ctx, Newest, t.Output(), downloaded...)
	if err != nil {
		t.Fatal(err)
	}
	r, err := readRecipe(ctx, Newest, downloaded)
	if err != nil {
		t.Fatal(err)
	}
	programs := map[Binary][]byte{}
	for _, b := range downloaded {
		if programs[b], err = os.ReadFile(compiled.Path(b)); err != nil {
			t.Fatal(err)
		}
	}
	dir := t.TempDir()
	t.Setenv(DirEnv, dir)
	t.Setenv(DownloadEnv, newMirror(t, r, programs).start(t))
	var told bytes.Buffer
	set, err := Ensure(ctx, Newest, &told, downloaded...)
	if err != nil {
		t.Fatal(err)
	}
	if set.Dir != dir || strings.Contains(told.String(), "building") || strings.Count(told.String(), "sha256 ok") != len(downloaded) {
		t.Errorf("the set is in %s, and this was told:\n%s", set.Dir, &told)
	}
	for _, b := range downloaded {
		said, err := exec.CommandContext(ctx, set.Path(b), "--version").CombinedOutput()
		if err != nil || len(said) == 0 {
			t.Errorf("%s --version: %v: %s", b, err, said)
		}
	}
}

// wantOnly fails the test when a set has anything but some programs.
func wantOnly(t *testing.T, set Set, programs ...Binary) {
	t.Helper()
	found, err := os.ReadDir(set.Dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(found) != len(programs) {
		t.Errorf("%d files are there, want %d: %v", len(found), len(programs), found)
	}
	for _, b := range programs {
		if _, err := os.Stat(set.Path(b)); err != nil {
			t.Error(err)
		}
	}
}
