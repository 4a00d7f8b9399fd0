package inspect_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"

	"muster.dev/muster/inspect"
)

// loads is an answer: JSON by its fields, text by Text.
type loads []struct {
	Node string `json:"node"`
	Pods int    `json:"pods"`
}

func (l loads) Text(t *inspect.Table) {
	t.Title("%d nodes", len(l))
	t.Row("NODE", "PODS")
	for _, node := range l {
		t.Row(node.Node, node.Pods)
	}
}

// The same answer is text for people and JSON for programs, and the index knows its endpoint.
func Example() {
	router := inspect.Router(inspect.Endpoint{
		Method: http.MethodGet, Pattern: "/debug/loads", About: "how many pods each node has",
		Handler: inspect.Handler(func(*http.Request) (inspect.Answer, error) {
			return loads{{"worker-a", 12}, {"b", 3}}, nil
		}),
	})
	for _, path := range []string{"/debug/loads", "/debug/loads?format=json", "/debug/nodes"} {
		answer := httptest.NewRecorder()
		router.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, path, http.NoBody))
		fmt.Printf("%d %s\n", answer.Code, answer.Body)
	}
	// Output:
	// 200 2 nodes
	//
	// NODE      PODS
	// worker-a  12
	// b         3
	//
	// 200 [{"node":"worker-a","pods":12},{"node":"b","pods":3}]
	//
	// 404 GET /debug/nodes is not served; /debug/ lists what is
}
