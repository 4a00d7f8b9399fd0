package controlplane

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/util/cert"

	"muster.dev/muster/e2e/binaries"
	"muster.dev/muster/e2e/process"
)

// Operator is a controller of others that is built of its module: the one of JobSets, or of LeaderWorkerSets.
type Operator struct {
	program binaries.Binary
	config  string // the apiVersion of its configuration
	// Where its module has its CRDs and its webhooks, and the resource that these are asked about.
	crds, webhooks, resource string
	// pods is the label of pods that its webhooks are asked about, too; "" for none.
	pods string
}

// JobSet and LeaderWorkerSet are the operators that there are.
var (
	JobSet = Operator{
		binaries.JobSet, "config.jobset.x-k8s.io/v1alpha1",
		"config/components/crd/bases/*.yaml", "config/components/webhook/manifests.yaml", "jobsets", "",
	}
	LeaderWorkerSet = Operator{
		binaries.LeaderWorkerSet, "config.lws.x-k8s.io/v1alpha1", "config/crd/bases/*.yaml", "config/webhook/manifests.yaml", "leaderworkersets",
		"leaderworkerset.sigs.k8s.io/name",
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
	authority, err := cp.certify(string(o.program))
	if err != nil {
		return err
	}
	config := fmt.Appendf(nil, `apiVersion: %s
kind: Configuration
health: {healthProbeBindAddress: "%s"}
metrics: {bindAddress: "0"}
leaderElection: {leaderElect: false}
internalCertManagement: {enable: false}
webhook: {host: 127.0.0.1, port: %d, certDir: %q}
`, o.config, local(health), hooks, cp.file(string(o.program)))
	if err := cp.write(string(o.program)+".yaml", config); err != nil {
		return err
	}
	client, err := dynamic.NewForConfig(cp.RESTConfig())
	if err != nil {
		return err
	}
	for _, object := range objects {
		o.direct(object, hooks, authority)
		if err := create(ctx, client, object); err != nil {
			return err
		}
	}
	args := []string{"--kubeconfig=" + cp.Kubeconfig(), "--config=" + cp.file(string(o.program)+".yaml")}
	probe := answers(selfSigned, "http://"+local(health)+"/readyz")
	return cp.start(ctx, o.program, args, nil, probe)
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
		case resources[0] == o.resource:
		case resources[0] == "pods" && o.pods != "":
			hook["objectSelector"] = map[string]any{"matchExpressions": []any{map[string]any{"key": o.pods, "operator": "Exists"}}}
		default:
			continue
		}
		path, _, _ := unstructured.NestedString(hook, "clientConfig", "service", "path")
		hook["clientConfig"] = map[string]any{"url": "https://" + local(port) + path, "caBundle": authority}
		own = append(own, hook)
	}
	object.SetName(string(o.program) + "-" + object.GetName())
	object.Object["webhooks"] = own
}

// certify writes a certificate of this machine into a directory, and returns it.
func (cp *ControlPlane) certify(dir string) ([]byte, error) {
	certificate, key, err := cert.GenerateSelfSignedCertKey("localhost", []net.IP{net.IPv4(127, 0, 0, 1)}, nil)
	if err != nil {
		return nil, fmt.Errorf("make a certificate: %w", err)
	}
	return certificate, errors.Join(
		os.MkdirAll(cp.file(dir), 0o700), cp.write(filepath.Join(dir, "tls.crt"), certificate), cp.write(filepath.Join(dir, "tls.key"), key),
	)
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
