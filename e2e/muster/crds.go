package muster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	explanationv1alpha1 "muster.dev/muster/api/explanation/v1alpha1"
	reschedulingv1alpha1 "muster.dev/muster/api/rescheduling/v1alpha1"
	"muster.dev/muster/api/scheduling/v1alpha1"
	slov1alpha1 "muster.dev/muster/api/slo/v1alpha1"
	"muster.dev/muster/e2e/await"
	"muster.dev/muster/e2e/binaries"
)

// CreateCRDs creates the chart's CustomResourceDefinitions, as far as they are not there, and
// returns when the API server knows them.
func CreateCRDs(ctx context.Context, client dynamic.Interface) error {
	repository, err := binaries.RepositoryDir(ctx)
	if err != nil {
		return err
	}
	files, err := filepath.Glob(filepath.Join(repository, "charts/muster/crds/*.yaml"))
	if err != nil {
		return fmt.Errorf("look for the chart's CRDs: %w", err)
	}
	if len(files) == 0 {
		return errors.New("the chart has no CRDs")
	}
	definitions := client.Resource(
		schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"},
	)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return fmt.Errorf("read a CRD: %w", err)
		}
		definition := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(text, &definition.Object); err != nil {
			return fmt.Errorf("parse %s: %w", filepath.Base(file), err)
		}
		if _, err := definitions.Create(ctx, definition, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("create CRD %s: %w", definition.GetName(), err)
		}
	}
	for _, resource := range append(
		v1alpha1.Resources(), slov1alpha1.NodeMetrics(), reschedulingv1alpha1.ReschedulingPlans(), explanationv1alpha1.Questions(),
	) {
		err := wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, await.Patience, true, func(ctx context.Context) (bool, error) {
			_, err := client.Resource(resource).List(ctx, metav1.ListOptions{Limit: 1})
			if apierrors.IsNotFound(err) {
				return false, nil
			}
			return err == nil, err
		})
		if err != nil {
			return fmt.Errorf("wait until %s are served: %w", resource.GroupResource(), err)
		}
	}
	return nil
}
