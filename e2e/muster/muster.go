// Package muster runs the muster of this checkout beside a control plane, as a process
// of its own and registered with nobody: its [Server.SchedulerConfig] is what registers
// it with a stock scheduler.
package muster

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/yaml"

	"muster.dev/muster/e2e/binaries"
	"muster.dev/muster/e2e/controlplane"
	"muster.dev/muster/e2e/process"
)

const (
	readyTimeout = time.Minute
	stopGrace    = 10 * time.Second
)

// Selection is a profile's nodeSelection: who chooses the node.
type Selection string

// The ways to choose.
const (
	Scheduler Selection = "Scheduler"
	Extender  Selection = "Extender"
	Nominate  Selection = "Nominate"
	Ahead     Selection = "Ahead"
)

// Gatekeeper is gangs.gatedBy: who adds the gates of members.
type Gatekeeper string

// The gatekeepers.
const (
	Policy  Gatekeeper = "Policy"
	Webhook Gatekeeper = "Webhook"
)

// Options of a server.
type Options struct {
	ControlPlane *controlplane.ControlPlane
	// Name is what the process, its configuration and its log are called, "muster" when empty. Each of
	// several beside a control plane has its own.
	Name string
	// Binary is the path of muster; it is built when empty.
	Binary string
	// ClockSkew is by how much the clock of the server's machine is ahead. Only a Binary heeds it that binaries.BuildSkewable built.
	ClockSkew time.Duration
	// Host is the name of the host that it takes itself to run on; see process.Spec.
	Host string
	// Selection of the default scheduler's profile, Scheduler when empty.
	Selection Selection
	// Offload says that the scheduler leaves to muster the plugins that muster runs.
	Offload bool
	// Beside are profiles beside that one, by scheduler name.
	Beside map[string]Selection
	// MinBacklog is how many pods must wait to be nominated, muster's default when 0.
	MinBacklog int
	// Config are further fields of the configuration.
	Config map[string]any
	// Kubeconfig is the path of the one to use, the administrator's when empty.
	Kubeconfig string
	// Gates is gangs.gates. With another value than muster's default, which is "", members are
	// gated while it runs; with the selection Ahead they always are.
	Gates string
	// GatedBy is who gates them, the Policy when empty. With the Webhook muster serves https.
	GatedBy Gatekeeper
	// Profile are more fields of the default scheduler's profile.
	Profile map[string]any
	// Load is the load section of muster's configuration, the default when nil.
	Load map[string]any
	// Progress hears about the build. Nil is silence.
	Progress io.Writer
}

// Server is a running muster.
type Server struct {
	process *process.Process
	spec    process.Spec
	skew    time.Duration
	binary  string
	config  string
	address string // of the verbs
	debug   string // of pages and metrics
	webhook string // of gates, if muster is asked for them

	identity *identity            // nil for http
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
	if o.Gates != "" || o.Selection == Ahead {
		if o.GatedBy == Webhook {
			if s.identity, err = newIdentity(dir); err != nil {
				return nil, err
			}
		}
		if s.client, err = kubernetes.NewForConfig(o.ControlPlane.RESTConfig()); err != nil {
			return nil, fmt.Errorf("connect to the control plane: %w", err)
		}
	}
	for _, address := range []*string{&s.address, &s.debug, &s.webhook} {
		port, err := process.FreePort()
		if err != nil {
			return nil, err
		}
		*address = net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
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

// AwaitReady returns when muster is ready, and members are gated if they are to be.
func (s *Server) AwaitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, readyTimeout, fmt.Errorf("gave up after %s", readyTimeout))
	defer cancel()
	if err := s.process.Await(ctx, s.ready); err != nil || s.client == nil || s.gating {
		return err
	}
	s.gating = true
	if s.identity != nil {
		return CreateWebhook(ctx, s.client, "https://"+s.webhook, s.identity.certificate)
	}
	return CreateGatePolicy(ctx, s.client, s.binary, s.config)
}

func (o Options) writeConfig(path string, identity *identity, webhook string) error {
	profile := func(name string, selection Selection, offload bool) map[string]any {
		return map[string]any{"schedulerName": name, "nodeSelection": cmp.Or(selection, Scheduler), "offload": offload}
	}
	first := profile(corev1.DefaultSchedulerName, o.Selection, o.Offload)
	maps.Copy(first, o.Profile)
	profiles := []any{first}
	for _, name := range slices.Sorted(maps.Keys(o.Beside)) {
		profiles = append(profiles, profile(name, o.Beside[name], false))
	}
	fields := map[string]any{
		"apiVersion": "config.muster.dev/v1alpha2",
		"kind":       "MusterConfiguration",
		"profiles":   profiles,
	}
	if o.MinBacklog > 0 { // whatever it saves: with few nodes that is little
		fields["nomination"] = map[string]any{"minBacklog": o.MinBacklog, "minSaving": "0s"}
	}
	if identity != nil {
		fields["serving"] = map[string]any{
			"webhookListen": webhook,
			"tls":           map[string]any{"certFile": identity.certFile, "keyFile": identity.keyFile},
		}
	}
	if o.Gates != "" {
		fields["gangs"] = map[string]any{"gates": o.Gates, "gatedBy": cmp.Or(o.GatedBy, Policy)}
	}
	maps.Copy(fields, o.Config)
	if o.Load != nil {
		fields["load"] = o.Load
	}
	config, err := yaml.Marshal(fields)
	if err != nil {
		return fmt.Errorf("encode muster's config: %w", err)
	}
	next := path + ".next" // a process may read the file at any time
	err = os.WriteFile(next, config, 0o644)
	if err == nil {
		err = os.Rename(next, path)
	}
	if err != nil {
		return fmt.Errorf("write muster's config: %w", err)
	}
	return nil
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

// Transport is what to call its verbs through: it knows its certificate.
func (s *Server) Transport() http.RoundTripper {
	if s.identity != nil {
		return s.identity.client.Transport
	}
	return http.DefaultTransport
}

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
}

// letGo has members gated no more. An error means that the control plane is gone as well.
func (s *Server) letGo() {
	ctx, cancel := context.WithTimeout(context.Background(), stopGrace)
	defer cancel()
	if s.identity != nil {
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
		flags = append(flags, "--ca-file="+s.identity.certFile)
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

// Page is what a page of muster's says.
func (s *Server) Page(ctx context.Context, path string) (string, error) {
	return page(ctx, s.DebugURL()+path)
}

// get returns the body of a path that answers 200.
func (s *Server) get(ctx context.Context, path string) (io.ReadCloser, error) {
	return get(ctx, s.DebugURL()+path)
}
