package muster

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
)

// page returns a page that answers 200.
func page(ctx context.Context, url string) (string, error) {
	body, err := get(ctx, url)
	if err != nil {
		return "", err
	}
	defer body.Close()
	text, err := io.ReadAll(body)
	return string(text), err
}

// get returns the body of a page that answers 200. The caller must close it.
func get(ctx context.Context, url string) (io.ReadCloser, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		defer response.Body.Close()
		text, _ := io.ReadAll(io.LimitReader(response.Body, 4<<10))
		return nil, fmt.Errorf("%s answered %s: %s", request.URL.Path, response.Status, bytes.TrimSpace(text))
	}
	return response.Body, nil
}
