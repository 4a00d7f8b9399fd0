package gangfaults

import (
	"context"
	"net/http"
	"path"
	"time"
)

// Kinds of objects whose watches are held back, as the API's paths have them.
const ofPods, ofNodes, ofPodGroups = "pods", "nodes", "podgroups"

// watched is the kind of objects that a request watches, "" for another request.
func watched(r *http.Request) string {
	if !r.URL.Query().Has("watch") {
		return ""
	}
	return path.Base(r.URL.Path)
}

// holdBack holds back what is told of a kind of objects for a time, and returns then.
func (t *traffic) holdBack(ctx context.Context, kind string, length time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, length)
	defer cancel()
	t.mu.Lock()
	t.late[kind] = append(t.late[kind], ctx)
	t.mu.Unlock()
	<-ctx.Done()
}

// shown returns when nothing of a kind is held back, or with the context.
func (t *traffic) shown(ctx context.Context, kind string) {
	t.mu.Lock()
	late := t.late[kind]
	t.mu.Unlock()
	for _, until := range late {
		select {
		case <-until.Done():
		case <-ctx.Done():
			return
		}
	}
}

// stream is the answer to a watch, which stands still while its kind is held back.
type stream struct {
	http.ResponseWriter
	kind string
	lane *lane
	left context.Context //nolint:containedctx // of the request that it answers
}

// Unwrap is for [http.ResponseController].
func (s *stream) Unwrap() http.ResponseWriter { return s.ResponseWriter }

// Write implements [io.Writer].
func (s *stream) Write(text []byte) (int, error) {
	if t := s.lane.traffic.Load(); t != nil {
		t.shown(s.left, s.kind)
	}
	return s.ResponseWriter.Write(text)
}
