package main

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
)

// overview is a muster of a version, as far as status asks for it.
func overview(version string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintf(w, `{"version":%q}`, version) })
}

// nothing listens there: port 0 is none.
const nothing = "http://127.0.0.1:0"

func TestWhomACommandAsks(t *testing.T) {
	named := httptest.NewServer(overview("named"))
	t.Cleanup(named.Close)
	other := httptest.NewServer(overview("of the environment"))
	t.Cleanup(other.Close)
	empty := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { // a cluster without pods
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"kind":"PodList","apiVersion":"v1","items":[]}`)
	}))
	t.Cleanup(empty.Close)
	kubeconfig := filepath.Join(t.TempDir(), "config")
	writeFile(t, kubeconfig, fmt.Sprintf(`{"apiVersion":"v1","kind":"Config","current-context":"here",
"clusters":[{"name":"c","cluster":{"server":%q}}],"contexts":[{"name":"here","context":{"cluster":"c"}}]}`, empty.URL))
	const inCluster = "no pod in any namespace has the labels app.kubernetes.io/name=muster"
	beside := local{muster: nothing, rescheduler: nothing}
	status := func(environment, kube, args string) string {
		t.Setenv(serverVariable, environment)
		t.Setenv("KUBECONFIG", kube)
		var out bytes.Buffer
		runBeside(t.Context(), beside, strings.Fields("status "+args), nil, &out, &out)
		return out.String()
	}
	expect := func(name, got, want string) {
		t.Helper()
		if !strings.Contains(got, want) {
			t.Errorf("%s: %q is not in:\n%s", name, want, got)
		}
	}
	t.Setenv("HOME", t.TempDir())
	expect("--server", status(other.URL, kubeconfig, "--server "+named.URL), "muster         named")
	expect("--server says whom", status(other.URL, kubeconfig, "--server "+named.URL), "asked          "+named.URL)
	expect("--context before the environment", status(other.URL, kubeconfig, "--context here"), inCluster)
	expect("--kubeconfig before the environment", status(other.URL, "", "--kubeconfig "+kubeconfig), inCluster)
	expect("-n", status(other.URL, kubeconfig, "-n team"), "no pod in namespace team")
	expect("the environment before the kubeconfig", status(other.URL, kubeconfig, ""), "muster         of the environment")
	expect("the cluster that kubectl would ask", status("", kubeconfig, ""), inCluster)
	expect("its rescheduler", status("", kubeconfig, ""), "app.kubernetes.io/name in (muster, muster-rescheduler) and a container rescheduler")
	expect("no kubeconfig", status("", filepath.Join(t.TempDir(), "absent"), ""), "nothing answers at "+nothing)
	onThisMachine := httptest.NewServer(overview("beside"))
	t.Cleanup(onThisMachine.Close)
	beside.muster = onThisMachine.URL
	expect("what listens before the kubeconfig", status("", kubeconfig, ""), "muster         beside")
	expect("--context before what listens", status("", kubeconfig, "--context here"), inCluster)
}
