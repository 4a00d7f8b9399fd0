package watch

import (
	"context"
	"errors"
	"log/slog"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
)

// health remembers whether a resource can be watched, and says so when that
// changes.
type health struct {
	resource string
	builtIn  bool
	log      *slog.Logger
	errors   prometheus.Counter
	told     func(error) // who else is told, may be nil

	mu     sync.Mutex
	called bool
	reason metav1.StatusReason // why it cannot, "" when it can
}

// observed is calls under observation: an error of either is trouble, a watch
// that begins is the end of it.
func (h *health) observed(calls *cache.ListWatch) *cache.ListWatch {
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			list, err := calls.ListWithContextFunc(ctx, options)
			if err != nil {
				h.observe(ctx, err)
			}
			return list, err
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (apiwatch.Interface, error) {
			stream, err := calls.WatchFuncWithContext(ctx, options)
			if err != nil && options.SendInitialEvents != nil {
				// An ordinary list comes next and meets what there is to meet. Without its type the
				// error cannot keep the reflector in a loop of its own, where it sleeps through a stop.
				return nil, errors.New(err.Error())
			}
			h.observe(ctx, err)
			return stream, err
		},
	}
}

func (h *health) observe(ctx context.Context, err error) {
	if ctx.Err() != nil || apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
		return // stopped, or told to list again
	}
	reason := reasonOf(err)
	lacks := h.builtIn && reason == metav1.StatusReasonNotFound
	if err != nil && !lacks {
		h.errors.Inc()
	}
	h.mu.Lock()
	before, news := h.reason, !h.called || h.reason != reason
	h.called, h.reason = true, reason
	h.mu.Unlock()
	if news && h.told != nil {
		h.told(err)
	}
	switch {
	case reason == before:
	case reason == "":
		h.log.Info("watching a resource again", slog.String("resource", h.resource))
	case lacks:
		h.log.Debug("the cluster does not serve a resource", slog.String("resource", h.resource))
	default:
		h.log.Warn("cannot watch a resource", slog.String("resource", h.resource), slog.String("reason", string(reason)), slog.Any("err", err))
	}
}

// reasonOf returns the API server's reason for an error, "" for none.
func reasonOf(err error) metav1.StatusReason {
	if err == nil {
		return ""
	}
	if reason := apierrors.ReasonForError(err); reason != metav1.StatusReasonUnknown {
		return reason
	}
	return "Unreachable"
}

func (h *health) state() metav1.StatusReason {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.reason
}
