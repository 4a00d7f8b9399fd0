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
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return err
		}
		response, err := client.Do(request)
		if err != nil {
			return err
		}
		defer response.Body.Close()
		body, err := io.ReadAll(io.LimitReader(response.Body, 4<<10))
		if err != nil {
			return fmt.Errorf("read the answer of %s: %w", url, err)
		}
		if response.StatusCode != http.StatusOK {
			return fmt.Errorf("%s answered %s: %s", url, response.Status, strings.TrimSpace(string(body)))
		}
		return nil
	}
}
