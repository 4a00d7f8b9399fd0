package chart

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"muster.dev/muster/e2e/controlplane"
	"muster.dev/muster/e2e/process"
)

// patience is a limit for what takes seconds on an idle machine.
const patience = 2 * time.Minute

// cluster is a control plane that the chart is installed on.
type cluster struct {
	*testing.T
	*controlplane.ControlPlane
	client  kubernetes.Interface
	dynamic dynamic.Interface
	audit   audit
}

// newCluster is one with what creates pods, and more controllers.
func newCluster(t *testing.T, more ...string) *cluster {
	t.Helper()
	audit, flags := newAudit(t)
	// Clients that are not sent a list by watch ask for one, as they do of older API servers.
	flags = append(flags, "--feature-gates=WatchList=false")
	c := &cluster{T: t, audit: audit, ControlPlane: controlplane.ForTest(t, controlplane.Options{
		Controllers:    append([]string{"replicaset-controller", "disruption-controller"}, more...),
		APIServerFlags: flags, KubeletMetrics: true,
	})}
	var err error
	c.client, err = kubernetes.NewForConfig(c.RESTConfig())
	c.must(err)
	c.dynamic, err = dynamic.NewForConfig(c.RESTConfig())
	c.must(err)
	return c
}

func (c *cluster) must(err error) {
	c.Helper()
	if err != nil {
		c.Fatal(err)
	}
}

// kubectl is the path of kubectl.
func (c *cluster) kubectl() string {
	c.Helper()
	path, err := c.Kubectl(c.Context())
	c.must(err)
	return path
}

// eventually polls until check is content.
func (c *cluster) eventually(what string, check func() error) {
	c.Helper()
	var last error
	err := wait.PollUntilContextTimeout(c.Context(), 100*time.Millisecond, patience, true, func(context.Context) (bool, error) {
		last = check()
		return last == nil, nil
	})
	if err != nil {
		c.Fatalf("%s: %v: %v", what, err, last)
	}
}

// helm runs Helm against the cluster.
func (c *cluster) helm(args ...string) string {
	c.Helper()
	return helm(c.T, append(args, "--kubeconfig", c.Kubeconfig(), "--namespace", namespace)...)
}

// kubeconfigOf issues a token for a service account of the chart, as a kubelet does for its pods.
func (c *cluster) kubeconfigOf(account string) string {
	c.Helper()
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: new(int64(3600))}}
	granted, err := c.client.CoreV1().ServiceAccounts(namespace).CreateToken(c.Context(), account, request, metav1.CreateOptions{})
	c.must(err)
	config := clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{"c": {Server: c.URL(), CertificateAuthorityData: c.RESTConfig().CAData}},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{account: {Token: granted.Status.Token}},
		Contexts:       map[string]*clientcmdapi.Context{"c": {Cluster: "c", AuthInfo: account}},
		CurrentContext: "c",
	}
	path := filepath.Join(c.TempDir(), account+".kubeconfig")
	c.must(clientcmd.WriteToFile(config, path))
	return path
}

// log is the path of a program's log.
func (c *cluster) log(program string) string {
	return filepath.Join(c.Dir(), program+"-of-the-chart.log")
}

// run runs a program until the test ends, and returns when a page of it answers 200.
func (c *cluster) run(spec process.Spec, page string) {
	c.Helper()
	spec.Log = c.log(spec.Name)
	p, err := process.Start(spec)
	c.must(err)
	c.Cleanup(func() {
		if err := p.Err(); err != nil {
			c.Error(err)
		}
		p.Stop(10 * time.Second)
		if c.T.Failed() {
			c.Logf("the log of %s ends with:\n%s", spec.Name, process.Tail(spec.Log))
		}
	})
	ctx, cancel := context.WithTimeout(c.Context(), patience)
	defer cancel()
	c.must(p.Await(ctx, func(context.Context) error { _, err := get(page); return err }))
}

// get reads a page, as a kubelet does: whoever signed the certificate.
func get(url string) (string, error) {
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}
	return read(&http.Client{Transport: transport}, url)
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
