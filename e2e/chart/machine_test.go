package chart

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"

	"muster.dev/muster/e2e/process"
)

// machine is a control-plane node, whose files are below a directory. Its static pods are processes of this machine, as a kubelet has
// them: one whose file changes starts again, and one whose file is gone ends.
type machine struct {
	*kubelet
	root    string
	play    func(*machine)      // has run what is to run by now
	runs    map[string]*running // static pods by their files, and what else there is, by name
	version int                 // of logs
}

// running is something that a machine runs.
type running struct {
	made    string // of what
	process []*process.Process
}

func newMachine(c *cluster, play func(*machine)) *machine {
	return &machine{kubelet: newKubelet(c), root: c.TempDir(), play: play, runs: map[string]*running{}}
}

// awaitBound waits until pods have nodes, while the machine goes on.
func (m *machine) awaitBound(names ...string) {
	m.Helper()
	for _, name := range names {
		m.Eventually(name+" is bound", func() error {
			m.play(m)
			if pod := m.cluster.pod(name); pod.Spec.NodeName == "" {
				return fmt.Errorf("it is not: %v", pod.Status.Conditions)
			}
			return nil
		})
	}
}

// write writes a file of the machine.
func (m *machine) write(path, text string) {
	m.Helper()
	at := filepath.Join(m.root, path)
	m.Must(os.MkdirAll(filepath.Dir(at), 0o755))
	m.Must(os.WriteFile(at, []byte(text), 0o600))
}

// read is the text of a file, "" for none.
func (m *machine) read(path string) string {
	text, err := os.ReadFile(filepath.Join(m.root, path))
	if err != nil && !os.IsNotExist(err) {
		m.Fatal(err)
	}
	return string(text)
}

// ended reports whether something has ended by itself, as a muster does that is to stand by.
func (r *running) ended() bool {
	return slices.ContainsFunc(r.process, func(p *process.Process) bool { return p.Err() != nil })
}

// keep has something run that is made of a text, again if it has ended, and ends what was made of another. An empty text has nothing run.
func (m *machine) keep(name, made string, start func()) {
	m.Helper()
	there := m.runs[name]
	if there != nil && there.made == made && !there.ended() || there == nil && made == "" {
		return
	}
	if there != nil {
		for _, p := range slices.Backward(there.process) {
			p.Stop(10 * time.Second)
		}
		delete(m.runs, name)
	}
	if made == "" {
		return
	}
	before := len(m.running)
	start()
	m.runs[name] = &running{made, append([]*process.Process(nil), m.running[before:]...)}
}

// look has the pods run that a directory of static pods has files of.
func (m *machine) look(dir string) {
	m.Helper()
	files, err := filepath.Glob(filepath.Join(m.root, dir, "[^.]*"))
	m.Must(err)
	there := map[string]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		m.Must(err)
		there[file] = string(text)
	}
	for name := range m.runs {
		if there[name] == "" {
			m.keep(name, "", nil)
		}
	}
	for file, text := range there {
		m.keep(file, text, func() {
			var pod corev1.Pod
			m.Must(yaml.UnmarshalStrict([]byte(text), &pod))
			m.static(&pod.Spec)
		})
	}
}

// static starts a static pod: it has copies of the files that it mounts, which say where things are on this machine.
func (m *machine) static(spec *corev1.PodSpec) {
	m.Helper()
	p := &pod{kubelet: m.kubelet, spec: *spec, volumes: map[string]string{}}
	for i := range spec.Volumes {
		p.volumes[spec.Volumes[i].Name] = filepath.Join(m.TempDir(), filepath.Base(spec.Volumes[i].HostPath.Path))
	}
	for i := range spec.Volumes {
		host, here := filepath.Join(m.root, spec.Volumes[i].HostPath.Path), p.volumes[spec.Volumes[i].Name]
		info, err := os.Stat(host)
		m.Must(err)
		if !info.IsDir() {
			m.copy(p, host, here)
			continue
		}
		m.Must(os.Mkdir(here, 0o755))
		files, err := filepath.Glob(filepath.Join(host, "*"))
		m.Must(err)
		for _, file := range files {
			m.copy(p, file, filepath.Join(here, filepath.Base(file)))
		}
	}
	p.start(spec.Containers)
}

func (m *machine) copy(p *pod, from, to string) {
	m.Helper()
	text, err := os.ReadFile(from)
	m.Must(err)
	made := []byte(strings.ReplaceAll(p.mounted(string(text)), "127.0.0.1:8888", m.local(portVerbs)))
	if filepath.Base(from) == "muster.yaml" {
		// muster listens where it does by default, unless it is told.
		made = m.relocate("serving: {listen: 127.0.0.1:8888}\n" + string(made))
	}
	m.Must(os.WriteFile(to, made, 0o600))
}

// deployed has the pod of a Deployment run for as long as there is that.
func (m *machine) deployed(name string) {
	m.Helper()
	made := name
	if _, err := m.Client.AppsV1().Deployments(namespace).Get(m.Context(), name, metav1.GetOptions{}); apierrors.IsNotFound(err) {
		made = ""
	} else {
		m.Must(err)
	}
	m.keep(name, made, func() { m.kubelet.runs(name) })
}

// kubeScheduler is the static pod that kubeadm makes, as far as it matters.
const kubeScheduler = `apiVersion: v1
kind: Pod
metadata:
  labels:
    component: kube-scheduler
    tier: control-plane
  name: kube-scheduler
  namespace: kube-system
spec:
  containers:
  - command:
    - kube-scheduler
    - --authentication-kubeconfig=/etc/kubernetes/scheduler.conf
    - --authorization-kubeconfig=/etc/kubernetes/scheduler.conf
    - --kubeconfig=/etc/kubernetes/scheduler.conf
    - --leader-elect=true
    image: registry.k8s.io/kube-scheduler:v1.37.1
    livenessProbe:
      httpGet:
        host: 127.0.0.1
        path: /livez
        port: 10259
        scheme: HTTPS
    name: kube-scheduler
    volumeMounts:
    - mountPath: /etc/kubernetes/scheduler.conf
      name: kubeconfig
      readOnly: true
  hostNetwork: true
  volumes:
  - hostPath:
      path: /etc/kubernetes/scheduler.conf
      type: FileOrCreate
    name: kubeconfig
`

// clusterConfiguration is kubeadm's, as far as it matters.
const clusterConfiguration = `apiVersion: kubeadm.k8s.io/v1beta4
kind: ClusterConfiguration
kubernetesVersion: v1.37.1
scheduler: {}
`

// setUpByKubeadm has the machine be as kubeadm leaves it, with its kube-scheduler.
func (m *machine) setUpByKubeadm() {
	m.Helper()
	path, err := m.KubeconfigFor("system:kube-scheduler")
	m.Must(err)
	m.write("/etc/kubernetes/scheduler.conf", textOf(m.T, path))
	m.write("/etc/kubernetes/manifests/kube-scheduler.yaml", kubeScheduler)
	_, err = m.Client.CoreV1().ConfigMaps(namespace).Create(m.Context(), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "kubeadm-config"}, Data: map[string]string{"ClusterConfiguration": clusterConfiguration},
	}, metav1.CreateOptions{})
	m.Must(err)
}

// k3sServer is where k3s has what is its own.
const k3sServer = "/var/lib/rancher/k3s/server/"

// setUpByK3s has the machine be as k3s leaves it, with a kubeconfig of kube-scheduler that names files.
func (m *machine) setUpByK3s() {
	m.Helper()
	path, err := m.KubeconfigFor("system:kube-scheduler")
	m.Must(err)
	config, err := clientcmd.LoadFromFile(path)
	m.Must(err)
	for _, cluster := range config.Clusters {
		m.write(k3sServer+"tls/server-ca.crt", string(cluster.CertificateAuthorityData))
		cluster.CertificateAuthorityData, cluster.CertificateAuthority = nil, k3sServer+"tls/server-ca.crt"
	}
	for _, user := range config.AuthInfos {
		m.write(k3sServer+"tls/client-scheduler.crt", string(user.ClientCertificateData))
		m.write(k3sServer+"tls/client-scheduler.key", string(user.ClientKeyData))
		user.ClientCertificateData, user.ClientCertificate = nil, k3sServer+"tls/client-scheduler.crt"
		user.ClientKeyData, user.ClientKey = nil, k3sServer+"tls/client-scheduler.key"
	}
	text, err := clientcmd.Write(*config)
	m.Must(err)
	m.write(k3sServer+"cred/scheduler.kubeconfig", string(text))
}

// restartK3s runs the kube-scheduler of k3s, with the flags that its configuration has for it, as the process that k3s is.
func (m *machine) restartK3s() {
	m.Helper()
	var flags struct {
		Args []string `json:"kube-scheduler-arg+"`
	}
	m.Must(yaml.UnmarshalStrict([]byte(m.read("/etc/rancher/k3s/config.yaml.d/muster.yaml")), &flags))
	const kubeconfig = k3sServer + "cred/scheduler.kubeconfig"
	command := []string{
		"kube-scheduler", "--kubeconfig=" + kubeconfig, "--authentication-kubeconfig=" + kubeconfig, "--authorization-kubeconfig=" + kubeconfig,
	}
	for _, arg := range flags.Args {
		command = append(command, "--"+arg)
	}
	container := corev1.Container{Name: "kube-scheduler", Command: command, LivenessProbe: &corev1.Probe{ProbeHandler: corev1.ProbeHandler{
		HTTPGet: &corev1.HTTPGetAction{Scheme: corev1.URISchemeHTTPS, Path: "/livez"},
	}}}
	container.LivenessProbe.HTTPGet.Port.IntVal = portScheduler
	spec := corev1.PodSpec{}
	for i, path := range []string{
		kubeconfig, k3sServer + "tls/server-ca.crt", k3sServer + "tls/client-scheduler.crt", k3sServer + "tls/client-scheduler.key",
		"/etc/rancher/k3s/muster",
	} {
		if _, err := os.Stat(filepath.Join(m.root, path)); err != nil {
			continue
		}
		name := fmt.Sprint("v", i)
		spec.Volumes = append(spec.Volumes, corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{
			HostPath: &corev1.HostPathVolumeSource{Path: path},
		}})
		container.VolumeMounts = append(container.VolumeMounts, corev1.VolumeMount{Name: name, MountPath: path})
	}
	spec.Containers = []corev1.Container{container}
	m.version++
	m.keep("k3s", fmt.Sprintf("%x %d", sha256.Sum256([]byte(strings.Join(command, " "))), m.version), func() { m.static(&spec) })
}
