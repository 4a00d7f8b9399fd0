// Package muster runs the muster of this checkout beside a control plane, as a process of its own
// and registered with nobody: [Server.SchedulerConfig] registers it with a stock scheduler.
package muster

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"k8s.io/client-go/kubernetes"

	"muster.dev/muster/e2e/await"
	"muster.dev/muster/e2e/binaries"
	"muster.dev/muster/e2e/process"
)

// stopGrace is how long muster may take to end.
const stopGrace = 10 * time.Second

// Server is a running muster.
type Server struct {
	process *process.Process
	spec    process.Spec
	skew    time.Duration
	binary  string
	config  string
	address string // of the verbs
	debug   string // of pages and metrics
	webhook string // of gates, "" if muster is not asked for them

	identity *identity            // nil for http
	http     *http.Client         // of the verbs
	client   kubernetes.Interface // by which members come to be gated; nil when they are not to be
	gating   bool                 // they are gated
}

// Start starts muster as administrator of the control plane and returns when it is
// ready. The caller must call Stop.
func Start(ctx context.Context, o Options) (*Server, error) {
	s, err := Launch(ctx, o)
	if err != nil {
		return nil, err
	}
	if err := s.AwaitReady(ctx); err != nil {
		s.Stop()
		return nil, err
	}
	return s, nil
}

// Launch is Start without waiting: what needs no answer of muster may go on meanwhile.
func Launch(ctx context.Context, o Options) (*Server, error) {
	dir, name := o.ControlPlane.Dir(), cmp.Or(o.Name, "muster")
	s := &Server{binary: o.Binary, config: filepath.Join(dir, name+".yaml")}
	var err error
	if s.binary == "" {
		if s.binary, err = binaries.BuildMuster(ctx, o.Progress); err != nil {
			return nil, err
		}
	}
	s.debug = o.Debug
	addresses := []*string{&s.address, &s.debug}
	if o.Gates != "" {
		if o.GatedBy == Webhook {
			addresses = append(addresses, &s.webhook)
		}
		if s.client, err = kubernetes.NewForConfig(o.ControlPlane.RESTConfig()); err != nil {
			return nil, fmt.Errorf("connect to the control plane: %w", err)
		}
	}
	if err := s.identify(o, filepath.Join(dir, name)); err != nil {
		return nil, err
	}
	s.http = &http.Client{Transport: s.identity.transport()}
	if err := choose(addresses); err != nil {
		return nil, err
	}
	if err := o.writeConfig(s.config, s.identity, s.webhook); err != nil {
		return nil, err
	}
	s.spec = process.Spec{
		Name: name,
		Path: s.binary,
		Log:  filepath.Join(dir, name+".log"),
		Host: o.Host,
		Args: []string{
			"serve",
			"--config=" + s.config,
			"--kubeconfig=" + cmp.Or(o.Kubeconfig, o.ControlPlane.Kubeconfig()),
			"--listen=" + s.address,
			"--debug-listen=" + s.debug,
		},
	}
	s.SkewClock(o.ClockSkew)
	if s.process, err = process.Start(s.spec); err != nil {
		return nil, err
	}
	return s, nil
}

// identify gives a server a certificate, in files whose names begin so, if its options ask for one.
func (s *Server) identify(o Options, files string) (err error) {
	if !o.TLS && (s.client == nil || o.GatedBy != Webhook) {
		return nil
	}
	if s.identity, err = newIdentity(files); err == nil && o.TLS {
		err = s.identity.trust(o.ControlPlane)
	}
	return err
}

// choose fills in addresses of loopback at which nobody listens, where none is given.
func choose(addresses []*string) error {
	for _, address := range addresses {
		if *address != "" {
			continue
		}
		port, err := process.FreePort()
		if err != nil {
			return err
		}
		*address = net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	}
	return nil
}

// AwaitReady returns when muster is ready, and members are gated if they are to be.
func (s *Server) AwaitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, await.Patience, fmt.Errorf("gave up after %s", await.Patience))
	defer cancel()
	if err := s.process.Await(ctx, s.ready); err != nil || s.client == nil || s.gating {
		return err
	}
	s.gating = true
	if s.webhook != "" {
		return CreateWebhook(ctx, s.client, "https://"+s.webhook, s.identity.certificate)
	}
	return CreateGatePolicy(ctx, s.client, s.binary, s.config)
}

// DebugURL is where muster serves its page, its metrics and what is under /debug/.
func (s *Server) DebugURL() string { return "http://" + s.debug }

// URL of the verbs.
func (s *Server) URL() string {
	if s.identity != nil {
		return "https://" + s.address
	}
	return "http://" + s.address
}

// Transport calls its verbs: it knows its certificate.
func (s *Server) Transport() *http.Transport { return s.http.Transport.(*http.Transport) }

// Config is the path of its configuration.
func (s *Server) Config() string { return s.config }

// Configure rewrites its configuration, which it sees by itself.
func (s *Server) Configure(o Options) error { return o.writeConfig(s.config, s.identity, s.webhook) }

// Log is the path of its log.
func (s *Server) Log() string { return s.spec.Log }

// Pid is the operating system's number of the process.
func (s *Server) Pid() int { return s.process.Pid() }

// Stop ends muster gracefully and returns when it is gone.
func (s *Server) Stop() {
	if s.gating {
		s.gating = false
		s.letGo()
	}
	s.process.Stop(stopGrace)
	s.Transport().CloseIdleConnections()
}

// letGo has members gated no more. An error means that the control plane is gone as well.
func (s *Server) letGo() {
	ctx, cancel := context.WithTimeout(context.Background(), stopGrace)
	defer cancel()
	if s.webhook != "" {
		_ = DeleteWebhook(ctx, s.client)
	} else {
		_ = DeleteGatePolicy(ctx, s.client)
	}
}

// Crash ends muster with no chance to clean up, and returns when it is gone. It fails when
// muster had ended by itself.
func (s *Server) Crash() error {
	if err := s.Err(); err != nil {
		return err
	}
	s.process.Kill()
	return nil
}

// Restart starts a muster that ended again, at the same address, and returns when it is
// ready. Only what asks muster over HTTP may be called meanwhile.
func (s *Server) Restart(ctx context.Context) (err error) {
	if err := s.Relaunch(); err != nil {
		return err
	}
	return s.AwaitReady(ctx)
}

// Relaunch is Restart without waiting.
func (s *Server) Relaunch() (err error) {
	s.process, err = process.Start(s.spec)
	return err
}

// ClockSkew is by how much its clock is ahead; see Options.ClockSkew.
func (s *Server) ClockSkew() time.Duration { return s.skew }

// SkewClock has the clock be ahead by another time from the next start on, as on another machine.
func (s *Server) SkewClock(by time.Duration) {
	s.skew, s.spec.Env = by, []string{binaries.Skew(by)}
}

// Pause stops muster where it is, until Resume.
func (s *Server) Pause() error { return s.process.Pause() }

// Resume has a paused muster go on.
func (s *Server) Resume() error { return s.process.Resume() }

// Done is closed when muster has ended; Err then says why, unless it was stopped.
func (s *Server) Done() <-chan struct{} { return s.process.Done() }

// Err says why a server ended that nobody stopped.
func (s *Server) Err() error { return s.process.Err() }

// SchedulerConfig is the configuration of a stock scheduler that uses this server, as
// `muster scheduler-config` prints it with the flags.
func (s *Server) SchedulerConfig(ctx context.Context, flags ...string) (string, error) {
	return s.SchedulerConfigFor(ctx, s.URL(), flags...)
}

// SchedulerConfigFor is SchedulerConfig for a scheduler that is to call another URL, at which
// something stands before this server.
func (s *Server) SchedulerConfigFor(ctx context.Context, url string, flags ...string) (string, error) {
	flags = append([]string{"--config=" + s.config}, flags...)
	if s.identity != nil {
		flags = append(flags, s.identity.schedulerFlags()...)
	}
	return SchedulerConfig(ctx, s.binary, url, flags...)
}

// SchedulerConfig is the configuration of a stock scheduler that uses an extender at a
// URL, as the binary's `scheduler-config` prints it with the flags.
func SchedulerConfig(ctx context.Context, binary, url string, flags ...string) (string, error) {
	cmd := exec.CommandContext(ctx, binary, append([]string{"scheduler-config", "--url=" + url}, flags...)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	config, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("muster scheduler-config: %w: %s", err, bytes.TrimSpace(stderr.Bytes()))
	}
	return string(config), nil
}

func (s *Server) ready(ctx context.Context) error {
	body, err := s.get(ctx, "/readyz")
	if err != nil {
		return err
	}
	return body.Close()
}

// Page returns a page of muster's.
func (s *Server) Page(ctx context.Context, path string) (string, error) {
	return page(ctx, s.DebugURL()+path)
}

// get returns the body of a path that answers 200.
func (s *Server) get(ctx context.Context, path string) (io.ReadCloser, error) {
	return get(ctx, s.DebugURL()+path)
}
