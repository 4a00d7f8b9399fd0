package controlplane

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"muster.dev/muster/e2e/await"
	"muster.dev/muster/e2e/binaries"
	"muster.dev/muster/e2e/process"
)

// Operator is a controller of others that is built of its module: the one of JobSets, of LeaderWorkerSets, or Kueue.
type Operator struct {
	program binaries.Binary
	config  string // the apiVersion of its configuration
	// Where its module has its CRDs and its webhooks, and the resources that these are asked about.
	crds, webhooks string
	resources      []string
	// pods is the label of pods that its webhooks are asked about, too; "" for none.
	pods string
	// converts are definitions whose objects it converts between versions.
	converts []string
	// secret is the one in kube-system where it looks for its certificate, which has these names; "" where a directory is enough.
	secret string
	names  []string
	// settings are more of its configuration.
	settings string
}

// ownCertificate has an operator leave its certificate as it is.
const ownCertificate = "internalCertManagement: {enable: false}\n"

// JobSet, LeaderWorkerSet and Kueue are the operators that there are.
var (
	JobSet = Operator{
		program: binaries.JobSet, config: "config.jobset.x-k8s.io/v1alpha1",
		crds: "config/components/crd/bases/*.yaml", webhooks: "config/components/webhook/manifests.yaml", resources: []string{"jobsets"},
		settings: ownCertificate,
	}
	LeaderWorkerSet = Operator{
		program: binaries.LeaderWorkerSet, config: "config.lws.x-k8s.io/v1alpha1",
		crds: "config/crd/bases/*.yaml", webhooks: "config/webhook/manifests.yaml", resources: []string{"leaderworkersets"},
		pods: "leaderworkerset.sigs.k8s.io/name", settings: ownCertificate,
	}
	// Kueue has the queues of Jobs, and gives up what is not ready in time.
	Kueue = Operator{
		program: binaries.Kueue, config: "config.kueue.x-k8s.io/v1beta2",
		crds: "config/components/crd/bases/*.yaml", webhooks: "config/components/webhook/manifests.yaml",
		resources: []string{"jobs", "workloads", "clusterqueues", "cohorts", "resourceflavors"},
		converts:  []string{"localqueues", "clusterqueues", "workloads", "cohorts", "multikueueclusters"},
		// It wants to manage its certificate, as another way leads to a directory of the machine. What is valid it leaves as it is.
		secret: "kueue-certs", names: []string{"kueue-ca", "kueue-webhook-service.kube-system.svc"},
		settings: `namespace: kube-system
internalCertManagement: {enable: true, webhookServiceName: kueue-webhook-service, webhookSecretName: kueue-certs}
featureGates: {VisibilityOnDemand: false}
integrations: {frameworks: [batch/job]}
waitForPodsReady: {timeout: 2m, recoveryTimeout: 2m}
`,
	}
)

// StartOperator defines the custom resource of an operator, has its webhooks asked about that, and starts it.
func (cp *ControlPlane) StartOperator(ctx context.Context, o Operator) error {
	path, err := binaries.EnsureExtra(ctx, o.program, cp.options.Progress)
	if err != nil {
		return err
	}
	cp.extras[o.program] = path
	source, err := binaries.Source(ctx, o.program)
	if err != nil {
		return err
	}
	objects, err := o.objects(source)
	if err != nil {
		return err
	}
	health, err := process.FreePort()
	if err != nil {
		return err
	}
	hooks, err := process.FreePort()
	if err != nil {
		return err
	}
	certificate, err := cp.certify(string(o.program), o.names...)
	if err != nil {
		return err
	}
	config := fmt.Appendf(nil, `apiVersion: %s
kind: Configuration
health: {healthProbeBindAddress: "%s"}
metrics: {bindAddress: "0"}
leaderElection: {leaderElect: false}
webhook: {host: 127.0.0.1, port: %d, certDir: %q}
%s`, o.config, local(health), hooks, cp.file(string(o.program)), o.settings)
	if err := cp.write(string(o.program)+".yaml", config); err != nil {
		return err
	}
	client, err := dynamic.NewForConfig(cp.RESTConfig())
	if err != nil {
		return err
	}
	for _, object := range objects {
		o.direct(object, hooks, certificate.cert)
		o.convert(object, hooks, certificate.cert)
		if err := create(ctx, client, object); err != nil {
			return err
		}
	}
	if err := established(ctx, client, objects); err != nil {
		return err
	}
	if o.secret != "" {
		if err := cp.storeCertificate(ctx, o.secret, certificate); err != nil {
			return err
		}
	}
	args := []string{"--kubeconfig=" + cp.Kubeconfig(), "--config=" + cp.file(string(o.program)+".yaml")}
	probe := answers(selfSigned, "http://"+local(health)+"/readyz")
	return cp.start(ctx, o.program, args, nil, probe)
}

// established returns when all definitions among some objects are served: an operator may end where one is not.
func established(ctx context.Context, client dynamic.Interface, objects []*unstructured.Unstructured) error {
	for _, object := range objects {
		if object.GetKind() != "CustomResourceDefinition" {
			continue
		}
		resource := object.GroupVersionKind().GroupVersion().WithResource("customresourcedefinitions")
		err := await.Until(ctx, object.GetName()+" is established", func(ctx context.Context) error {
			now, err := client.Resource(resource).Get(ctx, object.GetName(), metav1.GetOptions{})
			if err != nil {
				return err
			}
			conditions, _, _ := unstructured.NestedSlice(now.Object, "status", "conditions")
			for _, one := range conditions {
				if c := one.(map[string]any); c["type"] == "Established" && c["status"] == "True" {
					return nil
				}
			}
			return fmt.Errorf("its conditions are %v", conditions)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// objects are the CRDs of an operator, and the configurations of its webhooks.
func (o Operator) objects(source string) (objects []*unstructured.Unstructured, err error) {
	files, err := filepath.Glob(filepath.Join(source, o.crds))
	if err != nil || len(files) == 0 {
		return nil, errors.Join(err, fmt.Errorf("%s has no CRDs in %s", o.program, o.crds))
	}
	for _, file := range append(files, filepath.Join(source, o.webhooks)) {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("read what %s needs: %w", o.program, err)
		}
		for decoder := utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096); ; {
			object := &unstructured.Unstructured{}
			if err := decoder.Decode(&object.Object); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				return nil, fmt.Errorf("parse %s: %w", file, err)
			}
			if len(object.Object) > 0 {
				objects = append(objects, object)
			}
		}
	}
	return objects, nil
}

// direct has a configuration of webhooks lead to a port of this machine. Webhooks about other resources are left out.
func (o Operator) direct(object *unstructured.Unstructured, port int, authority []byte) {
	all, _, _ := unstructured.NestedSlice(object.Object, "webhooks")
	if len(all) == 0 {
		return
	}
	var own []any
	for _, one := range all {
		hook := one.(map[string]any)
		rules, _, _ := unstructured.NestedSlice(hook, "rules")
		resources, _, _ := unstructured.NestedStringSlice(rules[0].(map[string]any), "resources")
		switch {
		case slices.Contains(o.resources, resources[0]):
		case resources[0] == "pods" && o.pods != "":
			hook["objectSelector"] = map[string]any{"matchExpressions": []any{map[string]any{"key": o.pods, "operator": "Exists"}}}
		default:
			continue
		}
		path, _, _ := unstructured.NestedString(hook, "clientConfig", "service", "path")
		hook["clientConfig"] = map[string]any{"url": "https://" + local(port) + path, "caBundle": base64.StdEncoding.EncodeToString(authority)}
		own = append(own, hook)
	}
	object.SetName(string(o.program) + "-" + object.GetName())
	object.Object["webhooks"] = own
}

// convert has objects of a definition be converted at a port of this machine, if the operator does that.
func (o Operator) convert(object *unstructured.Unstructured, port int, authority []byte) {
	plural, _, _ := strings.Cut(object.GetName(), ".")
	if object.GetKind() != "CustomResourceDefinition" || !slices.Contains(o.converts, plural) {
		return
	}
	object.Object["spec"].(map[string]any)["conversion"] = map[string]any{"strategy": "Webhook", "webhook": map[string]any{
		"conversionReviewVersions": []any{"v1"},
		"clientConfig": map[string]any{
			"url": "https://" + local(port) + "/convert", "caBundle": base64.StdEncoding.EncodeToString(authority),
		},
	}}
}

// certify writes a certificate of this machine into a directory, and returns it.
func (cp *ControlPlane) certify(dir string, names ...string) (keyPair, error) {
	pair, err := signItself(names...)
	if err != nil {
		return keyPair{}, err
	}
	return pair, errors.Join(
		os.MkdirAll(cp.file(dir), 0o700), cp.write(filepath.Join(dir, "tls.crt"), pair.cert), cp.write(filepath.Join(dir, "tls.key"), pair.key),
	)
}

// storeCertificate creates the Secret in which an operator looks for its certificate, and for who has signed it.
func (cp *ControlPlane) storeCertificate(ctx context.Context, name string, pair keyPair) error {
	client, err := kubernetes.NewForConfig(cp.RESTConfig())
	if err != nil {
		return err
	}
	_, err = client.CoreV1().Secrets(metav1.NamespaceSystem).Create(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Data:       map[string][]byte{"ca.crt": pair.cert, "ca.key": pair.key, "tls.crt": pair.cert, "tls.key": pair.key},
	}, metav1.CreateOptions{})
	return err
}

// create creates a CRD, or a configuration of webhooks.
func create(ctx context.Context, client dynamic.Interface, object *unstructured.Unstructured) error {
	resources := map[string]string{
		"CustomResourceDefinition": "customresourcedefinitions", "MutatingWebhookConfiguration": "mutatingwebhookconfigurations",
		"ValidatingWebhookConfiguration": "validatingwebhookconfigurations",
	}
	resource := object.GroupVersionKind().GroupVersion().WithResource(resources[object.GetKind()])
	if resource.Resource == "" {
		return fmt.Errorf("%s %s: no such object is expected", object.GetKind(), object.GetName())
	}
	_, err := client.Resource(resource).Create(ctx, object, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create %s %s: %w", object.GetKind(), object.GetName(), err)
	}
	return nil
}
