package install

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/version"
	"sigs.k8s.io/yaml"

	"muster.dev/muster/api/config"
	"muster.dev/muster/api/config/document"
	"muster.dev/muster/charts/helm"
	"muster.dev/muster/server/admission"
)

// Way says where muster runs.
type Way string

const (
	// Kubeadm has muster in a static pod beside the kube-scheduler of each control-plane node that kubeadm set up.
	Kubeadm Way = "kubeadm"
	// K3s has muster in a static pod beside each k3s server.
	K3s Way = "k3s"
	// Managed has muster in a Deployment, with a kube-scheduler of its own.
	Managed Way = "managed"
)

// Options say what is installed.
type Options struct {
	Way Way
	// Image is muster's, as in registry.example.com/muster:v0.1.0.
	Image string
	// Config is a document of muster's configuration; empty is [DefaultConfig].
	Config []byte
	// KubernetesVersion is the API server's, as in v1.36.0.
	KubernetesVersion string
}

// Installation is all that there is of one.
type Installation struct {
	way     Way
	objects []object
	files   []file
}

// schedulerUser is who kube-scheduler is for the API server, and a muster that uses its kubeconfig.
const schedulerUser = "system:kube-scheduler"

// schedulerLease is of the cluster's own kube-schedulers.
const schedulerLease = metav1.NamespaceSystem + "/kube-scheduler"

// releaseOf names the chart's objects. What kube-scheduler's user gets has another name, so that the chart can be installed beside it.
func releaseOf(way Way) string {
	if way == Managed {
		return "muster"
	}
	return admission.HostPolicyName
}

// DefaultConfig is the configuration that a way begins with.
func DefaultConfig(way Way) []byte {
	text := `# 'muster config default' prints every field, with its default.
apiVersion: config.muster.dev/v1alpha2
kind: MusterConfiguration
`
	if way != Managed {
		text += `# Of several control-plane nodes, the muster beside the kube-scheduler that leads leads.
leaderElection:
  leaderElect: true
  schedulerLease: ` + schedulerLease + "\n"
	}
	return []byte(text)
}

// New returns the installation for options. An error names the flag of 'muster install', or the field of the configuration, that does
// not suit.
func New(o Options) (*Installation, error) {
	image, err := readImage(o.Image)
	if err != nil {
		return nil, err
	}
	if _, err := version.ParseSemantic(o.KubernetesVersion); err != nil {
		return nil, fmt.Errorf("--kubernetes-version: %q is no version, as in v1.36.0", o.KubernetesVersion)
	}
	if len(o.Config) == 0 {
		o.Config = DefaultConfig(o.Way)
	}
	cfg, _, err := document.Decode(o.Config)
	if err != nil {
		return nil, err // which names fields
	}
	if err := o.check(cfg); err != nil {
		return nil, err
	}
	values := map[string]any{"image": image.values()}
	if values["config"], err = o.chartConfig(cfg); err != nil {
		return nil, err
	}
	if o.Way != Managed {
		values["scheduler"] = map[string]any{"mode": "external"}
		values["rbac"] = map[string]any{"user": schedulerUser, "schedulerLease": cmp.Or(cfg.LeaderElection.SchedulerLease, schedulerLease)}
	}
	installation := &Installation{way: o.Way}
	installation.objects, err = objectsOf(o.Way, helm.Release{
		Name: releaseOf(o.Way), Namespace: metav1.NamespaceSystem, KubernetesVersion: o.KubernetesVersion, Values: values,
	})
	if err != nil || o.Way == Managed {
		return installation, err
	}
	installation.files, err = filesOf(nodeOf(o.Way), o.Image, o.Config, cfg)
	return installation, err
}

// gatesSince is the Kubernetes whose API server gates pods without asking anybody.
const gatesSince = "1.36.0-0"

// check says what of a configuration the way cannot do.
func (o *Options) check(cfg *config.Configuration) error {
	gated, _ := admission.Gated(cfg)
	served := version.MustParseSemantic(o.KubernetesVersion)
	if len(gated)+len(admission.SetsByKind(cfg)) > 0 && served.LessThan(version.MustParseSemantic(gatesSince)) {
		return fmt.Errorf("--config: profiles: gates and defaultFor need Kubernetes 1.36 here, and this is %s: before, a webhook does that, "+
			"which the chart sets up", o.KubernetesVersion)
	}
	if o.Way == Managed {
		return nil
	}
	if cfg.Serving.TLS.Enabled() {
		return errors.New("--config: serving.tls: must be left out: muster and kube-scheduler talk to each other on loopback")
	}
	return nil
}

// chartConfig is the configuration as a value of the chart, which sets some of its fields itself.
func (o *Options) chartConfig(cfg *config.Configuration) (map[string]any, error) {
	newest, _, err := document.Convert(o.Config)
	if err != nil {
		return nil, fmt.Errorf("--config: %w", err)
	}
	fields := map[string]any{}
	if err := yaml.Unmarshal(newest, &fields); err != nil {
		return nil, fmt.Errorf("--config: %w", err)
	}
	delete(fields, "apiVersion")
	delete(fields, "kind")
	for _, field := range []string{"serving", "leaderElection", "logging"} {
		if _, given := fields[field]; given && o.Way == Managed {
			return nil, fmt.Errorf("--config: %s: must be left out: --managed sets it, and the chart has values for more", field)
		}
		delete(fields, field)
	}
	if _, given := fields["profiles"]; !given && o.Way != Managed {
		fields["profiles"] = []any{map[string]any{"schedulerName": corev1.DefaultSchedulerName}}
	}
	if o.Way == Managed && fields["profiles"] != nil {
		for i := range cfg.Profiles {
			if cfg.Profiles[i].SchedulerName == corev1.DefaultSchedulerName {
				return nil, errors.New("--config: profiles: with --managed two kube-schedulers would schedule the pods of default-scheduler: " +
					"name another one, as in schedulerName: muster")
			}
		}
	}
	return fields, nil
}

// image is where an image is, in the chart's words.
type image struct{ repository, tag, digest string }

// imageForm is of a repository, which may have a registry with a port, with a tag or a digest or both.
const imageForm = `^([a-zA-Z0-9.-]+(?::[0-9]+)?(?:/[a-z0-9._-]+)*)(?::([A-Za-z0-9_][A-Za-z0-9_.-]{0,127}))?(?:@(sha256:[0-9a-f]{64}))?$`

func readImage(name string) (image, error) {
	const example = "as in registry.example.com/muster:v0.1.0"
	if name == "" {
		return image{}, errors.New("--image is required: where muster's image is, " + example)
	}
	parts := regexp.MustCompile(imageForm).FindStringSubmatch(name)
	switch {
	case parts == nil:
		return image{}, fmt.Errorf("--image: %q is no image, %s", name, example)
	case parts[2] == "" && parts[3] == "":
		return image{}, fmt.Errorf("--image: %q has neither a tag nor a digest, %s", name, example)
	}
	return image{parts[1], parts[2], parts[3]}, nil
}

func (i image) values() map[string]any {
	values := map[string]any{"repository": i.repository, "digest": i.digest}
	if i.tag != "" {
		values["tag"] = i.tag
	}
	return values
}

// commented has each line of a text as a comment.
func commented(text string) string {
	return "# " + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n# ") + "\n"
}
