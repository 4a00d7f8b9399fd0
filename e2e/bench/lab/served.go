package lab

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.dev/muster/e2e/binaries"
	"muster.dev/muster/e2e/process"
)

const (
	// loadTimeout is for muster to read some hundred megabytes.
	loadTimeout = 2 * time.Minute
	stopGrace   = 5 * time.Second
)

// Served is an extender without a control plane.
type Served struct {
	// URL of the verbs.
	URL string
	// Debug is the URL of metrics, "" when it has none.
	Debug string

	process *process.Process
}

// ServeSnapshot starts a build of muster that answers from a dump of a cluster, and returns when it leads.
func ServeSnapshot(ctx context.Context, program, config, dump string) (*Served, error) {
	debug, err := freeAddress()
	if err != nil {
		return nil, err
	}
	ready := func(ctx context.Context, address string) error {
		return Call(ctx, http.MethodGet, "http://"+address+"/readyz", nil, new(bytes.Buffer))
	}
	s, err := serve(ctx, program, ready, "serve", "--config="+config, "--snapshot="+dump, "--debug-listen="+debug)
	if err != nil {
		return nil, err
	}
	s.Debug = "http://" + debug
	return s, nil
}

// ServeEmpty starts an extender that has nothing to say.
func ServeEmpty(ctx context.Context, program string) (*Served, error) {
	return serve(ctx, program, func(ctx context.Context, address string) error {
		connection, err := new(net.Dialer).DialContext(ctx, "tcp", address)
		if err == nil {
			err = connection.Close()
		}
		return err
	})
}

func serve(ctx context.Context, program string, ready func(context.Context, string) error, args ...string) (*Served, error) {
	address, err := freeAddress()
	if err != nil {
		return nil, err
	}
	s := &Served{URL: "http://" + address}
	s.process, err = process.Start(process.Spec{
		Name: filepath.Base(program), Path: program, Args: append(args, "--listen="+address), Log: program + "-" + address + ".log",
	})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, loadTimeout, fmt.Errorf("gave up after %s", loadTimeout))
	defer cancel()
	if err := s.process.Await(ctx, func(ctx context.Context) error { return ready(ctx, address) }); err != nil {
		s.Stop()
		return nil, err
	}
	return s, nil
}

// Stop ends the process.
func (s *Served) Stop() { s.process.Stop(stopGrace) }

func freeAddress() (string, error) {
	port, err := process.FreePort()
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)), err
}

var client = &http.Client{Timeout: time.Minute}

// Call reads the answer into memory that is used again, so that the caller's own work stays small beside what is measured.
func Call(ctx context.Context, method, url string, body []byte, answer *bytes.Buffer) error {
	request, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	answer.Reset()
	_, err = answer.ReadFrom(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s %s: %s: %s", method, url, response.Status, answer)
	}
	return err
}

// WriteDump writes nodes and pods to a file, as a stream of JSON objects.
func WriteDump(path string, nodes []*corev1.Node, pods []*corev1.Pod) (err error) {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	buffered := bufio.NewWriter(file)
	encoder := json.NewEncoder(buffered)
	for _, node := range nodes {
		typed := *node
		typed.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Node"}
		if err := encoder.Encode(&typed); err != nil {
			return err
		}
	}
	for _, pod := range pods {
		typed := *pod
		typed.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}
		if err := encoder.Encode(&typed); err != nil {
			return err
		}
	}
	return buffered.Flush()
}

// InRepository is a path that may be relative to the root of the repository, "" for "".
func InRepository(ctx context.Context, path string) (string, error) {
	if path == "" || filepath.IsAbs(path) {
		return path, nil
	}
	repository, err := binaries.RepositoryDir(ctx)
	return filepath.Join(repository, path), err
}
