package record

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/utils/clock"

	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/cluster"
)

const (
	// retry is when a write that failed is tried again. It doubles each time.
	retry, maxRetry = 50 * time.Millisecond, time.Second
)

// Writer writes records. Its methods are safe for concurrent use.
type Writer struct {
	client dynamic.Interface
	clock  clock.Clock
}

// NewWriter returns a Writer that writes through a client, which should not hold requests
// back: pods wait to be bound.
func NewWriter(client dynamic.Interface, c clock.Clock) *Writer { return &Writer{client, c} }

// Write puts a record on a PodGroup, against the very version of it that is known to allow
// that: first the one that is given, then what the API server has. It tries until the
// context ends, unless the record must not be written: then the error is ErrFenced or
// ErrChanged. After another error the record may have been written.
func (w *Writer) Write(ctx context.Context, podGroup *unstructured.Unstructured, r Record) error {
	latest := podGroup
	for pause := retry; ; pause = min(2*pause, maxRetry) {
		err := w.try(ctx, podGroup, latest, r)
		if apierrors.IsConflict(err) {
			var read *unstructured.Unstructured
			if read, err = w.resource(podGroup).Get(ctx, podGroup.GetName(), metav1.GetOptions{}); err == nil {
				latest = read
				continue
			}
		}
		switch {
		case err == nil || errors.Is(err, ErrFenced) || errors.Is(err, ErrChanged):
			return err
		case apierrors.IsNotFound(err):
			return ErrChanged
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("record the start on PodGroup %s/%s: %w", podGroup.GetNamespace(), podGroup.GetName(), err)
		case <-w.clock.After(pause):
		}
	}
}

// try writes a record on the latest version of a PodGroup that is known, if it allows that.
func (w *Writer) try(ctx context.Context, counted, latest *unstructured.Unstructured, r Record) error {
	if before := Of(latest); before != nil && before.Epoch.after(r.Epoch) {
		return ErrFenced
	}
	if latest.GetUID() != counted.GetUID() || asksForMore(counted, latest, r.Members) {
		return ErrChanged
	}
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": latest.GetUID(), "resourceVersion": latest.GetResourceVersion(), "annotations": map[string]string{Annotation: string(text)},
	}})
	if err != nil {
		return err
	}
	_, err = w.resource(latest).
		Patch(ctx, latest.GetName(), types.MergePatchType, patch, metav1.PatchOptions{FieldManager: cluster.FieldManager})
	return err
}

// asksForMore reports whether minMember was raised since the members were counted, beyond them.
func asksForMore(counted, latest *unstructured.Unstructured, members int) bool {
	before, err := v1alpha1.Decode(counted)
	after, latestErr := v1alpha1.Decode(latest)
	if err != nil || latestErr != nil {
		return true
	}
	return after.Spec.MinMember > before.Spec.MinMember && int(after.Spec.MinMember) > members
}

func (w *Writer) resource(podGroup *unstructured.Unstructured) dynamic.ResourceInterface {
	return w.client.Resource(v1alpha1.ResourceOf(podGroup.GroupVersionKind().Group)).Namespace(podGroup.GetNamespace())
}
