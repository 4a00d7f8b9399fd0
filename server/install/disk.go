package install

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Write writes the files of a control-plane node below a directory, which is / on the node itself, and has its kube-scheduler read muster's
// configuration of it. Told hears of each file. Where it fails, what it was told of was written, and it may be repeated.
func (i *Installation) Write(root string, told func(string)) error {
	n := nodeOf(i.way)
	newConfig := false
	for _, f := range i.files {
		changed, err := write(root, f.path, f.text, told)
		if err != nil {
			return err
		}
		newConfig = newConfig || changed && f.path == n.schedulerConfig()
	}
	if n.scheduler == "" {
		told("then restart k3s: systemctl restart k3s")
		return nil
	}
	restarts, err := rewrite(root, n.scheduler, n.addToPod, false)
	if restarts {
		told("changed " + filepath.Join(root, n.scheduler))
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		told(fmt.Sprintf("there is no %s: give kube-scheduler --config=%s", filepath.Join(root, n.scheduler), n.schedulerConfig()))
		return nil
	case err == nil && newConfig && !restarts:
		told("kube-scheduler reads " + n.schedulerConfig() + " when it starts: move " + n.scheduler + " out of its directory and back")
	}
	return err
}

// Remove takes back what Write does, and leaves alone what others wrote. It returns whether there was anything. With dry set, it only
// tells.
func Remove(way Way, root string, dry bool, told func(string)) (found bool, err error) {
	n := nodeOf(way)
	say := func(text string) { found = true; told(text) }
	if n.scheduler != "" {
		changed, err := rewrite(root, n.scheduler, n.takeFromPod, dry)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return found, err
		}
		if changed {
			say("muster in " + filepath.Join(root, n.scheduler))
		}
	}
	for _, path := range []string{n.dropIn, n.staticPod, n.schedulerConfig(), n.config(), n.configs} {
		path = filepath.Join(root, path)
		if info, err := os.Lstat(path); err != nil || path == filepath.Clean(root) || info.IsDir() && !dry && !isEmpty(path) {
			continue
		}
		if !dry {
			if err := os.Remove(path); err != nil {
				return found, err
			}
		}
		say("file " + path)
	}
	return found, nil
}

func isEmpty(dir string) bool {
	entries, err := os.ReadDir(dir)
	return err == nil && len(entries) == 0
}

// rewrite changes a file by an edit of its fields, and reports whether that changes anything. With dry set, it only tells.
func rewrite(root, path string, edit func(map[string]any) (bool, error), dry bool) (changed bool, err error) {
	at := filepath.Join(root, path)
	text, err := os.ReadFile(at)
	if err != nil {
		return false, err
	}
	made, err := edited(string(text), edit)
	if err != nil {
		return false, fmt.Errorf("%s: %w", at, err)
	}
	if made == string(text) || dry {
		return made != string(text), nil
	}
	return true, replace(at, made)
}

// write writes a file below a directory, if it is not as it should be, and returns whether it has.
func write(root, path, text string, told func(string)) (changed bool, err error) {
	at := filepath.Join(root, path)
	switch there, err := os.ReadFile(at); {
	case err == nil && string(there) == text:
		told("unchanged " + at)
		return false, nil
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return false, err
	}
	if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
		return false, err
	}
	if err := replace(at, text); err != nil {
		return false, err
	}
	told("wrote " + at)
	return true, nil
}

// replace writes a file whole or not at all: a kubelet may look at any time. It looks at no file whose name begins with a dot.
func replace(path, text string) error {
	beside := filepath.Join(filepath.Dir(path), ".muster-"+filepath.Base(path))
	mode := os.FileMode(0o644)
	if info, err := os.Stat(path); err == nil {
		mode = info.Mode().Perm()
	}
	if err := os.WriteFile(beside, []byte(text), mode); err != nil { //nolint:gosec // below the directory that was named
		return err
	}
	return os.Rename(beside, path)
}
