package preflight

import (
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"muster.dev/muster/api/config"
	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/server/admission"
)

// printed are the objects that 'muster scheduler-policy' prints.
func printed(t *testing.T, cfg *config.Configuration, managed bool) (objects []runtime.Object) {
	t.Helper()
	all, err := policies(admission.SchedulerPolicy(cfg, managed))
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range all {
		objects = append(objects, one.MutatingAdmissionPolicy)
		for _, binding := range one.bindings {
			objects = append(objects, binding)
		}
	}
	return objects
}

func TestWhatAProfileAsksOfAdmissionIsLookedFor(t *testing.T) {
	byKind := func(c *config.Configuration) {
		c.Profiles[0].SchedulerName, c.Profiles[0].DefaultFor = "batch", []config.GangKind{config.GangKindJobSet}
	}
	other := func(c *config.Configuration) {
		byKind(c)
		c.Profiles[0].DefaultFor = []config.GangKind{config.GangKindVolcano}
	}
	named := func(c *config.Configuration) { c.Profiles[0].SchedulerName = "batch" }
	byWebhook := func(c *config.Configuration) { byKind(c); c.Serving.WebhookListen = ":8886" }
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "team", Labels: map[string]string{v1alpha1.LabelScheduler: "batch"}}}
	asks := func(path string) *admissionregistrationv1.MutatingWebhookConfiguration {
		return &admissionregistrationv1.MutatingWebhookConfiguration{
			ObjectMeta: metav1.ObjectMeta{Name: "muster"},
			Webhooks: []admissionregistrationv1.MutatingWebhook{{
				Name: "a", ClientConfig: admissionregistrationv1.WebhookClientConfig{URL: new("https://muster" + path), CABundle: []byte("a")},
			}},
		}
	}
	for name, test := range map[string]struct {
		change  func(*config.Configuration)
		printed func(*config.Configuration) // whose policies are there, nil where none are
		managed bool
		objects []runtime.Object
		old     bool // the cluster serves no policies
		says    []string
		silent  bool
	}{
		"nobody asks":            {change: named, silent: true},
		"only default-scheduler": {change: func(*config.Configuration) {}, silent: true},
		"a profile asks, and nobody does it": {
			change: byKind, says: []string{"MISSING no policy that sets schedulers by kind", "they are default-scheduler's: install the chart"},
		},
		"it is done": {change: byKind, printed: byKind, says: []string{
			"OK no policy that sets schedulers by namespace muster-scheduler is current", "OK no policy that sets schedulers by kind",
		}},
		"it is done, and pods are managed": {
			change: byKind, printed: byKind, managed: true,
			says: []string{"OK no policy that sets schedulers by kind muster-scheduler-kinds is current"},
		},
		"it is done for other kinds": {
			change: byKind, printed: other, says: []string{"MISSING yes policy that sets schedulers by kind muster-scheduler-kinds differs"},
		},
		"a namespace asks, and nobody does it": {
			change: named, objects: []runtime.Object{namespace}, says: []string{"MISSING no policy that sets schedulers by namespace"},
		},
		"an old cluster": {
			change: byWebhook, old: true, objects: []runtime.Object{asks("/webhook/scheduler/batch")},
			says: []string{"OK no webhook that sets schedulers"},
		},
		"an old cluster that does not ask": {
			change: byWebhook, old: true, objects: []runtime.Object{asks("/webhook/gates")},
			says: []string{"MISSING yes webhook that sets schedulers muster does not ask at /webhook/scheduler/batch"},
		},
		"an old cluster without a webhook": {change: byKind, old: true, says: []string{"MISSING no policy that sets schedulers by kind"}},
	} {
		t.Run(name, func(t *testing.T) {
			objects := test.objects
			if test.printed != nil {
				cfg := config.Default()
				cfg.Profiles[0].NodeSelection, cfg.Profiles[0].Gates = config.NodeSelectionMuster, config.GatesUntilPlace
				test.printed(cfg)
				objects = append(objects, printed(t, cfg, test.managed)...)
			}
			_, text := run(t, options("v1.36.3", !test.old, nil, test.change, objects...))
			said := strings.Join(strings.Fields(text), " ")
			for _, says := range test.says {
				if !strings.Contains(said, says) {
					t.Errorf("it does not say %q:\n%s", says, text)
				}
			}
			if test.silent && strings.Contains(said, "sets schedulers") {
				t.Errorf("it speaks of schedulers:\n%s", text)
			}
		})
	}
}
