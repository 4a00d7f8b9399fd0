package certs

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	clocktesting "k8s.io/utils/clock/testing"

	"muster.dev/muster/api/config"
)

// installed are a Service and an empty Secret, as the chart makes them.
func installed() []runtime.Object {
	meta := func(name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: "kube-system", Name: name, ResourceVersion: "1"}
	}
	return []runtime.Object{
		&corev1.Secret{ObjectMeta: meta("muster-tls")},
		&corev1.Service{ObjectMeta: meta("muster"), Spec: corev1.ServiceSpec{ClusterIPs: []string{"10.0.0.88", "fd00::88"}}},
		&admissionregistrationv1.MutatingWebhookConfiguration{
			ObjectMeta: metav1.ObjectMeta{Name: "muster", ResourceVersion: "1"},
			Webhooks: []admissionregistrationv1.MutatingWebhook{
				{
					Name: "ours.muster.dev",
					ClientConfig: admissionregistrationv1.WebhookClientConfig{
						Service: &admissionregistrationv1.ServiceReference{Namespace: "kube-system", Name: "muster"},
					},
				},
				{Name: "another.example.com", ClientConfig: admissionregistrationv1.WebhookClientConfig{CABundle: []byte("another")}},
			},
		},
	}
}

// api is an API server's store, which keeps to resource versions.
type api struct{ clienttesting.ObjectTracker }

func newAPI(objects ...runtime.Object) api { return api{fake.NewClientset(objects...).Tracker()} }

// client is one of its own for each replica.
func (a api) client() *fake.Clientset {
	client := fake.NewClientset()
	client.PrependReactor("*", "*", clienttesting.ObjectReaction(a.ObjectTracker))
	client.PrependReactor("update", "*", func(action clienttesting.Action) (bool, runtime.Object, error) {
		written := action.(clienttesting.UpdateAction).GetObject().(metav1.Object)
		stored, err := a.Get(action.GetResource(), action.GetNamespace(), written.GetName())
		if err != nil {
			return true, nil, err
		}
		version := stored.(metav1.Object).GetResourceVersion()
		if written.GetResourceVersion() != version {
			return true, nil, apierrors.NewConflict(action.GetResource().GroupResource(), written.GetName(), errors.New("it has changed"))
		}
		number, err := strconv.Atoi(version)
		written.SetResourceVersion(strconv.Itoa(number + 1))
		return false, nil, err
	})
	return client
}

// replica is a Keeper with a client and a clock of its own.
type replica struct {
	*testing.T
	*Keeper
	client *fake.Clientset
	clock  *clocktesting.FakeClock
	log    bytes.Buffer
}

func newReplica(t *testing.T, a api, change func(*Options)) *replica {
	t.Helper()
	r := &replica{T: t, client: a.client(), clock: clocktesting.NewFakeClock(start)}
	o := Options{
		Logger: slog.New(slog.NewTextHandler(&r.log, nil)), Clock: r.clock, Client: r.client, Namespace: "kube-system",
		Service: "muster", Config: config.SelfManaged{SecretName: "muster-tls"},
	}
	if change != nil {
		change(&o)
	}
	r.Keeper = New(o)
	return r
}

func (r *replica) mustLook() {
	r.Helper()
	if err := r.look(r.Context()); err != nil {
		r.Fatal(err)
	}
}

// updates is how often it has written.
func (r *replica) updates() (n int) {
	for _, action := range r.client.Actions() {
		if action.GetVerb() == "update" {
			n++
		}
	}
	return n
}

// serves is the certificate of a replica.
func (r *replica) serves() []byte {
	r.Helper()
	certificate, err := r.Certificate(nil)
	if err != nil {
		r.Fatal(err)
	}
	return certificate.Leaf.Raw
}

func TestOfTwoReplicasThatFillASecretTheSlowerOneTakesWhatTheFasterHasWritten(t *testing.T) {
	a := newAPI(installed()...)
	faster, slower := newReplica(t, a, nil), newReplica(t, a, nil)
	raced := false
	slower.client.PrependReactor("update", "secrets", func(clienttesting.Action) (bool, runtime.Object, error) {
		if !raced {
			raced = true
			faster.mustLook()
		}
		return false, nil, nil
	})
	slower.mustLook()
	if got := slower.updates(); got != 1 {
		t.Errorf("the slower one has written %d times, want once, in vain", got)
	}
	if !bytes.Equal(faster.serves(), slower.serves()) {
		t.Error("they serve different certificates")
	}
}

func TestAReplicaTakesWhatAnotherOneHasRenewed(t *testing.T) {
	a := newAPI(installed()...)
	first, second := newReplica(t, a, nil), newReplica(t, a, nil)
	first.mustLook()
	second.mustLook()
	old := second.serves()
	first.clock.Step(61 * day)
	second.clock.Step(61 * day)
	first.mustLook()
	second.mustLook()
	if bytes.Equal(old, second.serves()) || !bytes.Equal(first.serves(), second.serves()) {
		t.Error("the second one does not serve what the first one has made")
	}
	if got := second.updates(); got != 0 {
		t.Errorf("the second one has written %d times", got)
	}
}

func TestTheCertificateIsForTheServiceAndForThePod(t *testing.T) {
	r := newReplica(t, newAPI(installed()...), nil)
	r.mustLook()
	leaf := r.current.Load().certificate.Leaf
	for _, name := range []string{
		"muster.kube-system.svc", "muster.kube-system.svc.cluster.local", "10.0.0.88", "fd00::88", "127.0.0.1", "::1", "localhost",
	} {
		if err := leaf.VerifyHostname(name); err != nil {
			t.Error(err)
		}
	}
	if err := leaf.VerifyHostname("kubernetes.default.svc"); err == nil {
		t.Error("it is for another Service as well")
	}
}

func TestItLooksAtTheSecretAgainAndAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAPI(installed()...)
		r := newReplica(t, a, nil)
		r.client.PrependReactor("get", "secrets", func(clienttesting.Action) (bool, runtime.Object, error) {
			if r.clock.Now().Equal(start) {
				return true, nil, errors.New("the API server is away")
			}
			return false, nil, nil
		})
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { defer close(ended); r.Keeper.Run(ctx) }()
		synctest.Wait()
		if err := r.Ready(); !errors.Is(err, errNoCertificate) {
			t.Errorf("ready with %v before there is a certificate", err)
		}
		if text := r.log.String(); !strings.Contains(text, "certificate not kept") || !strings.Contains(text, "the API server is away") {
			t.Errorf("the failure is logged as %q", text)
		}
		r.clock.Step(Interval)
		synctest.Wait()
		if err := r.Ready(); err != nil {
			t.Error(err)
		}
		first := r.serves()
		r.clock.Step(61 * day)
		synctest.Wait()
		if bytes.Equal(first, r.serves()) {
			t.Error("the certificate is not renewed")
		}
		stop()
		<-ended
	})
}

func TestAuthoritiesAreWrittenForKubeSchedulerAndTheWebhook(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ca.crt")
	a := newAPI(installed()...)
	r := newReplica(t, a, func(o *Options) { o.Config.CAFile, o.Webhook = path, true })
	for _, when := range []time.Duration{0, 3650*day - 300*day} { // the second time there are two
		r.clock.SetTime(start.Add(when))
		r.mustLook()
		secret, err := r.client.CoreV1().Secrets("kube-system").Get(t.Context(), "muster-tls", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		want := string(secret.Data[caCertKey])
		if got, err := os.ReadFile(path); err != nil || string(got) != want {
			t.Errorf("after %v the file holds %q (error %v), want %q", when, got, err, want)
		}
		configuration, err := r.client.AdmissionregistrationV1().MutatingWebhookConfigurations().Get(t.Context(), "muster", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		got := []string{string(configuration.Webhooks[0].ClientConfig.CABundle), string(configuration.Webhooks[1].ClientConfig.CABundle)}
		if diff := cmp.Diff([]string{want, "another"}, got); diff != "" {
			t.Errorf("after %v caBundles (-want +got):\n%s", when, diff)
		}
		written := r.updates()
		r.mustLook()
		if got := r.updates(); got != written {
			t.Errorf("after %v %d objects are written that were up to date", when, got-written)
		}
		entries, err := os.ReadDir(filepath.Dir(path))
		if err != nil || len(entries) != 1 {
			t.Errorf("after %v the directory has %v, error %v", when, entries, err)
		}
	}
}

func TestWhatIsMissingIsNamed(t *testing.T) {
	for name, test := range map[string]struct {
		without int // of what is installed
		config  func(*Options)
		want    string
	}{
		"no Secret": {0, nil, `secrets "muster-tls" not found`},
		"no Secret of kube-scheduler": {
			3, func(o *Options) { o.Config.ClientSecretName = "muster-kube-scheduler-tls" },
			`secrets "muster-kube-scheduler-tls" not found`,
		},
		"no Service": {1, nil, `services "muster" not found`},
		"no webhook": {
			2, func(o *Options) { o.Webhook = true },
			`mutatingwebhookconfigurations.admissionregistration.k8s.io "muster" not found`,
		},
		"no such place": {
			2, func(o *Options) { o.Config.CAFile = "/nowhere/ca.crt" }, "serving.tls.selfManaged.caFile: open /nowhere/.ca-",
		},
	} {
		t.Run(name, func(t *testing.T) {
			objects := installedForClients()
			r := newReplica(t, newAPI(append(objects[:test.without:test.without], objects[test.without+1:]...)...), test.config)
			if err := r.look(t.Context()); err == nil || !strings.HasPrefix(err.Error(), test.want) {
				t.Errorf("error %v, want %s", err, test.want)
			}
		})
	}
}
