package conformance

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
)

// call calls a verb of muster as kube-scheduler does.
func call(verbs http.Handler, verb string, request, answer any) error {
	body, err := json.Marshal(request)
	if err != nil {
		return err
	}
	post, err := http.NewRequestWithContext(context.Background(), http.MethodPost, "/"+verb, bytes.NewReader(body))
	if err != nil {
		return err
	}
	reply := httptest.NewRecorder()
	verbs.ServeHTTP(reply, post)
	if reply.Code != http.StatusOK {
		return fmt.Errorf("%s answers %d: %s", verb, reply.Code, reply.Body)
	}
	return json.Unmarshal(reply.Body.Bytes(), answer)
}
