package muster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"

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
	var policy admissionregistrationv1.MutatingAdmissionPolicy
	var binding admissionregistrationv1.MutatingAdmissionPolicyBinding
	first, second, _ := bytes.Cut(printed, []byte("\n---\n"))
	if err := errors.Join(yaml.UnmarshalStrict(first, &policy), yaml.UnmarshalStrict(second, &binding)); err != nil {
		return fmt.Errorf("parse what muster gate-policy prints: %w", err)
	}
	registration := client.AdmissionregistrationV1()
	if _, err := registration.MutatingAdmissionPolicies().Create(ctx, &policy, metav1.CreateOptions{}); unlessThere(err) != nil {
		return fmt.Errorf("create the policy that gates members: %w", err)
	}
	if _, err := registration.MutatingAdmissionPolicyBindings().Create(ctx, &binding, metav1.CreateOptions{}); unlessThere(err) != nil {
		return fmt.Errorf("create the binding of the policy that gates members: %w", err)
	}
	return awaitTrial(ctx, client, true)
}

func unlessThere(err error) error {
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// DeleteGatePolicy takes back what CreateGatePolicy did, and returns when members are not
// gated any more.
func DeleteGatePolicy(ctx context.Context, client kubernetes.Interface) error {
	registration := client.AdmissionregistrationV1()
	err := errors.Join(
		registration.MutatingAdmissionPolicyBindings().Delete(ctx, gatesName, metav1.DeleteOptions{}),
		registration.MutatingAdmissionPolicies().Delete(ctx, gatesName, metav1.DeleteOptions{}),
	)
	if err != nil {
		return fmt.Errorf("delete the policy that gates members: %w", err)
	}
	return awaitTrial(ctx, client, false)
}
