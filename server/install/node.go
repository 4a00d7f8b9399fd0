package install

import (
	_ "embed"
	"fmt"
	"net"
	"path"
	"strings"

	"muster.dev/muster/api/config"
	"muster.dev/muster/charts/helm"
	"muster.dev/muster/charts/template"
	"muster.dev/muster/server/admission"
)

// file is one of each control-plane node.
type file struct {
	path string
	why  string
	text string
}

// node is where a control-plane node has what kube-scheduler and static pods are made of.
type node struct {
	configs    string   // the directory of both configurations
	staticPod  string   // the file of muster's static pod
	kubeconfig string   // kube-scheduler's
	beside     []string // files that the kubeconfig names
	scheduler  string   // the file of kube-scheduler's static pod, "" where there is none
	dropIn     string   // the file that tells k3s of flags of kube-scheduler, "" for kubeadm
}

func nodeOf(way Way) node {
	if way == K3s {
		const server = "/var/lib/rancher/k3s/server/"
		return node{
			configs: "/etc/rancher/k3s/muster", staticPod: "/var/lib/rancher/k3s/agent/pod-manifests/muster.yaml",
			kubeconfig: server + "cred/scheduler.kubeconfig",
			beside:     []string{server + "tls/server-ca.crt", server + "tls/client-scheduler.crt", server + "tls/client-scheduler.key"},
			dropIn:     "/etc/rancher/k3s/config.yaml.d/muster.yaml",
		}
	}
	return node{
		configs: "/etc/kubernetes/muster", staticPod: "/etc/kubernetes/manifests/muster.yaml", kubeconfig: "/etc/kubernetes/scheduler.conf",
		scheduler: "/etc/kubernetes/manifests/kube-scheduler.yaml",
	}
}

// ConfigPath is where a control-plane node of a way has muster's configuration.
func ConfigPath(way Way) string { return nodeOf(way).config() }

func (n node) config() string { return path.Join(n.configs, "muster.yaml") }

func (n node) schedulerConfig() string { return path.Join(n.configs, "scheduler.yaml") }

//go:embed staticpod.yaml
var staticPod string

// filesOf returns the files of a node, in the order in which they are written.
func filesOf(n node, image string, text []byte, cfg *config.Configuration) ([]file, error) {
	options := admission.SchedulerOptions{Kubeconfig: n.kubeconfig, LeaderElect: true}
	scheduler, err := options.For(cfg)
	if err != nil {
		return nil, err
	}
	registration, err := scheduler.Encode()
	if err != nil {
		return nil, err
	}
	_, port, err := net.SplitHostPort(cfg.Serving.Listen)
	if err != nil {
		return nil, fmt.Errorf("--config: serving.listen: %w", err)
	}
	set, err := template.Parse(map[string]string{"pod": staticPod}, helm.Functions(), nil)
	if err != nil {
		return nil, err
	}
	pod, err := set.Fill("pod", map[string]any{
		"image": image, "config": n.config(), "configs": n.configs, "kubeconfig": n.kubeconfig, "beside": n.beside, "port": port,
	})
	if err != nil {
		return nil, err
	}
	files := []file{
		{n.config(), "muster's configuration.", string(text)},
		{
			n.schedulerConfig(), "kube-scheduler's configuration, made of muster's: repeat 'muster install' after a change of its profiles.",
			string(registration),
		},
		{n.staticPod, "muster, in a static pod.", pod},
	}
	if n.dropIn != "" {
		files = append(files, file{
			n.dropIn, "Has k3s, from its next start on, give kube-scheduler the configuration.",
			"# Written by 'muster install'.\nkube-scheduler-arg+:\n- config=" + n.schedulerConfig() + "\n",
		})
	}
	return files, nil
}

// change says what somebody has to change of kube-scheduler's own files where nobody else does.
func (n node) change() string {
	return strings.NewReplacer("CONFIG", n.schedulerConfig(), "DIRECTORY", n.configs).Replace(`apiVersion: kubeadm.k8s.io/v1beta4
kind: ClusterConfiguration
scheduler:
  extraArgs:
  - name: config
    value: CONFIG
  extraVolumes:
  - name: muster
    hostPath: DIRECTORY
    mountPath: DIRECTORY
    readOnly: true
    pathType: Directory
`)
}
