package remote

import (
	"context"
	"net/url"
	"time"

	"muster.dev/muster/server/explanation"
)

// Explain asks about a pod.
func (c *Client) Explain(ctx context.Context, namespace, name string) (*explanation.Pod, error) {
	e := &explanation.Pod{}
	return e, c.get(ctx, "/debug/explain?"+url.Values{"pod": {namespace + "/" + name}}.Encode(), e)
}

// ExplainManifest asks about a pod that need not exist, in YAML or JSON.
func (c *Client) ExplainManifest(ctx context.Context, manifest []byte) (*explanation.Pod, error) {
	e := &explanation.Pod{}
	return e, c.post(ctx, "/debug/explain", manifest, e)
}

// Waiting are the pods that wait, namespace/name.
func (c *Client) Waiting(ctx context.Context) ([]string, error) {
	var pending Pending
	if err := c.get(ctx, "/debug/pending", &pending); err != nil {
		return nil, err
	}
	var names []string
	for _, pod := range pending.Pods {
		names = append(names, pod.Pod)
	}
	return names, nil
}

// Pending is the pods that have no node.
type Pending struct {
	Pods []PendingPod `json:"pods"` // by name
}

// PendingPod is a pod that has no node.
type PendingPod struct {
	Pod       string    `json:"pod"` // namespace/name
	Scheduler string    `json:"scheduler"`
	Created   time.Time `json:"created,omitzero"`
	Nominated string    `json:"nominated,omitempty"` // status.nominatedNodeName
	// Owners are its controller, the controller of that, and so on, as far as they are known.
	Owners []Owner  `json:"owners,omitempty"`
	Gates  []string `json:"gates,omitempty"`
	// Why it waits, in words that pods that wait for the same have in common.
	Why string `json:"why"`
}
