package nodemetric

import (
	"context"
	"errors"
	"log/slog"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
)

// Reasons of events about the ConfigMap.
const (
	ReasonConfigInvalid     = "ColocationConfigInvalid"
	ReasonNodeConfigInvalid = "NodeConfigInvalid"
)

// action is muster's action in events.
const action = "ConfiguringNodeMetrics"

// followConfig has the policy of the ConfigMap followed until the context ends. Nothing is
// written before it is known whether there is one.
func (c *Controller) followConfig(ctx context.Context) {
	client := c.Core.CoreV1().ConfigMaps(c.Namespace)
	selector := fields.OneTermEqualSelector(metav1.ObjectNameField, ConfigMapName).String()
	calls := cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			options.FieldSelector = selector
			return client.List(ctx, options)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			options.FieldSelector = selector
			return client.Watch(ctx, options)
		},
	}, c.Core)
	_, informer := cache.NewInformerWithOptions(cache.InformerOptions{
		ListerWatcher: calls,
		ObjectType:    &corev1.ConfigMap{},
		Handler: cache.ResourceEventHandlerFuncs{
			AddFunc: func(object any) { c.configured(object.(*corev1.ConfigMap)) },
			UpdateFunc: func(before, after any) {
				if from, to := before.(*corev1.ConfigMap), after.(*corev1.ConfigMap); from.Data[ConfigMapKey] != to.Data[ConfigMapKey] {
					c.configured(to)
				}
			},
			DeleteFunc: func(any) { c.unconfigured() },
		},
	})
	go func() {
		if cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) && !c.configures() {
			c.unconfigured()
		}
	}()
	informer.RunWithContext(ctx)
}

func (c *Controller) configures() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.policy != nil
}

// unconfigured applies that there is no ConfigMap.
func (c *Controller) unconfigured() {
	c.Metrics.configValid.Set(1)
	c.apply(DefaultPolicy())
}

// configured applies what the ConfigMap says. While that makes no sense the policy stays what it
// was, the default one at the start.
func (c *Controller) configured(config *corev1.ConfigMap) {
	text, said := config.Data[ConfigMapKey]
	if !said {
		c.unconfigured()
		return
	}
	log := c.Logger.With(slog.String("namespace", c.Namespace), slog.String("configMap", ConfigMapName))
	policy, wrong, err := ParsePolicy(text)
	complain := func(reason, message string, err error) {
		c.Metrics.configErr.Inc()
		c.Metrics.configValid.Set(0)
		c.Events.Eventf(config, nil, corev1.EventTypeWarning, reason, action, "%s: %s", message, shorten(err))
	}
	switch {
	case err != nil:
		log.Warn("the policy of NodeMetrics is wrong, and the last one stays", slog.Any("err", err))
		complain(ReasonConfigInvalid, ConfigMapKey+" is wrong, and what it said before stays", err)
		if !c.configures() {
			c.apply(DefaultPolicy())
		}
		return
	case wrong != nil:
		log.Warn("the policy of NodeMetrics is wrong for some nodes, which have that of the cluster", slog.Any("err", wrong))
		complain(ReasonNodeConfigInvalid, ConfigMapKey+" is wrong for some nodes, which have what the cluster has", wrong)
	default:
		c.Metrics.configValid.Set(1)
	}
	c.apply(policy)
}

// shorten cuts an error to a length that fits into an event, beside other words. The author of the ConfigMap
// writes the values that errors repeat.
func shorten(err error) error {
	const most = 800
	if words := err.Error(); len(words) > most {
		return errors.New(words[:most] + " …")
	}
	return err
}
