package app

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"k8s.io/utils/clock"

	"muster.dev/muster/api/config"
	"muster.dev/muster/api/config/document"
	"muster.dev/muster/cluster"
	"muster.dev/muster/inspect"
	"muster.dev/muster/loadaware"
	"muster.dev/muster/server/body"
	"muster.dev/muster/server/extender"
	"muster.dev/muster/server/servertest"
)

const header = "apiVersion: config.muster.dev/v1alpha2\nkind: MusterConfiguration\n"

// reloading is a bench that reads its configuration from a file.
type reloading struct {
	*servertest.Bench
	path     string
	log      *servertest.Log
	profiles *Profiles
	reloader *Reloader
	registry *prometheus.Registry
}

func newReloading(t *testing.T, content string) *reloading {
	t.Helper()
	r := &reloading{path: filepath.Join(t.TempDir(), "muster.yaml"), log: &servertest.Log{}}
	r.Bench = &servertest.Bench{TB: t}
	r.write(content)
	file := ConfigFile{Path: r.path, Decode: func(content []byte) (*config.Configuration, []string, error) {
		return document.DecodeFrom("muster.yaml", content)
	}}
	inForce, _, err := document.Load(r.path)
	if err != nil {
		t.Fatal(err)
	}
	log, registry := slog.New(slog.NewTextHandler(r.log, nil)), prometheus.NewRegistry()
	r.registry = registry
	r.Cluster = cluster.New(cluster.Options{Logger: log, Registerer: registry, AssumeTTL: time.Hour})
	r.profiles, err = NewProfiles(ProfileOptions{
		Registerer: registry, Cluster: r.Cluster, Config: inForce, Load: loadaware.Options{Logger: log, Metrics: loadaware.NewMetrics(registry)},
	})
	if err != nil {
		t.Fatal(err)
	}
	r.reloader = NewReloader(ReloadOptions{
		Logger: log, Clock: clock.RealClock{}, Registerer: registry, File: file, Config: inForce, Profiles: r.profiles,
		Unused: []string{"rescheduler"},
	})
	verbs := extender.New(extender.Options{
		Logger: log, Registerer: registry, Cluster: r.Cluster, Profiles: r.profiles.InForce(), BindTime: time.Minute,
		Bodies: body.NewReaders(registry, body.Limits{Body: 1 << 20, InFlight: 1 << 30, Timeout: time.Minute}),
		Ready:  func() error { return nil },
		Pick:   func(int) int { return 1 },
	})
	web := httptest.NewServer(inspect.Router(verbs.Endpoints()...))
	t.Cleanup(web.Close)
	r.URL = web.URL
	return r
}

func (r *reloading) write(content string) {
	r.Helper()
	if err := os.WriteFile(r.path, []byte(content), 0o600); err != nil {
		r.Fatal(err)
	}
}

// inForce are the profiles that are asked.
func (r *reloading) inForce() (names []string) {
	for _, store := range r.profiles.InForce().Stores() {
		names = append(names, store.Profile.Name)
	}
	return names
}

func TestAChangedFileIsPutInForceOrRefused(t *testing.T) {
	const before = header + "profiles: [{schedulerName: a}, {schedulerName: b}]\n"
	tests := []struct {
		name, content    string
		profiles         []string
		applied, refused float64
		errors           []string
	}{
		{name: "one that has not changed", content: before, profiles: []string{"a", "b"}},
		{name: "only comments changed", content: "# new\n" + before, profiles: []string{"a", "b"}},
		{
			name:     "other profiles",
			content:  header + "profiles: [{schedulerName: a}, {schedulerName: c}]\n",
			profiles: []string{"a", "c"},
			applied:  1,
		},
		{
			name:     "other profiles, in the version before",
			content:  "apiVersion: config.muster.dev/v1alpha1\nkind: MusterConfiguration\nschedulerName: old\n",
			profiles: []string{"old"},
			applied:  1,
		},
		{name: "one that changes what another process uses", content: before + "rescheduler: {mode: Auto}\n", profiles: []string{"a", "b"}},
		{
			name:     "one that changes what another process uses, and profiles",
			content:  header + "profiles: [{schedulerName: c}]\nrescheduler: {mode: Auto}\n",
			profiles: []string{"c"},
			applied:  1,
		},
		{
			name: "one in which is not valid what another process uses", content: before + "rescheduler: {mode: Sometimes}\n",
			profiles: []string{"a", "b"}, refused: 1,
			errors: []string{
				`muster.yaml: rescheduler.mode: Unsupported value: "Sometimes": supported values: "DryRun", "Approve", "Auto"`,
			},
		},
		{
			name:     "one that is not valid",
			content:  header + "profiles: [{schedulerName: c}, {schedulerName: c}]\n",
			profiles: []string{"a", "b"},
			refused:  1,
			errors:   []string{`muster.yaml: profiles[1].schedulerName: Duplicate value: "c"`},
		},
		{
			name: "one that is no configuration", content: "{", profiles: []string{"a", "b"}, refused: 1,
			errors: []string{"muster.yaml: yaml: line 1: did not find expected node content"},
		},
		{
			name:     "one that changes what needs a restart, besides profiles",
			content:  header + "serving: {listen: ':9999'}\nleaderElection: {leaderElect: true}\nprofiles: [{schedulerName: c}]\n",
			profiles: []string{"a", "b"}, refused: 1,
			errors: []string{
				`PATH: leaderElection.leaderElect: muster must be restarted to change it from false to true`,
				`PATH: serving.listen: muster must be restarted to change it from "127.0.0.1:8888" to ":9999"`,
			},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := newReloading(t, before)
			a := r.profiles.InForce().Of("a")
			for range 2 {
				r.reloader.look() // at what is in force
			}
			r.write(test.content)
			for range 2 { // the second time there is nothing new
				r.reloader.look()
			}
			if diff := cmp.Diff(test.profiles, r.inForce()); diff != "" {
				t.Errorf("profiles in force (-want +got):\n%s", diff)
			}
			if now := r.profiles.InForce().Of("a"); now != nil && now != a {
				t.Error("what is remembered of a profile that has not changed is lost")
			}
			if got := testutil.ToFloat64(r.reloader.metrics.reloads.WithLabelValues(reloadApplied)); got != test.applied {
				t.Errorf("counted %v changes that were applied, want %v", got, test.applied)
			}
			if got := testutil.ToFloat64(r.reloader.metrics.reloads.WithLabelValues(reloadRefused)); got != test.refused {
				t.Errorf("counted %v changes that were refused, want %v", got, test.refused)
			}
			page, err := json.Marshal(r.reloader.Show())
			if err != nil {
				t.Fatal(err)
			}
			var shown struct {
				Config  config.Configuration
				Refused *Refusal
			}
			if err := json.Unmarshal(page, &shown); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.profiles, names(shown.Config.Profiles)); diff != "" {
				t.Errorf("profiles shown to be in force (-want +got):\n%s", diff)
			}
			if (shown.Refused != nil) != (test.errors != nil) {
				t.Fatalf("shown as refused: %+v, want errors %v", shown.Refused, test.errors)
			}
			if shown.Refused == nil {
				return
			}
			var errs []string
			for _, e := range shown.Refused.Errors {
				errs = append(errs, strings.ReplaceAll(e, r.path, "PATH"))
			}
			if diff := cmp.Diff(test.errors, errs); diff != "" {
				t.Errorf("errors (-want +got):\n%s", diff)
			}
			if shown.Refused.Document != test.content {
				t.Errorf("the refused document is shown as %q", shown.Refused.Document)
			}
			r.write(before)
			r.reloader.look()
			if r.reloader.Show().Refused != nil {
				t.Error("a file that is again what is in force is still shown as refused")
			}
		})
	}
}

func TestAFileThatIsGoneIsRefusedOnceAndRead(t *testing.T) {
	r := newReloading(t, header)
	r.reloader.look()
	if err := os.Remove(r.path); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		r.reloader.look()
	}
	if got := testutil.ToFloat64(r.reloader.metrics.reloads.WithLabelValues(reloadRefused)); got != 1 {
		t.Errorf("counted %v refusals, want 1", got)
	}
	r.write(header + "profiles: [{schedulerName: back}]\n")
	r.reloader.look()
	if diff := cmp.Diff([]string{"back"}, r.inForce()); diff != "" {
		t.Errorf("profiles in force (-want +got):\n%s", diff)
	}
}

func TestPodsAreHandledByTheProfilesInForce(t *testing.T) {
	r := newReloading(t, header+"profiles: [{schedulerName: old}]\n")
	r.Node("a", "4")
	ask := func(schedulerName string) string {
		pod := servertest.Pod("p", "1")
		pod.Spec.SchedulerName = schedulerName
		_, err := r.profiles.InForce().Named(pod.Spec.SchedulerName)
		if err != nil {
			return err.Error()
		}
		return ""
	}
	view := r.profiles.InForce().Of("old").View(cluster.NewPod(servertest.Pod("in-flight", "1")))
	r.write(header + "profiles: [{schedulerName: new}]\n")
	r.reloader.look()
	if got := view.Verdict(0); got != 0 {
		t.Errorf("a call in flight ends with verdict %v", got)
	}
	view.Close()
	if got := ask("old"); !strings.Contains(got, "the profiles are: new") {
		t.Errorf("about a pod of the profile that is gone it is said %q", got)
	}
	if got := ask("new"); got != "" {
		t.Errorf("about a pod of the new profile it is said %q", got)
	}
	count, err := testutil.GatherAndCount(r.registry, "muster_equivalence_classes")
	if err != nil || count != 0 {
		t.Errorf("%d profiles are said to remember classes (%v), want none: the old one is gone, the new one was not asked", count, err)
	}
}

func TestAMountedConfigMapIsFollowed(t *testing.T) {
	r := newReloading(t, header+"profiles: [{schedulerName: first}]\n")
	directory := filepath.Dir(r.path)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	version := func(name, content string) {
		must(os.Mkdir(filepath.Join(directory, name), 0o700))
		must(os.WriteFile(filepath.Join(directory, name, "muster.yaml"), []byte(content), 0o600))
		must(os.Symlink(name, filepath.Join(directory, "..data_tmp")))
		must(os.Rename(filepath.Join(directory, "..data_tmp"), filepath.Join(directory, "..data")))
	}
	// As the kubelet does: the file is a link through ..data, which is moved to a new directory.
	must(os.Remove(r.path))
	version("..1", header+"profiles: [{schedulerName: first}]\n")
	must(os.Symlink(filepath.Join("..data", "muster.yaml"), r.path))
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { r.reloader.Run(ctx) })
		<-time.After(3 * lookEvery)
		synctest.Wait()
		version("..2", header+"profiles: [{schedulerName: second}]\n")
		<-time.After(3 * lookEvery)
		synctest.Wait()
		if diff := cmp.Diff([]string{"second"}, r.inForce()); diff != "" {
			t.Errorf("profiles in force (-want +got):\n%s", diff)
		}
		stop()
		running.Wait()
	})
}
