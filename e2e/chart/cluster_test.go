package chart

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"muster.dev/muster/e2e/await"
	"muster.dev/muster/e2e/binaries"
	"muster.dev/muster/e2e/controlplane"
	"muster.dev/muster/e2e/lab"
	"muster.dev/muster/e2e/process"
)

// cluster is a control plane that the chart is installed on.
type cluster struct {
	*lab.Lab
	audit audit
	logs  string // the directory for logs of what the test runs
	// running are the programs until the first of them is stopped.
	running []*process.Process
}

// newCluster takes one with the controllers that create pods, and more controllers. The test runs in parallel from here on.
func newCluster(t *testing.T, more ...string) *cluster {
	t.Helper()
	l := lab.Take(t, lab.Options{Options: controlplane.Options{
		Controllers: slices.Concat([]string{"serviceaccount-controller", "replicaset-controller", "disruption-controller"}, more),
		// Clients that are not sent a list by watch ask for one, as they do of older API servers.
		APIServerFlags: append(auditFlags(), "--feature-gates=WatchList=false"), KubeletMetrics: true,
	}})
	logs, err := os.MkdirTemp(l.Dir(), "chart-")
	l.Must(err)
	return &cluster{Lab: l, audit: auditFromNowOn(t, l.Log(binaries.APIServer)), logs: logs}
}

// of is the same cluster for a subtest.
func (c *cluster) of(t *testing.T) *cluster {
	return &cluster{Lab: c.Of(t), audit: c.audit, logs: c.logs}
}

// helm runs Helm against the cluster.
func (c *cluster) helm(args ...string) string {
	c.Helper()
	return helm(c.T, append(args, "--kubeconfig", c.Kubeconfig(), "--namespace", namespace)...)
}

// install installs the chart with values, as flags of Helm, and returns what Helm says.
func (c *cluster) install(values ...string) string {
	c.Helper()
	return c.helm(append([]string{"install", release, chartDir}, values...)...)
}

// kubectl is the path of kubectl.
func (c *cluster) kubectl() string {
	c.Helper()
	path, err := c.Kubectl(c.Context())
	c.Must(err)
	return path
}

// programs is a directory with programs by the names that a page calls them by.
func (c *cluster) programs() string {
	c.Helper()
	dir := c.TempDir()
	for name, path := range map[string]string{"helm": helmProgram(c.T), "kubectl": c.kubectl(), "muster": lab.Program(c.T)} {
		c.Must(os.Symlink(path, filepath.Join(dir, name)))
	}
	return dir
}

// pod is one of the namespace default.
func (c *cluster) pod(name string) *corev1.Pod {
	c.Helper()
	pod, err := c.Client.CoreV1().Pods("default").Get(c.Context(), name, metav1.GetOptions{})
	c.Must(err)
	return pod
}

func (c *cluster) createNamespace(name string, labels map[string]string) {
	c.Helper()
	made := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
	_, err := c.Client.CoreV1().Namespaces().Create(c.Context(), made, metav1.CreateOptions{})
	c.Must(err)
}

// optIn labels the namespace default, so that muster places its pods ahead.
func (c *cluster) optIn() {
	c.Helper()
	labels := []byte(`{"metadata": {"labels": {"muster.dev/ahead": "true"}}}`)
	_, err := c.Client.CoreV1().Namespaces().Patch(c.Context(), "default", types.MergePatchType, labels, metav1.PatchOptions{})
	c.Must(err)
}

// kubeconfigOf issues a token for a service account of the chart, as a kubelet does for its pods.
func (c *cluster) kubeconfigOf(account string) string {
	c.Helper()
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: new(int64(3600))}}
	granted, err := c.Client.CoreV1().ServiceAccounts(namespace).CreateToken(c.Context(), account, request, metav1.CreateOptions{})
	c.Must(err)
	config := clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{"c": {Server: c.URL(), CertificateAuthorityData: c.RESTConfig().CAData}},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{account: {Token: granted.Status.Token}},
		Contexts:       map[string]*clientcmdapi.Context{"c": {Cluster: "c", AuthInfo: account}},
		CurrentContext: "c",
	}
	path := filepath.Join(c.TempDir(), account+".kubeconfig")
	c.Must(clientcmd.WriteToFile(config, path))
	return path
}

// log is the path of a program's log.
func (c *cluster) log(program string) string { return filepath.Join(c.logs, program+".log") }

// run runs a program until the test ends, and returns when a page of it answers 200. It is an error if the program ends
// before: a muster ends when the kube-scheduler beside it does, so all are looked at before the first is stopped.
func (c *cluster) run(spec process.Spec, page string) {
	c.Helper()
	spec.Log = c.log(spec.Name)
	p, err := process.Start(spec)
	c.Must(err)
	c.running = append(c.running, p)
	c.Cleanup(func() {
		for _, running := range c.running {
			if err := running.Err(); err != nil {
				c.Error(err)
			}
		}
		c.running = nil
		p.Stop(10 * time.Second)
		if c.T.Failed() {
			c.Logf("the log of %s ends with:\n%s", spec.Name, process.Tail(spec.Log))
		}
	})
	ctx, cancel := context.WithTimeout(c.Context(), await.Patience)
	defer cancel()
	c.Must(p.Await(ctx, func(context.Context) error { _, err := get(page); return err }))
}

// get reads a page, as a kubelet does: with a certificate signed by anybody.
func get(url string) (string, error) { return read(client(&tls.Config{InsecureSkipVerify: true}), url) }

// client makes a connection for each request.
func client(config *tls.Config) *http.Client {
	return &http.Client{Transport: &http.Transport{TLSClientConfig: config, DisableKeepAlives: true}}
}

func read(client *http.Client, url string) (string, error) {
	response, err := client.Get(url)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = errors.New(response.Status)
	}
	if err != nil {
		return "", fmt.Errorf("read %s: %w", url, err)
	}
	return string(text), nil
}
