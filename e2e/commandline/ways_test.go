package commandline

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// asksMuster are the commands that ask a muster.
func asksMuster() []string {
	return []string{
		"status", "status -o json", "explain pod/waits -n default", "explain job/none -n default", "why pod/waits -n default",
		"why deployment/none -n default", "explain -f pod.yaml", "why -f deployment.yaml", "why gang/none -n default", "why plan/none",
	}
}

// asksCluster are the commands that ask a cluster themselves.
func asksCluster() []string {
	return []string{
		"plan --time 100ms", "plan -o json --time 100ms", "preflight", "report -o report.html --time 100ms", "release --dry-run",
		"try -f pod.yaml",
	}
}

// some are the first of the commands where all are tried by another way: make test-long tries each by each.
func some(commands []string, all bool) []string {
	if testing.Short() && !all {
		return commands[:1]
	}
	return commands
}

// way is a way by which a command finds whom to ask.
type way struct {
	program          []string // "muster" or "kubectl muster"
	flags            string
	kubeconfig, home string // of the environment
}

// saysFirst runs a command in a directory, and returns what it says first, and all of it.
func (l *cluster) saysFirst(dir, command string, by way) (first, all string) {
	l.Helper()
	args := append(by.program[1:], strings.Fields(command+" "+by.flags)...)
	cmd := exec.CommandContext(l.Context(), by.program[0], args...)
	cmd.Dir = dir
	path := filepath.Join(dir, "bin") + string(filepath.ListSeparator) + os.Getenv("PATH")
	own := []string{"KUBECONFIG", "HOME", "PATH", "KUBERNETES_SERVICE_HOST"}
	for _, variable := range os.Environ() {
		if name, _, _ := strings.Cut(variable, "="); !slices.Contains(own, name) {
			cmd.Env = append(cmd.Env, variable)
		}
	}
	cmd.Env = append(cmd.Env, "HOME="+by.home, "PATH="+path)
	if by.kubeconfig != "" {
		cmd.Env = append(cmd.Env, "KUBECONFIG="+by.kubeconfig)
	}
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); cmd.ProcessState == nil {
		l.Fatal(err)
	}
	all = stderr.String() + stdout.String()
	for _, text := range []string{stdout.String(), stderr.String()} {
		if line, _, _ := strings.Cut(text, "\n"); strings.HasPrefix(line, "asked ") || strings.HasPrefix(line, "muster: ") {
			return line, all
		}
	}
	return "", all
}

// desk is a directory with what commands are tried with.
func (l *cluster) desk() (dir string) {
	l.Helper()
	dir = l.TempDir()
	kubectl, err := l.Kubectl(l.Context())
	l.Must(err)
	l.Must(os.Mkdir(filepath.Join(dir, "bin"), 0o755))
	for name, program := range map[string]string{"kubectl": kubectl, "muster": l.muster, "kubectl-muster": l.muster} {
		l.Must(os.Symlink(program, filepath.Join(dir, "bin", name)))
	}
	config, err := os.ReadFile(l.Kubeconfig())
	l.Must(err)
	l.Must(os.MkdirAll(filepath.Join(dir, "home", ".kube"), 0o755))
	const spec = "spec: {containers: [{name: a, image: a}]}"
	const nowhere = "apiVersion: v1\nkind: Config\ncurrent-context: nowhere\n" +
		"clusters: [{name: c, cluster: {server: 'https://127.0.0.1:1'}}]\n" +
		"contexts: [{name: nowhere, context: {cluster: c}}]\n"
	for name, text := range map[string]string{
		"home/.kube/config": string(config), "nowhere": nowhere,
		"pod.yaml":        "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n" + spec,
		"deployment.yaml": "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec: {template: {" + spec + "}}\n",
	} {
		l.Must(os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	return dir
}

// Each command is told of a cluster in each way that there is.
func TestEachCommandFindsItsClusterByOneRule(t *testing.T) {
	l := newCluster(t)
	l.run("kube-system", "muster-0")
	dir := l.desk()
	empty := filepath.Join(dir, "nobody")
	here, nowhere, home := l.Kubeconfig(), filepath.Join(dir, "nowhere"), filepath.Join(dir, "home")
	both := nowhere + string(filepath.ListSeparator) + here
	ofPod := "pod kube-system/muster-0, port 8887, context muster-e2e"
	ofCluster := l.URL() + ", context muster-e2e"
	program, plugin := []string{l.muster}, []string{filepath.Join(dir, "bin", "kubectl"), "muster"}
	const none, inVain = "no cluster is named, looked at: ", "the muster of context nowhere" // where nothing answers
	for name, test := range map[string]struct {
		by              way
		muster, cluster string // whom they ask; "" for commands that would wait for an answer
	}{
		"$KUBECONFIG":                     {way{program, "", here, empty}, ofPod, ofCluster},
		"--kubeconfig before $KUBECONFIG": {way{program, "--kubeconfig " + here, nowhere, empty}, ofPod, ofCluster},
		"--context":                       {way{program, "--context muster-e2e", both, empty}, ofPod, ofCluster},
		"another context":                 {way{program, "--context nowhere", both, empty}, inVain, ""},
		"~/.kube/config":                  {way{program, "", "", home}, ofPod, ofCluster},
		"$KUBECONFIG before ~/.kube":      {way{program, "", nowhere, home}, inVain, ""},
		"the plugin":                      {way{plugin, "", here, empty}, ofPod, ofCluster},
		"the plugin, --context":           {way{plugin, "--context muster-e2e", both, empty}, ofPod, ofCluster},
		"--server":                        {way{program, "--server " + l.debug, nowhere, empty}, l.debug, ""},
		"nothing there":                   {way{program, "", "", empty}, none, none},
	} {
		for _, command := range some(asksMuster(), name == "$KUBECONFIG") {
			if first, all := l.saysFirst(dir, command, test.by); !strings.Contains(first, test.muster) {
				t.Errorf("%s, by %s: it does not say first %q:\n%s", command, name, test.muster, all)
			}
		}
		for _, command := range some(asksCluster(), name == "$KUBECONFIG") {
			if test.cluster == "" {
				continue
			}
			if first, all := l.saysFirst(dir, command, test.by); !strings.Contains(first, test.cluster) {
				t.Errorf("%s, by %s: it does not say first %q:\n%s", command, name, test.cluster, all)
			}
		}
	}
}

// written returns the static pod that 'muster install' writes, as a kubelet shows it.
func (l *cluster) written(way, path string) *corev1.Pod {
	l.Helper()
	root := l.TempDir()
	args := []string{"install", "--" + way, "--image=muster:v1", "--kubernetes-version=v1.37.0", "--write-to=" + root}
	if out, err := exec.CommandContext(l.Context(), l.muster, args...).CombinedOutput(); err != nil {
		l.Fatalf("%v:\n%s", err, out)
	}
	text, err := os.ReadFile(filepath.Join(root, path))
	l.Must(err)
	pod := &corev1.Pod{}
	l.Must(yaml.UnmarshalStrict(text, pod))
	pod.Name += "-" + way // each node has another one
	pod.Spec.NodeName = "a"
	pod.Spec.SecurityContext, pod.Spec.Volumes = nil, nil
	pod.Spec.PriorityClassName, pod.Spec.HostNetwork = "", false
	for i := range pod.Spec.Containers {
		pod.Spec.Containers[i].VolumeMounts, pod.Spec.Containers[i].LivenessProbe, pod.Spec.Containers[i].ReadinessProbe = nil, nil, nil
	}
	return pod
}

// Each command that asks a muster, wherever what is documented has put that.
func TestMusterIsFoundWhereItIsInstalled(t *testing.T) {
	l := newCluster(t)
	dir := l.desk()
	by := way{[]string{filepath.Join(dir, "bin", "kubectl"), "muster"}, "", l.Kubeconfig(), dir}
	chart := map[string]string{"app.kubernetes.io/name": "muster", "app.kubernetes.io/instance": "muster"}
	of := func(namespace, name string, pod corev1.PodSpec) *corev1.Pod {
		pod.NodeName = "a"
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: chart}, Spec: pod}
	}
	container := func(name string, ports ...corev1.ContainerPort) corev1.Container {
		return corev1.Container{Name: name, Image: name, Ports: ports}
	}
	always := corev1.ContainerRestartPolicyAlways
	sidecar := container("muster", corev1.ContainerPort{Name: "debug", ContainerPort: 8887})
	sidecar.RestartPolicy = &always
	kubeadm := l.written("kubeadm", "/etc/kubernetes/manifests/muster.yaml")
	former := kubeadm.DeepCopy()
	former.Name += "-former"
	delete(former.Labels, "app.kubernetes.io/name")
	for name, pod := range map[string]*corev1.Pod{
		"the chart, as a Deployment": of("kube-system", "muster-x", corev1.PodSpec{Containers: []corev1.Container{container("muster")}}),
		"the chart, as a sidecar of its kube-scheduler": of("kube-system", "muster-y", corev1.PodSpec{
			InitContainers: []corev1.Container{sidecar}, Containers: []corev1.Container{container("kube-scheduler")},
		}),
		"the chart, in a namespace of its own": of("default", "muster-z", corev1.PodSpec{Containers: []corev1.Container{container("muster")}}),
		"the static pod of kubeadm":            kubeadm,
		"the static pod of k3s":                l.written("k3s", "/var/lib/rancher/k3s/agent/pod-manifests/muster.yaml"),
		"that of a former release":             former,
	} {
		l.install(pod)
		for _, command := range some(asksMuster(), pod == kubeadm) {
			want := fmt.Sprintf("pod %s/%s, port 8887, context muster-e2e", pod.Namespace, pod.Name)
			if first, all := l.saysFirst(dir, command, by); !strings.Contains(first, want) {
				t.Errorf("%s, %s: it does not say first %q:\n%s", command, name, want, all)
			}
		}
		l.Must(l.Client.CoreV1().Pods(pod.Namespace).Delete(l.Context(), pod.Name, metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))}))
	}
	for _, command := range some(asksMuster(), false) {
		_, all := l.saysFirst(dir, command, by)
		if !strings.Contains(all, "no pod in any namespace has the labels app.kubernetes.io/name=muster") || !strings.Contains(all, "asked ") {
			t.Errorf("%s, where none is installed: it says\n%s", command, all)
		}
	}
}
