package server

import (
	"net"
	"net/http"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"muster.dev/muster/api/config"
)

func TestHealthIsServedOnAPortOfItsOwnAndVerbsAreNot(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	p := newProcess(t, func(cfg *config.Configuration) { cfg.Serving.HealthListen = "127.0.0.1:0" })
	p.run()
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport}
	url := p.at(fieldHealth)
	for path, want := range map[string]int{
		"/livez": http.StatusOK, "/metrics": http.StatusOK,
		"/debug/": http.StatusNotFound, "/configz": http.StatusNotFound, "/filter": http.StatusNotFound,
	} {
		response, err := client.Get(url + path)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		if response.StatusCode != want {
			t.Errorf("%s answered %s, want %d", path, response.Status, want)
		}
	}
	response, err := client.Post(url+"/bind", "application/json", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if response.StatusCode != http.StatusNotFound {
		t.Errorf("bind answered %s, want that there is no such page", response.Status)
	}
	p.stop()
	if err := <-p.ended; err != nil {
		t.Errorf("Run returned %v, want nil", err)
	}
}

func TestAHealthAddressInUseNamesTheField(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	cfg := config.Default()
	cfg.Serving.Listen, cfg.Debug.Listen, cfg.Serving.HealthListen = "127.0.0.1:0", "127.0.0.1:0", taken.Addr().String()
	_, err = New(quiet(cfg))
	if err == nil || !strings.HasPrefix(err.Error(), "serving.healthListen: listen tcp ") {
		t.Errorf("error %v, want that the address of serving.healthListen is in use", err)
	}
}
