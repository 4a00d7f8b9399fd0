package controlplane

import (
	"fmt"
	"os"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// The users that the components authenticate as; RBAC's bootstrap roles name them.
const (
	adminUser             = "admin"
	adminGroup            = "system:masters"
	controllerManagerUser = "system:kube-controller-manager"
	schedulerUser         = "system:kube-scheduler"
	frontProxyUser        = "front-proxy-client"
)

// Files that several components read.
const (
	authorityFile      = "ca.crt"
	serverFile         = "apiserver"
	frontProxyFile     = "front-proxy"
	serviceAccountFile = "service-account"
)

func (cp *ControlPlane) writeIdentities() error {
	if err := cp.write(authorityFile, cp.authority.pem); err != nil {
		return err
	}
	server, err := cp.authority.issueServer()
	if err != nil {
		return err
	}
	frontProxy, err := cp.authority.issueClient(frontProxyUser)
	if err != nil {
		return err
	}
	serviceAccounts, err := cp.authority.issueClient("service-account-tokens")
	if err != nil {
		return err
	}
	for name, pair := range map[string]keyPair{
		serverFile: server, frontProxyFile: frontProxy, serviceAccountFile: serviceAccounts,
	} {
		if err := cp.write(name+".crt", pair.cert); err != nil {
			return err
		}
		if err := cp.write(name+".key", pair.key); err != nil {
			return err
		}
	}
	for user, groups := range map[string][]string{
		adminUser: {adminGroup}, controllerManagerUser: nil, schedulerUser: nil,
	} {
		if _, err := cp.KubeconfigFor(user, groups...); err != nil {
			return err
		}
	}
	return nil
}

// Kubeconfig is the path of the administrator's kubeconfig.
func (cp *ControlPlane) Kubeconfig() string { return cp.kubeconfig(adminUser) }

// KubeconfigFor issues a certificate for a user with groups and returns the path of a
// kubeconfig that holds it. What the user may do is up to RBAC.
func (cp *ControlPlane) KubeconfigFor(user string, groups ...string) (string, error) {
	pair, err := cp.authority.issueClient(user, groups...)
	if err != nil {
		return "", err
	}
	const name = "muster-e2e"
	config := clientcmdapi.Config{
		Clusters: map[string]*clientcmdapi.Cluster{name: {
			Server: cp.URL(), CertificateAuthorityData: cp.authority.pem,
		}},
		AuthInfos: map[string]*clientcmdapi.AuthInfo{user: {
			ClientCertificateData: pair.cert, ClientKeyData: pair.key,
		}},
		Contexts:       map[string]*clientcmdapi.Context{name: {Cluster: name, AuthInfo: user}},
		CurrentContext: name,
	}
	path := cp.kubeconfig(user)
	if err := clientcmd.WriteToFile(config, path); err != nil {
		return "", fmt.Errorf("write the kubeconfig of %s: %w", user, err)
	}
	return path, nil
}

// RESTConfig is the administrator's, without rate limits and with protobuf where the
// API server can. Each call returns a copy.
func (cp *ControlPlane) RESTConfig() *rest.Config {
	config, err := clientcmd.BuildConfigFromFlags("", cp.Kubeconfig())
	if err != nil {
		panic(fmt.Sprintf("read back a kubeconfig that was written by this package: %v", err))
	}
	config.QPS = -1
	config.ContentType = runtime.ContentTypeProtobuf
	config.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	return config
}

// URL of the API server.
func (cp *ControlPlane) URL() string { return "https://" + local(cp.ports.apiServer) }

func (cp *ControlPlane) kubeconfig(user string) string {
	return cp.file(strings.ReplaceAll(user, ":", "-") + ".kubeconfig")
}

func (cp *ControlPlane) write(name string, content []byte) error {
	if err := os.WriteFile(cp.file(name), content, 0o600); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}
