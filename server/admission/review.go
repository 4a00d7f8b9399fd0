package admission

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/go-faster/jx"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/api/bounded"
	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/gang/operators"
	"muster.dev/muster/predicates"
	"muster.dev/muster/server/body"
)

// reviewer answers reviews for a webhook.
type reviewer struct {
	bodies   *body.Readers
	profiles *predicates.Profiles
	signs    operators.Signs
}

// operation is one of a JSON patch.
type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value"`
}

// answer answers an AdmissionReview of admission.k8s.io/v1 about a pod: what is created is changed by a patch of it, and what
// is not created by none, as gates and schedulers cannot be added later.
func (v *reviewer) answer(w http.ResponseWriter, r *http.Request, patch func(*corev1.Pod) []operation) {
	share := v.bodies.Any.Budget.Share()
	defer share.GiveBack()
	var answer []byte
	text, err := v.bodies.Any.Read(w, r, nil, &share)
	if err == nil {
		answer, err = v.review(text, patch)
	}
	if err != nil {
		http.Error(w, err.Error(), body.Status(err))
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(answer) //nolint:gosec // it is JSON; the caller may be gone
}

func (v *reviewer) review(text []byte, patch func(*corev1.Pod) []operation) (answer []byte, err error) {
	review, err := readReview(text, &v.signs)
	if err != nil {
		return nil, err
	}
	told := admissionv1.AdmissionReview{Response: &admissionv1.AdmissionResponse{UID: review.uid, Allowed: true}}
	told.APIVersion, told.Kind = admissionv1.SchemeGroupVersion.String(), "AdmissionReview"
	if !review.creates() {
		return json.Marshal(told)
	}
	if operations := patch(&review.pod); len(operations) > 0 {
		if told.Response.Patch, err = json.Marshal(operations); err != nil {
			return nil, err
		}
		told.Response.PatchType = new(admissionv1.PatchTypeJSONPatch)
	}
	return json.Marshal(told)
}

// admissionReview has the fields of an AdmissionReview that the rules of webhooks read. Anybody who
// may create pods writes most of it, so no other field of the pod is decoded: neither its
// quantities nor its lists of unlimited length.
type admissionReview struct {
	signs                                 *operators.Signs // that the pod may have
	apiVersion                            string
	asked                                 bool // there is a request
	uid                                   types.UID
	operation, subresource, group, plural string
	shown                                 bool // there is an object
	pod                                   corev1.Pod
}

// creates reports whether it is about a pod that is created.
func (r *admissionReview) creates() bool {
	return r.operation == string(admissionv1.Create) && r.subresource == ""
}

// readReview reads an AdmissionReview of admission.k8s.io/v1 about a pod.
func readReview(body []byte, signs *operators.Signs) (*admissionReview, error) {
	body = bytes.TrimSpace(body)
	length, err := bounded.Length(body)
	if err == nil && length < len(body) {
		err = errors.New("unexpected data after the object")
	}
	r := &admissionReview{signs: signs}
	if err == nil {
		err = r.read(jx.DecodeBytes(body))
	}
	if err != nil {
		return nil, fmt.Errorf("not an AdmissionReview: %w", err)
	}
	switch want := admissionv1.SchemeGroupVersion.String(); {
	case r.apiVersion != want:
		return nil, fmt.Errorf("apiVersion: %q, want %q", r.apiVersion, want)
	case !r.asked:
		return nil, errors.New("request: missing")
	case r.group != "" || r.plural != "pods":
		return nil, fmt.Errorf("request.resource: %q of group %q, want pods of the core group", r.plural, r.group)
	case r.creates() && !r.shown:
		return nil, errors.New("request.object: missing")
	}
	return r, nil
}

// fields has fields of an object read by name, and the others skipped. A field that is null is as
// one that is missing.
func fields(d *jx.Decoder, read map[string]func(*jx.Decoder) error) error {
	return bounded.Object(d, func(d *jx.Decoder, name []byte) error {
		known := read[string(name)]
		if known == nil || d.Next() == jx.Null {
			return d.Skip()
		}
		if err := known(d); err != nil {
			return fmt.Errorf("%.64s: %w", name, err)
		}
		return nil
	})
}

// word reads a string that is not long.
func word[T ~string](to *T) func(*jx.Decoder) error {
	return func(d *jx.Decoder) error {
		text, err := d.StrBytes()
		if err == nil && len(text) > bounded.MaxName {
			err = fmt.Errorf("it has %d bytes; it may have %d", len(text), bounded.MaxName)
		}
		*to = T(text)
		return err
	}
}

func (r *admissionReview) read(d *jx.Decoder) error {
	resource := map[string]func(*jx.Decoder) error{"group": word(&r.group), "resource": word(&r.plural)}
	labels := slices.Concat(v1alpha1.GroupLabels(), []string{v1alpha1.LabelAhead, labelName}, r.signs.Labels)
	annotations := append([]string{v1alpha1.AnnotationKoordinatorName}, r.signs.Annotations...)
	object := map[string]func(*jx.Decoder) error{
		"metadata": func(d *jx.Decoder) error {
			return fields(d, map[string]func(*jx.Decoder) error{
				"namespace": word(&r.pod.Namespace), "labels": keep(&r.pod.Labels, labels),
				"annotations": keep(&r.pod.Annotations, annotations), "ownerReferences": r.readOwners,
			})
		},
		"spec": func(d *jx.Decoder) error {
			return fields(d, map[string]func(*jx.Decoder) error{
				"nodeName": word(&r.pod.Spec.NodeName), "schedulerName": word(&r.pod.Spec.SchedulerName),
				"schedulingGroup": r.readGroup, "schedulingGates": r.readGates, "priorityClassName": word(&r.pod.Spec.PriorityClassName),
			})
		},
	}
	return fields(d, map[string]func(*jx.Decoder) error{
		"apiVersion": word(&r.apiVersion),
		"request": func(d *jx.Decoder) error {
			r.asked = true
			return fields(d, map[string]func(*jx.Decoder) error{
				"uid": word(&r.uid), "operation": word(&r.operation), "subResource": word(&r.subresource),
				"resource": func(d *jx.Decoder) error { return fields(d, resource) },
				"object": func(d *jx.Decoder) error {
					r.shown = true
					return fields(d, object)
				},
			})
		},
	})
}

// keep reads some labels or annotations, and skips the others.
func keep(to *map[string]string, keys []string) func(*jx.Decoder) error {
	return func(d *jx.Decoder) error {
		*to = map[string]string{}
		return bounded.Object(d, func(d *jx.Decoder, name []byte) error {
			if !slices.Contains(keys, string(name)) {
				return d.Skip()
			}
			var value string
			key := string(name)
			err := word(&value)(d)
			(*to)[key] = value
			return err
		})
	}
}

// readOwners keeps a DaemonSet, and a controller that is a sign, if there are any.
func (r *admissionReview) readOwners(d *jx.Decoder) error {
	r.pod.OwnerReferences = nil
	var owner metav1.OwnerReference // one for all, as there may be many
	var controls, daemonSet, sign bool
	read := map[string]func(*jx.Decoder) error{
		"apiVersion": word(&owner.APIVersion), "kind": word(&owner.Kind), "controller": func(d *jx.Decoder) (err error) {
			controls, err = d.Bool()
			return err
		},
	}
	return bounded.Array(d, func(d *jx.Decoder) error {
		owner, controls = metav1.OwnerReference{Controller: &controls}, false
		if err := fields(d, read); err != nil {
			return err
		}
		isDaemonSet, isSign := owner.Kind == kindDaemonSet && !daemonSet, !sign && r.signs.Owns(owner)
		if isDaemonSet || isSign {
			kept := owner
			kept.Controller = new(controls)
			r.pod.OwnerReferences = append(r.pod.OwnerReferences, kept)
		}
		daemonSet, sign = daemonSet || isDaemonSet, sign || isSign
		return nil
	})
}

// readGroup notes that kube-scheduler itself plans the pod with others.
func (r *admissionReview) readGroup(d *jx.Decoder) error {
	r.pod.Spec.SchedulingGroup = &corev1.PodSchedulingGroup{}
	return d.Skip()
}

// readGates keeps the gates of muster, and one other.
func (r *admissionReview) readGates(d *jx.Decoder) error {
	r.pod.Spec.SchedulingGates = nil
	return bounded.Array(d, func(d *jx.Decoder) error {
		var gate corev1.PodSchedulingGate
		if err := fields(d, map[string]func(*jx.Decoder) error{"name": word(&gate.Name)}); err != nil {
			return err
		}
		ours := gate.Name == v1alpha1.SchedulingGate || gate.Name == v1alpha1.AheadGate
		if len(r.pod.Spec.SchedulingGates) == 0 || ours && !hasGate(&r.pod, gate.Name) {
			r.pod.Spec.SchedulingGates = append(r.pod.Spec.SchedulingGates, gate)
		}
		return nil
	})
}
