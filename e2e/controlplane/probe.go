package controlplane

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// selfSigned talks to the health endpoints of components that sign their own
// certificates. They are children of this process on 127.0.0.1.
var selfSigned = &http.Client{
	Transport: &http.Transport{
		TLSClientConfig:   &tls.Config{InsecureSkipVerify: true},
		DisableKeepAlives: true,
	},
}

// answers probes a health endpoint: 200 is healthy.
func answers(client *http.Client, url string) func(context.Context) error {
	return func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		return get(ctx, client, url, func(io.Reader) error { return nil })
	}
}

// get has the body of an answer read whose status is 200.
func get(ctx context.Context, client *http.Client, url string, read func(body io.Reader) error) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(response.Body, 4<<10))
		return fmt.Errorf("%s answered %s: %s", url, response.Status, strings.TrimSpace(string(text)))
	}
	return read(response.Body)
}
