package server

import (
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"muster.dev/muster/api/config"
)

// asks gets a page of a server that runs.
func asks(t *testing.T, url string) (int, string) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}}
	response, err := client.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(body)
}

func TestWhatThereIsToLookAtIsServedElsewhereThanTheVerbsOrNotAtAll(t *testing.T) {
	verbs, health, looks := []string{
		"/livez",
		"/readyz",
		"/version",
	}, []string{
		"/livez",
		"/readyz",
		"/metrics",
	}, []string{
		"/",
		"/debug/",
		"/debug/nodes",
		"/configz",
		"/statusz",
		"/flagz",
	}
	check := func(t *testing.T, url string, status int, contains string, paths ...string) {
		t.Helper()
		for _, path := range paths {
			if got, body := asks(t, url+path); got != status || !strings.Contains(body, contains) {
				t.Errorf("%s answered %d, want %d with %q:\n%s", path, got, status, contains, body)
			}
		}
	}
	t.Run("by default", func(t *testing.T) {
		p := newProcess(t)
		p.runToLead()
		check(t, p.at(fieldVerbs), http.StatusOK, "", verbs...)
		check(
			t,
			p.at(fieldVerbs),
			http.StatusNotFound,
			"is not served; what there is to look at is at debug.listen, "+p.DebugAddr().String(),
			append(looks, "/metrics")...)
		check(t, p.at(fieldDebug), http.StatusOK, "", append(looks, append(verbs, health...)...)...)
		check(t, p.at(fieldDebug), http.StatusNotFound, "is not served; /debug/ lists what is", "/filter", "/bind")
		if _, index := asks(t, p.at(fieldDebug)+"/debug/"); strings.Contains(index, " /filter ") {
			t.Errorf("its index lists what is not there:\n%s", index)
		}
	})
	t.Run("not at all", func(t *testing.T) {
		p := newProcess(t, func(cfg *config.Configuration) {
			cfg.Debug.Listen, cfg.Serving.HealthListen = "", "127.0.0.1:0"
		})
		p.runToLead()
		check(t, p.at(fieldVerbs), http.StatusOK, "", verbs...)
		check(t, p.at(fieldVerbs), http.StatusNotFound, "is not served; debug.listen is empty", append(looks, "/metrics")...)
		check(t, p.at(fieldHealth), http.StatusOK, "", health...)
		check(t, p.at(fieldHealth), http.StatusNotFound, "is not served; this is serving.healthListen", looks...)
		if got := p.DebugAddr(); got != nil {
			t.Errorf("it is at %s", got)
		}
	})
	t.Run("at an address that is taken", func(t *testing.T) {
		p := newProcess(t, func(cfg *config.Configuration) { cfg.Debug.Listen = "" })
		p.runToLead()
		cfg := config.Default()
		free, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		free.Close()
		cfg.Serving.Listen, cfg.Debug.Listen = free.Addr().String(), p.Addr().String()
		_, err = New(quiet(cfg))
		if err == nil || !strings.HasPrefix(err.Error(), "debug.listen: ") {
			t.Errorf("error %v, want one about debug.listen", err)
		}
		if again, err := net.Listen("tcp", cfg.Serving.Listen); err != nil {
			t.Errorf("the port of the verbs stays open: %v", err)
		} else {
			again.Close()
		}
	})
}

func TestOnALoopbackAddressItIsPlainHTTPThoughTheVerbsAreNot(t *testing.T) {
	files := newIdentity(t)
	files.write(newAuthority(t).issue("muster"))
	p := newProcess(t, func(cfg *config.Configuration) { cfg.Serving.TLS = files.TLS })
	p.runToLead()
	if status, _ := asks(t, p.at(fieldDebug)+"/debug/"); status != http.StatusOK {
		t.Errorf("answered %d", status)
	}
	if status, body := asks(t, p.at(fieldVerbs)+"/livez"); status != http.StatusBadRequest {
		t.Errorf("the verbs answered %d without https: %s", status, body)
	}
}
