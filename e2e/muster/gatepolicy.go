package muster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/yaml"
)

// CreateGatePolicy has the API server gate members by itself, by what the binary's
// `gate-policy` prints for a configuration, and returns when it does so. A policy that is
// there already stays, as one of another replica.
func CreateGatePolicy(ctx context.Context, client kubernetes.Interface, binary, config string) error {
	cmd := exec.CommandContext(ctx, binary, "gate-policy", "--config="+config)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	printed, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("muster gate-policy: %w: %s", err, bytes.TrimSpace(stderr.Bytes()))
	}
	registration := client.AdmissionregistrationV1()
	// The policy for members comes first. The API server is shown objects of a kind in the order in which they are created: once it
	// gates members by what is created last, it has all that is printed.
	for _, document := range slices.Backward(bytes.Split(printed, []byte("\n---\n"))) {
		var kind metav1.TypeMeta
		if err := yaml.Unmarshal(document, &kind); err != nil {
			return fmt.Errorf("parse what muster gate-policy prints: %w", err)
		}
		if kind.Kind == "MutatingAdmissionPolicy" {
			var policy admissionregistrationv1.MutatingAdmissionPolicy
			if err = yaml.UnmarshalStrict(document, &policy); err == nil {
				_, err = registration.MutatingAdmissionPolicies().Create(ctx, &policy, metav1.CreateOptions{})
			}
		} else {
			var binding admissionregistrationv1.MutatingAdmissionPolicyBinding
			if err = yaml.UnmarshalStrict(document, &binding); err == nil {
				_, err = registration.MutatingAdmissionPolicyBindings().Create(ctx, &binding, metav1.CreateOptions{})
			}
		}
		if unlessThere(err) != nil {
			return fmt.Errorf("create what muster gate-policy prints: %w", err)
		}
	}
	return awaitTrial(ctx, client, true)
}

func unlessThere(err error) error {
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// DeleteGatePolicy takes back what CreateGatePolicy did, with all that changes what is created, and returns when members are not
// gated any more.
func DeleteGatePolicy(ctx context.Context, client kubernetes.Interface) error {
	registration, all := client.AdmissionregistrationV1(), metav1.ListOptions{}
	err := errors.Join(
		registration.MutatingAdmissionPolicyBindings().DeleteCollection(ctx, metav1.DeleteOptions{}, all),
		registration.MutatingAdmissionPolicies().DeleteCollection(ctx, metav1.DeleteOptions{}, all),
	)
	if err != nil {
		return fmt.Errorf("delete the policies that gate pods: %w", err)
	}
	return awaitTrial(ctx, client, false)
}
