package chart

import (
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"muster.dev/muster/e2e/lab"
	"muster.dev/muster/e2e/process"
)

// The ports of the chart's containers.
const (
	portWebhook     = 8886
	portDebug       = 8887
	portVerbs       = 8888
	portRescheduler = 8889
	portHealth      = 8890
	portSeparate    = 8891
	portScheduler   = 10259
)

// kubelet runs pods of Deployments that are installed, as processes of this machine: the programs of their containers, with their
// arguments and environment, the files of their volumes, and their probes. What differs is where things are: volumes are directories
// somewhere, ports are free ones of the loopback interface, and the credentials of a ServiceAccount are in a kubeconfig.
type kubelet struct {
	*cluster
	host   string      // the name of it, this machine's when it is empty
	muster string      // the path of the program in muster's image
	ports  map[int]int // this machine's by the containers'
}

func newKubelet(c *cluster) *kubelet {
	return &kubelet{cluster: c, muster: lab.Program(c.T), ports: map[int]int{}}
}

// runs starts the pod of a Deployment.
func (k *kubelet) runs(deployment string) *pod {
	k.Helper()
	pod := k.pod(deployment)
	pod.start(pod.spec.InitContainers)
	pod.start(pod.spec.Containers)
	return pod
}

// local is the loopback address on this machine of a port of a container.
func (k *kubelet) local(port int) string { return k.at("127.0.0.1", port) }

// at is a port of a container at an address of this machine.
func (k *kubelet) at(host string, port int) string {
	k.Helper()
	if k.ports[port] == 0 {
		free, err := process.FreePort()
		k.Must(err)
		k.ports[port] = free
	}
	return net.JoinHostPort(host, strconv.Itoa(k.ports[port]))
}

func (k *kubelet) url(scheme string, port int, path string) string {
	k.Helper()
	if scheme == "" {
		scheme = "http"
	}
	return scheme + "://" + k.local(port) + path
}

// pod is one that a kubelet runs.
type pod struct {
	*kubelet
	spec        corev1.PodSpec
	credentials string            // a kubeconfig, "" where the arguments name one
	volumes     map[string]string // directories by name, and files of the host
}

// pod reads a Deployment, and makes the volumes of its pod.
func (k *kubelet) pod(deployment string) *pod {
	k.Helper()
	installed, err := k.Client.AppsV1().Deployments(namespace).Get(k.Context(), deployment, metav1.GetOptions{})
	k.Must(err)
	p := &pod{kubelet: k, spec: installed.Spec.Template.Spec, volumes: map[string]string{}}
	p.credentials = k.kubeconfigOf(p.spec.ServiceAccountName)
	for i := range p.spec.Volumes {
		p.volumes[p.spec.Volumes[i].Name] = k.TempDir()
	}
	for i := range p.spec.Volumes {
		volume := &p.spec.Volumes[i]
		switch {
		case volume.ConfigMap != nil:
			configMap, err := k.Client.CoreV1().ConfigMaps(namespace).Get(k.Context(), volume.ConfigMap.Name, metav1.GetOptions{})
			k.Must(err)
			for name, text := range configMap.Data {
				k.Must(os.WriteFile(p.path(volume.Name, name), k.relocate(p.mounted(text)), 0o600))
			}
		case volume.EmptyDir == nil:
			k.Fatalf("volume %s is neither a ConfigMap nor empty", volume.Name)
		}
	}
	return p
}

// mounted has the paths of files in a text where the volumes are on this machine.
func (p *pod) mounted(text string) string {
	var mounts []corev1.VolumeMount
	for _, c := range slices.Concat(p.spec.InitContainers, p.spec.Containers) {
		mounts = append(mounts, c.VolumeMounts...)
	}
	slices.SortFunc(mounts, func(a, b corev1.VolumeMount) int { return strings.Compare(b.MountPath, a.MountPath) }) // /a-b before /a
	for _, mount := range mounts {
		text = strings.ReplaceAll(text, mount.MountPath, p.volumes[mount.Name])
	}
	return text
}

// path is where a file of a volume is.
func (p *pod) path(volume, file string) string { return filepath.Join(p.volumes[volume], file) }

// relocate has muster listen on the ports of this machine, for whom it is configured to: on loopback, or for everybody.
func (k *kubelet) relocate(text string) []byte {
	k.Helper()
	config := map[string]any{}
	k.Must(yaml.UnmarshalStrict([]byte(text), &config))
	if _, found, _ := unstructured.NestedString(config, "debug", "listen"); !found {
		k.Must(unstructured.SetNestedField(config, "127.0.0.1:8887", "debug", "listen")) // the default
	}
	for _, field := range []string{
		"serving.listen", "serving.healthListen", "serving.webhookListen", "debug.listen", "rescheduler.listen",
		"rescheduler.separate.listen",
	} {
		path := strings.Split(field, ".")
		address, found, err := unstructured.NestedString(config, path...)
		k.Must(err)
		if !found {
			continue
		}
		host, port, err := net.SplitHostPort(address)
		k.Must(err)
		number, err := strconv.Atoi(port)
		k.Must(err)
		_, port, err = net.SplitHostPort(k.local(number))
		k.Must(err)
		k.Must(unstructured.SetNestedField(config, net.JoinHostPort(host, port), path...))
	}
	relocated, err := yaml.Marshal(config)
	k.Must(err)
	return relocated
}

// start starts containers one after the other, each when the one before it has started, or ended if it is no sidecar among init
// containers.
func (p *pod) start(containers []corev1.Container) {
	p.Helper()
	for i := range containers {
		c := &containers[i]
		spec := process.Spec{Name: c.Name, Path: p.muster, Args: slices.Clone(c.Args), Host: p.host}
		for _, variable := range c.Env {
			spec.Env = append(spec.Env, variable.Name+"="+variable.Value)
		}
		if len(c.Command) > 0 {
			spec.Args = append(slices.Clone(c.Command[1:]), spec.Args...)
		}
		for i := range spec.Args {
			spec.Args[i] = p.mounted(spec.Args[i])
		}
		switch c.Name {
		case "kube-scheduler":
			spec.Path, spec.Args = found(p.T, findScheduler), append(spec.Args, p.connectScheduler()...)
		case "scheduler-config":
			_, err := said(p.Context(), spec.Path, spec.Args...)
			p.Must(err)
			continue
		default:
			if p.credentials != "" {
				spec.Args = append(spec.Args, "--kubeconfig="+p.credentials)
			}
		}
		p.run(spec, p.probe(c))
	}
}

// connectScheduler tells kube-scheduler where this machine has what every pod has in the same place, in its configuration and by flags.
func (p *pod) connectScheduler() (flags []string) {
	p.Helper()
	host, port, err := net.SplitHostPort(p.local(portScheduler))
	p.Must(err)
	listens := []string{"--bind-address=" + host, "--secure-port=" + port}
	if p.credentials == "" {
		return listens
	}
	path := p.path("scheduler-config", "scheduler.yaml")
	text, err := os.ReadFile(path)
	p.Must(err)
	config := map[string]any{}
	p.Must(yaml.UnmarshalStrict(text, &config))
	config["clientConnection"].(map[string]any)["kubeconfig"] = p.credentials
	text, err = yaml.Marshal(config)
	p.Must(err)
	p.Must(os.WriteFile(path, text, 0o600))
	return append(listens, "--authentication-kubeconfig="+p.credentials, "--authorization-kubeconfig="+p.credentials)
}

// probe asks, as a kubelet does, whether a container has started, or else whether it is ready or alive.
func (p *pod) probe(c *corev1.Container) (url string) {
	p.Helper()
	for _, probe := range []*corev1.Probe{c.StartupProbe, c.ReadinessProbe, c.LivenessProbe} {
		if probe == nil {
			continue
		}
		if port := probe.HTTPGet.Port.IntValue(); port != 0 {
			return p.url(strings.ToLower(string(probe.HTTPGet.Scheme)), port, probe.HTTPGet.Path)
		}
		at := slices.IndexFunc(c.Ports, func(port corev1.ContainerPort) bool { return port.Name == probe.HTTPGet.Port.String() })
		if at < 0 {
			p.Fatalf("container %s is probed at port %s, which it does not have", c.Name, probe.HTTPGet.Port.String())
		}
		return p.url(strings.ToLower(string(probe.HTTPGet.Scheme)), int(c.Ports[at].ContainerPort), probe.HTTPGet.Path)
	}
	p.Fatalf("container %s has no probe", c.Name)
	return ""
}
