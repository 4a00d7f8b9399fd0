{{- /*
The admission policies, for the chart and for the commands that print them (server/admission). Of Helm's functions they use
include, indent, nindent, toJson and trim, which the commands have as well. Each is given

  name     of the policy, with which the names of its bindings begin
  labels   as YAML, none if there are none

and what its own comment names.
*/}}

{{- define "muster.policy.labels" -}}
{{- with .labels }}
  labels:
    {{- . | nindent 4 }}
{{- end }}
{{- end }}

{{- /* Gates and schedulers cannot be changed once a pod is created. */}}
{{- define "muster.policy.createdPods" -}}
matchConstraints:
  resourceRules:
  - {apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods], scope: Namespaced}
{{- end }}

{{- /*
What cannot be a name makes no member, and nobody would lift the gate. Pods of the controllers of others count by what they show:
muster lifts the gate of one that turns out to be of no gang.

  kinds  of controllers whose pods start together (gangs.kinds)
*/}}
{{- define "muster.policy.isMember" -}}
["scheduling.x-k8s.io/pod-group","pod-group.scheduling.sigs.k8s.io","muster.dev/pod-group"].exists(label,
  object.metadata.?labels[?label].orValue("") != "") ||
{{- with include "muster.policy.shows" . }}
{{ . }} ||
{{- end }}
object.metadata.?annotations[?"gang.scheduling.koordinator.sh/name"].orValue("").matches("^[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$")
{{- end }}

{{- /* Pods that show that they may be of one of the kinds; nothing where no kind shows. */}}
{{- define "muster.policy.shows" -}}
{{- $or := "" }}
{{- with include "muster.policy.labelsOfKinds" . }}
{{- $or }}[{{ . }}].exists(label,
  object.metadata.?labels[?label].orValue("") != "")
{{- $or = " ||\n" }}
{{- end }}
{{- with include "muster.policy.annotationsOfKinds" . }}
{{- $or }}[{{ . }}].exists(annotation,
  object.metadata.?annotations[?annotation].orValue("") != "")
{{- $or = " ||\n" }}
{{- end }}
{{- with include "muster.policy.ownersOfKinds" . }}
{{- $or }}object.metadata.?ownerReferences.orValue([]).exists(owner, owner.?controller.orValue(false) &&
  owner.apiVersion.split("/")[0] + "/" + owner.kind in [{{ . }}])
{{- end }}
{{- end }}

{{- /* By these a pod shows that it may be of one of the kinds: its labels, its annotations, or its controller. */}}
{{- define "muster.policy.labelsOfKinds" -}}
{{- $next := "" }}
{{- range .kinds }}
{{- $labels := "" }}
{{- if eq . "IndexedJob" }}{{ $labels = `"batch.kubernetes.io/job-completion-index"` }}
{{- else if eq . "JobSet" }}{{ $labels = `"jobset.sigs.k8s.io/jobset-name"` }}
{{- else if eq . "LeaderWorkerSet" }}{{ $labels = `"leaderworkerset.sigs.k8s.io/name"` }}
{{- else if eq . "Kubeflow" "MPIJob" }}{{ $labels = `"training.kubeflow.org/job-name"` }}
{{- else if eq . "Spark" }}{{ $labels = `"sparkoperator.k8s.io/app-name"` }}
{{- else if eq . "Kueue" }}{{ $labels = `"kueue.x-k8s.io/pod-group-name"` }}
{{- else if eq . "Grove" }}{{ $labels = `"grove.io/podgang"` }}
{{- end }}
{{- with $labels }}{{ $next }}{{ . }}{{ $next = "," }}{{ end }}
{{- end }}
{{- end }}

{{- define "muster.policy.annotationsOfKinds" -}}
{{- $next := "" }}
{{- range .kinds }}
{{- $annotations := "" }}
{{- if eq . "Volcano" }}{{ $annotations = `"scheduling.k8s.io/group-name","scheduling.volcano.sh/group-name"` }}
{{- else if eq . "YuniKorn" }}{{ $annotations = `"yunikorn.apache.org/task-group-name"` }}
{{- end }}
{{- with $annotations }}{{ $next }}{{ . }}{{ $next = "," }}{{ end }}
{{- end }}
{{- end }}

{{- define "muster.policy.ownersOfKinds" -}}
{{- $next := "" }}
{{- range .kinds }}
{{- $owners := "" }}
{{- if eq . "JobSet" }}{{ $owners = `"jobset.x-k8s.io/JobSet"` }}
{{- else if eq . "LeaderWorkerSet" }}{{ $owners = `"leaderworkerset.x-k8s.io/LeaderWorkerSet"` }}
{{- else if eq . "Kubeflow" }}
{{- $owners = `"kubeflow.org/PyTorchJob","kubeflow.org/TFJob","kubeflow.org/XGBoostJob","kubeflow.org/PaddleJob","kubeflow.org/JAXJob"` }}
{{- else if eq . "MPIJob" }}{{ $owners = `"kubeflow.org/MPIJob"` }}
{{- else if eq . "RayCluster" }}{{ $owners = `"ray.io/RayCluster"` }}
{{- else if eq . "Spark" }}{{ $owners = `"sparkoperator.k8s.io/SparkApplication"` }}
{{- end }}
{{- with $owners }}{{ $next }}{{ . }}{{ $next = "," }}{{ end }}
{{- end }}
{{- end }}

{{- /* The list is a map by name: other gates stay. */}}
{{- define "muster.policy.addGate" -}}
Object{spec: Object.spec{schedulingGates: [
  Object.spec.schedulingGates{name: "{{ . }}"}]}}
{{- end }}

{{- /* Containers are a map by name: of the first one nothing else changes. Requests must equal limits. */}}
{{- define "muster.policy.manage" -}}
Object{spec: Object.spec{containers: [Object.spec.containers{
  name: object.spec.containers[0].name,
  resources: Object.spec.containers.resources{
    limits: {"muster.dev/managed": "1", "muster.dev/bound": "1"},
    requests: {"muster.dev/managed": "1", "muster.dev/bound": "1"}}}]}}
{{- end }}

{{- /* Where these pods run, and that they run, is for nobody to put off, though somebody has opted in for them. */}}
{{- define "muster.policy.notToBePutOff" -}}
- expression: '!object.metadata.?ownerReferences.orValue([]).exists(owner, owner.kind == "DaemonSet")'
  name: not-of-a-daemonset
- expression: '!(object.spec.?priorityClassName.orValue("") in ["system-node-critical","system-cluster-critical"])'
  name: not-of-the-system
{{- end }}

{{- /*
Pods that a gate can be put on. A change has all of admission run again: that the pod has the gate by then costs least if it
is seen here.
*/}}
{{- define "muster.policy.ungated" -}}
- expression: '!has(object.spec.schedulingGroup)'
  name: not-of-kubernetes-own-gangs
- expression: '!has(object.spec.nodeName)'
  name: without-a-node
- expression: |-
    !has(object.spec.schedulingGates) ||
      !object.spec.schedulingGates.exists(gate, gate.name == "{{ . }}")
  name: without-the-gate
{{- end }}

{{- /*
A gate that a webhook takes away is put back. A label that one adds comes too late: the API server runs a policy again only for
a pod that it ran for before.
*/}}
{{- define "muster.policy.gate" -}}
mutations:
- applyConfiguration:
    expression: |-
      {{- include "muster.policy.addGate" . | nindent 6 }}
  patchType: ApplyConfiguration
reinvocationPolicy: IfNeeded
{{- end }}

{{- /*
Gates pods when they are created, and denies nothing: the members of gangs of the schedulers, and pods of no group of those
ahead that are opted in. A pod's own label decides, and without one that of its namespace: a binding for each.

  schedulers  whose members of gangs are gated
  ahead       those whose pods of no group are gated, if there are any
  kinds       of controllers whose pods start together
*/}}
{{- define "muster.policy.gates" -}}
# Gates the members of gangs when they are created. muster lifts the gates.
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata:
  name: {{ .name }}{{ include "muster.policy.labels" . }}
spec:
  failurePolicy: Ignore
  matchConditions:
  - expression: object.spec.schedulerName in {{ toJson .schedulers }}
    name: scheduler
  - expression: |-
      {{- include "muster.policy.isMember" . | nindent 6 }}
    name: member
  {{- include "muster.policy.ungated" "muster.dev/gang" | nindent 2 }}
  {{- include "muster.policy.createdPods" . | nindent 2 }}
  {{- include "muster.policy.gate" "muster.dev/gang" | nindent 2 }}
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata:
  name: {{ .name }}{{ include "muster.policy.labels" . }}
spec:
  policyName: {{ .name }}
{{- if .ahead }}
---
# Gates pods of no group that are opted in to be placed ahead, by their own label or by that of their namespace.
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata:
  name: {{ .name }}-ahead{{ include "muster.policy.labels" . }}
spec:
  failurePolicy: Ignore
  matchConditions:
  - expression: object.spec.schedulerName in {{ toJson .ahead }}
    name: scheduler
  - expression: |-
      !({{ include "muster.policy.isMember" . | indent 6 | trim }})
    name: no-member
  {{- include "muster.policy.notToBePutOff" . | nindent 2 }}
  {{- include "muster.policy.ungated" "muster.dev/ahead" | nindent 2 }}
  {{- include "muster.policy.createdPods" . | nindent 2 }}
  {{- include "muster.policy.gate" "muster.dev/ahead" | nindent 2 }}
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata:
  name: {{ .name }}-ahead-pods{{ include "muster.policy.labels" . }}
spec:
  matchResources:
    objectSelector:
      matchLabels: {muster.dev/ahead: "true"}
  policyName: {{ .name }}-ahead
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata:
  name: {{ .name }}-ahead-namespaces{{ include "muster.policy.labels" . }}
spec:
  matchResources:
    namespaceSelector:
      matchLabels: {muster.dev/ahead: "true"}
    objectSelector:
      matchExpressions:
      - {key: muster.dev/ahead, operator: DoesNotExist}
  policyName: {{ .name }}-ahead
{{- end }}
{{- end }}

{{- /*
Makes pods managed when they are created, and denies nothing: the first container asks for the resources that have
kube-scheduler ask muster. It does so for members of gangs and in namespaces that are labelled, a binding for each. A change has
all of admission run again: what has been done is seen here.

  schedulers  whose pods are managed
*/}}
{{- define "muster.policy.managed" -}}
# Has pods ask for what makes them managed. It is of use with 'muster scheduler-config --managed' only.
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata:
  name: {{ .name }}{{ include "muster.policy.labels" . }}
spec:
  failurePolicy: Ignore
  matchConditions:
  - expression: object.spec.schedulerName in {{ toJson .schedulers }}
    name: scheduler
  - expression: '!has(object.spec.nodeName)'
    name: without-a-node
  - expression: |-
      !["muster.dev/managed","muster.dev/bound"].all(resource,
        object.spec.containers[0].?resources.?requests[?resource].hasValue())
    name: not-managed
  {{- include "muster.policy.createdPods" . | nindent 2 }}
  mutations:
  - applyConfiguration:
      expression: |-
        {{- include "muster.policy.manage" . | nindent 8 }}
    patchType: ApplyConfiguration
  reinvocationPolicy: IfNeeded
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata:
  name: {{ .name }}-namespaces{{ include "muster.policy.labels" . }}
spec:
  matchResources:
    namespaceSelector:
      matchLabels: {muster.dev/managed: "true"}
  policyName: {{ .name }}
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata:
  name: {{ .name }}-gangs-x-k8s-io{{ include "muster.policy.labels" . }}
spec:
  matchResources:
    objectSelector:
      matchExpressions:
      - {key: scheduling.x-k8s.io/pod-group, operator: Exists}
  policyName: {{ .name }}
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata:
  name: {{ .name }}-gangs-sigs-k8s-io{{ include "muster.policy.labels" . }}
spec:
  matchResources:
    objectSelector:
      matchExpressions:
      - {key: pod-group.scheduling.sigs.k8s.io, operator: Exists}
  policyName: {{ .name }}
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata:
  name: {{ .name }}-gangs{{ include "muster.policy.labels" . }}
spec:
  matchResources:
    objectSelector:
      matchExpressions:
      - {key: muster.dev/pod-group, operator: Exists}
  policyName: {{ .name }}
{{- end }}

{{- /*
Pods whose scheduler may be set. A pod that names none has default-scheduler by now. muster's own are not: muster must not wait
for itself.
*/}}
{{- define "muster.policy.namesNoScheduler" -}}
- expression: object.spec.schedulerName == "default-scheduler"
  name: names-no-scheduler
- expression: '!has(object.spec.nodeName)'
  name: without-a-node
- expression: '!(object.metadata.?labels[?"app.kubernetes.io/name"].orValue("") in ["muster","muster-rescheduler"])'
  name: not-of-muster
{{ include "muster.policy.notToBePutOff" . }}
{{- end }}

{{- /*
The scheduler of a pod by what it shows: that of the first profile that is the default for one of its kinds.

  claims  the profiles that are the default for some, each with its scheduler and kinds, in their order
*/}}
{{- define "muster.policy.schedulerByKind" -}}
{{- range .claims }}
{{- include "muster.policy.shows" . }} ? {{ toJson .scheduler }} :
{{ end }}"default-scheduler"
{{- end }}

{{- /* The label of a namespace decides about its pods, by whatever value, and so names a namespace that is spared else. */}}
{{- define "muster.policy.namespacesByKind" -}}
matchExpressions:
- {key: muster.dev/scheduler, operator: DoesNotExist}
- {key: kubernetes.io/metadata.name, operator: NotIn, values: {{ toJson .spared }}}
{{- end }}

{{- /* Sets the scheduler of a pod to the variable of that name, and does what the policies would that look at it. */}}
{{- define "muster.policy.setScheduler" -}}
mutations:
- applyConfiguration:
    expression: |-
      Object{spec: Object.spec{schedulerName: variables.scheduler}}
  patchType: ApplyConfiguration
{{- if .gated }}
- applyConfiguration:
    expression: |-
      variables.scheduler in {{ toJson .gated }} && variables.member && !has(object.spec.schedulingGroup) ?
      {{ include "muster.policy.addGate" "muster.dev/gang" | indent 6 | trim }} : Object{}
  patchType: ApplyConfiguration
{{- end }}
{{- if .ahead }}
- applyConfiguration:
    expression: |-
      variables.scheduler in {{ toJson .ahead }} && !variables.member && !has(object.spec.schedulingGroup) &&
        object.metadata.?labels[?"muster.dev/ahead"].orValue(
          namespaceObject.metadata.?labels[?"muster.dev/ahead"].orValue("")) == "true" ?
      {{ include "muster.policy.addGate" "muster.dev/ahead" | indent 6 | trim }} : Object{}
  patchType: ApplyConfiguration
{{- end }}
{{- if .managed }}
- applyConfiguration:
    expression: |-
      namespaceObject.metadata.?labels[?"muster.dev/managed"].orValue("") == "true" ||
      ["scheduling.x-k8s.io/pod-group","pod-group.scheduling.sigs.k8s.io","muster.dev/pod-group"].exists(label, object.metadata.?labels[?label].hasValue()) ?
      {{ include "muster.policy.manage" . | indent 6 | trim }} : Object{}
  patchType: ApplyConfiguration
{{- end }}
reinvocationPolicy: Never
variables:
{{- if .gated }}
- expression: |-
    {{- include "muster.policy.isMember" . | nindent 4 }}
  name: member
{{- end }}
{{- end }}

{{- /*
Gives pods that name no scheduler to one when they are created, and denies nothing: the pods of a namespace to the one that its
label names, and others by the kind that they show. A pod keeps its scheduler if the pod names another one than
default-scheduler, belongs to a DaemonSet or to the components that a cluster needs to work, or is muster's own.

The order of policies is not defined, and one whose conditions do not hold at its turn is not asked again. So these also do
what those would do that look at the scheduler: they gate pods, and make them managed. Conditions of a policy do not see the
namespace: its binding does.

  schedulers  that pods can be given to
  claims      the profiles that are the default for kinds, if there are any
  spared      namespaces in which nothing is set by kind
  gated       those whose members of gangs are gated, if there are any
  ahead       those of them whose pods of no group are, too, if there are any
  kinds       of controllers whose pods start together
  managed     whether pods are made managed
*/}}
{{- define "muster.policy.scheduler" -}}
# Gives pods of labelled namespaces to a scheduler that asks muster.
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata:
  name: {{ .name }}{{ include "muster.policy.labels" . }}
spec:
  failurePolicy: Ignore
  matchConditions:
  {{- include "muster.policy.namesNoScheduler" . | nindent 2 }}
  {{- include "muster.policy.createdPods" . | nindent 2 }}
  {{- include "muster.policy.setScheduler" . | nindent 2 }}
  - expression: namespaceObject.metadata.labels["muster.dev/scheduler"]
    name: scheduler
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata:
  name: {{ .name }}{{ include "muster.policy.labels" . }}
spec:
  matchResources:
    namespaceSelector:
      matchExpressions:
      - {key: muster.dev/scheduler, operator: In, values: {{ toJson .schedulers }}}
  policyName: {{ .name }}
{{- if .claims }}
---
# Gives pods of kinds to the profile that is their default.
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata:
  name: {{ .name }}-kinds{{ include "muster.policy.labels" . }}
spec:
  failurePolicy: Ignore
  matchConditions:
  {{- include "muster.policy.namesNoScheduler" . | nindent 2 }}
  - expression: |-
      (
      {{- include "muster.policy.schedulerByKind" . | nindent 8 }}
      ) != "default-scheduler"
    name: of-a-kind
  {{- include "muster.policy.createdPods" . | nindent 2 }}
  {{- include "muster.policy.setScheduler" . | nindent 2 }}
  - expression: |-
      {{- include "muster.policy.schedulerByKind" . | nindent 6 }}
    name: scheduler
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata:
  name: {{ .name }}-kinds{{ include "muster.policy.labels" . }}
spec:
  matchResources:
    namespaceSelector:
      {{- include "muster.policy.namespacesByKind" . | nindent 6 }}
  policyName: {{ .name }}-kinds
{{- end }}
{{- end }}

{{- /*
Has the API server refuse to write the record of a start on a PodGroup: an annotation, which else anybody may forge who writes
PodGroups. It lets those write one who may write the status of pods in all namespaces, as each muster does, and no tenant: so
several beside one another need not know of each other.

It looks at changes alone: a record counts if it names the UID of its PodGroup, which nobody knows who creates one, so that a
backup may be restored with its annotations. Who takes a record away decides about its own gang.

  actions  of the binding
*/}}
{{- define "muster.policy.records" -}}
# Keeps the record of a start on PodGroups muster's own.
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata:
  name: {{ .name }}{{ include "muster.policy.labels" . }}
spec:
  failurePolicy: Fail
  matchConditions:
  - expression: '!authorizer.group("").resource("pods").subresource("status").check("patch").allowed()'
    name: others
  matchConstraints:
    resourceRules:
    - {apiGroups: [scheduling.x-k8s.io], apiVersions: ["*"], operations: [UPDATE], resources: [podgroups], scope: "*"}
    - {apiGroups: [scheduling.sigs.k8s.io], apiVersions: ["*"], operations: [UPDATE], resources: [podgroups], scope: "*"}
  validations:
  - expression: |-
      object.metadata.?annotations[?"muster.dev/committed"].orValue("") in
        ["", oldObject.metadata.?annotations[?"muster.dev/committed"].orValue("")]
    message: 'muster.dev/committed: only muster says that a gang was let go'
    reason: Forbidden
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata:
  name: {{ .name }}{{ include "muster.policy.labels" . }}
spec:
  policyName: {{ .name }}
  validationActions: {{ toJson .actions }}
{{- end }}

{{- /*
Has the API server refuse an account what its programs never do, though their role lets them: roles know resources, and not
fields. Of pods they change their own annotations and conditions and the nominated node, and take off muster's gates; what is
deleted was told to be, and nothing is deleted at once. So an attacker who takes such a program over cannot run code in the pods
of others, or have them take the place of others.

It bounds one account and nobody else, and is in force by its binding. With dyn, fields that this version of the API does not
know are looked at as well. A pod may have any number of gates: each is looked at once for each of muster's. Later versions of a
kube-scheduler may write fields of a status that there are not yet; muster does not, so for it alone the fields are listed that
may change. A pod that does not run goes at once, as the API server sees to it. Nobody with the account can take the gate of
placeholder pods off. A kube-scheduler allocates devices, so its account may write the status of claims.

  user                            the API server's name for the account, as in system:serviceaccount:kube-system:muster
  muster, rescheduler, scheduler  whether each of them writes with it
  actions                         of the binding
*/}}
{{- define "muster.policy.account" -}}
{{- $pods := include "muster.policy.account.podAnnotations" . }}
{{- $nodes := include "muster.policy.account.nodeAnnotations" . }}
{{- $conditions := include "muster.policy.account.conditions" . -}}
# Bounds what the account may change of pods and nodes.
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata:
  name: {{ .name }}{{ include "muster.policy.labels" . }}
spec:
  failurePolicy: Fail
  matchConditions:
  - expression: request.userInfo.username == {{ toJson .user }}
    name: account
  matchConstraints:
    resourceRules:
    - {apiGroups: [""], apiVersions: [v1], operations: [UPDATE], resources: [pods, pods/status], scope: "*"}
    - {apiGroups: [""], apiVersions: [v1], operations: [DELETE], resources: [pods], scope: "*"}
    - {apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods/binding], scope: "*"}
    - {apiGroups: [""], apiVersions: [v1], operations: [UPDATE], resources: [nodes], scope: "*"}
    {{- if .muster }}
    - {apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods], scope: "*"}
    - {apiGroups: [scheduling.x-k8s.io], apiVersions: ["*"], operations: [UPDATE], resources: [podgroups], scope: "*"}
    - {apiGroups: [scheduling.sigs.k8s.io], apiVersions: ["*"], operations: [UPDATE], resources: [podgroups], scope: "*"}
    {{- end }}
    {{- if and .muster (not .scheduler) }}
    - {apiGroups: [resource.k8s.io], apiVersions: ["*"], operations: [UPDATE], resources: [resourceclaims/status], scope: "*"}
    {{- end }}
    {{- if .rescheduler }}
    - {apiGroups: [""], apiVersions: [v1], operations: [CREATE, DELETE], resources: [podtemplates], scope: "*"}
    - {apiGroups: [autoscaling.x-k8s.io], apiVersions: ["*"], operations: [CREATE, DELETE], resources: [provisioningrequests], scope: "*"}
    - {apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [configmaps], scope: "*"}
    {{- end }}
  variables:
  - {name: resource, expression: 'request.?subResource.orValue("") == "" ? request.resource.resource : request.resource.resource + "/" + request.subResource'}
  - {name: metadata, expression: dyn(object.metadata)}
  - {name: oldMetadata, expression: dyn(oldObject.metadata)}
  - {name: annotations, expression: "dyn(object.metadata.?annotations.orValue({}))"}
  - {name: oldAnnotations, expression: "dyn(oldObject.metadata.?annotations.orValue({}))"}
  - {name: spec, expression: "dyn(object.?spec.orValue({}))"}
  - {name: oldSpec, expression: "dyn(oldObject.?spec.orValue({}))"}
  - {name: status, expression: "dyn(object.?status.orValue({}))"}
  - {name: oldStatus, expression: "dyn(oldObject.?status.orValue({}))"}
  - {name: taints, expression: "dyn(object.?spec.taints.orValue([]))"}
  - {name: oldTaints, expression: "dyn(oldObject.?spec.taints.orValue([]))"}
  - {name: gates, expression: "dyn(object.?spec.schedulingGates.orValue([]))"}
  - {name: oldGates, expression: "dyn(oldObject.?spec.schedulingGates.orValue([]))"}
  - {name: conditions, expression: "dyn(object.?status.conditions.orValue([]))"}
  - {name: oldConditions, expression: "dyn(oldObject.?status.conditions.orValue([]))"}
  - name: grace
    expression: '!has(oldObject.spec.nodeName) || oldObject.?status.phase.orValue("") in ["Failed", "Succeeded"] ? 0 : oldObject.spec.?terminationGracePeriodSeconds.orValue(30)'
  validations:
  - expression: |-
      !(request.operation == "UPDATE" && variables.resource in ["pods","pods/status","nodes","podgroups"]) ||
      variables.metadata.all(k, k in ["annotations","deletionGracePeriodSeconds","deletionTimestamp","generation","managedFields","resourceVersion"] ||
        k in variables.oldMetadata && variables.metadata[k] == variables.oldMetadata[k]) &&
      variables.oldMetadata.all(k, k in ["annotations","deletionGracePeriodSeconds","deletionTimestamp","generation","managedFields","resourceVersion"] ||
        k in variables.metadata)
    message: 'muster''s account: its metadata except annotations stays as it is'
    reason: Forbidden
  - expression: |-
      !(request.operation == "UPDATE" && variables.resource in ["pods","pods/status"]) ||
      variables.annotations.all(k, k in {{ $pods }} ||
        k in variables.oldAnnotations && variables.annotations[k] == variables.oldAnnotations[k]) &&
      variables.oldAnnotations.all(k, k in {{ $pods }} ||
        k in variables.annotations)
    message: 'muster''s account: of annotations of pods, it writes its own'
    reason: Forbidden
  - expression: |-
      !(request.operation == "UPDATE" && variables.resource in ["pods"]) ||
      variables.spec.all(k, k in ["schedulingGates"] ||
        k in variables.oldSpec && variables.spec[k] == variables.oldSpec[k]) &&
      variables.oldSpec.all(k, k in ["schedulingGates"] ||
        k in variables.spec)
    message: 'muster''s account: a pod''s spec stays as it is, except gates'
    reason: Forbidden
  - expression: |-
      !(request.operation == "UPDATE" && variables.resource in ["pods"]) ||
      {{- if .muster }}
      variables.gates == variables.oldGates ||
      variables.gates == variables.oldGates.filter(gate, gate.name != "muster.dev/gang") ||
      variables.gates == variables.oldGates.filter(gate, gate.name != "muster.dev/ahead") ||
      variables.gates == variables.oldGates.filter(gate, !(gate.name in ["muster.dev/gang","muster.dev/ahead"]))
      {{- else }}
      variables.gates == variables.oldGates
      {{- end }}
    message: 'muster''s account: of the gates of a pod, it takes its own off'
    reason: Forbidden
  - expression: |-
      !(request.operation == "UPDATE" && variables.resource in ["pods/status"]) ||
      variables.conditions.all(c, c.type in {{ $conditions }} ||
        c in variables.oldConditions) &&
      variables.oldConditions.all(c, c.type in {{ $conditions }} ||
        c in variables.conditions)
    message: 'muster''s account: of the conditions of a pod, it writes its own'
    reason: Forbidden
  - expression: |-
      !(request.operation == "UPDATE" && variables.resource in ["pods/status"]) ||
      {{- if .scheduler }}
      ["allocatedResources","containerStatuses","ephemeralContainerStatuses","hostIP","hostIPs","initContainerStatuses","message","phase","podIP","podIPs","qosClass","reason","resize","resourceClaimStatuses","resources","startTime"].all(k,
        variables.status[?k] == variables.oldStatus[?k])
      {{- else }}
      variables.status.all(k, k in ["conditions","nominatedNodeName"] ||
        k in variables.oldStatus && variables.status[k] == variables.oldStatus[k]) &&
      variables.oldStatus.all(k, k in ["conditions","nominatedNodeName"] ||
        k in variables.status)
      {{- end }}
    message: 'muster''s account: of a pod''s status, it writes conditions and the nominated node'
    reason: Forbidden
  - expression: |-
      !(variables.resource == "pods/binding") ||
      variables.annotations.size() == 0 &&
        dyn(object.metadata.?labels.orValue({})).all(k, k.startsWith("topology.kubernetes.io/"))
    message: 'muster''s account: a pod is bound without annotations, and with no labels except its node''s topology'
    reason: Forbidden
  - expression: |-
      !(variables.resource == "pods" && request.operation == "DELETE") ||
      {{- if .muster }}
      variables.oldGates.exists(gate, gate.name == "muster.dev/placeholder") ||
        variables.oldConditions.exists(c, c.type == "DisruptionTarget" && c.status == "True") &&
      {{- else }}
      variables.oldConditions.exists(c, c.type == "DisruptionTarget" && c.status == "True") &&
      {{- end }}
        request.?options.gracePeriodSeconds.orValue(variables.grace) >= variables.grace &&
        oldObject.spec.?priority.orValue(0) < 2000001000
    message: 'muster''s account: a pod is deleted once its status says that it is disrupted, with its grace period, and not of the highest priority'
    reason: Forbidden
  - expression: |-
      !(request.operation == "UPDATE" && variables.resource in ["nodes"]) ||
      variables.annotations.all(k, k in {{ $nodes }} ||
        k in variables.oldAnnotations && variables.annotations[k] == variables.oldAnnotations[k]) &&
      variables.oldAnnotations.all(k, k in {{ $nodes }} ||
        k in variables.annotations)
    message: 'muster''s account: of annotations of nodes, it writes its own'
    reason: Forbidden
  - expression: |-
      !(request.operation == "UPDATE" && variables.resource in ["nodes"]) ||
      variables.spec.all(k, k in ["taints","unschedulable"] ||
        k in variables.oldSpec && variables.spec[k] == variables.oldSpec[k]) &&
      variables.oldSpec.all(k, k in ["taints","unschedulable"] ||
        k in variables.spec)
    message: 'muster''s account: a node''s spec stays as it is, but that it is cordoned or tainted'
    reason: Forbidden
  - expression: |-
      !(request.operation == "UPDATE" && variables.resource in ["nodes"]) ||
      {{- if .rescheduler }}
      variables.taints.all(taint, taint.key == "rescheduling.muster.dev/closed" && taint.effect == "NoSchedule" ||
        taint in variables.oldTaints) &&
      variables.oldTaints.all(taint, taint.key == "rescheduling.muster.dev/closed" && taint.effect == "NoSchedule" ||
        taint in variables.taints)
      {{- else }}
      variables.taints == variables.oldTaints
      {{- end }}
    message: 'muster''s account: of the taints of a node, it writes its own'
    reason: Forbidden
  - expression: |-
      !(request.operation == "UPDATE" && variables.resource in ["nodes"]) ||
      variables.spec.?unschedulable.orValue(false) == variables.oldSpec.?unschedulable.orValue(false) ||
        (variables.spec.?unschedulable.orValue(false) ? variables.annotations : variables.oldAnnotations)[?"rescheduling.muster.dev/cordoned"].orValue("") == "true"
    message: 'muster''s account: a node that it cordons says so, and none is uncordoned that it has not cordoned'
    reason: Forbidden
  {{- if .muster }}
  - expression: |-
      !(variables.resource == "pods" && request.operation == "CREATE") ||
      variables.gates.exists(gate, gate.name == "muster.dev/placeholder")
    message: 'muster''s account: of pods, it creates placeholders only, which never run'
    reason: Forbidden
  - expression: |-
      !(request.operation == "UPDATE" && variables.resource in ["podgroups"]) ||
      variables.annotations.all(k, k in ["muster.dev/committed"] ||
        k in variables.oldAnnotations && variables.annotations[k] == variables.oldAnnotations[k]) &&
      variables.oldAnnotations.all(k, k in ["muster.dev/committed"] ||
        k in variables.annotations)
    message: 'muster''s account: of annotations of PodGroups, it writes its own'
    reason: Forbidden
  - expression: |-
      !(request.operation == "UPDATE" && variables.resource in ["podgroups"]) ||
      variables.spec == variables.oldSpec
    message: 'muster''s account: a PodGroup''s spec stays as it is'
    reason: Forbidden
  {{- end }}
  {{- if and .muster (not .scheduler) }}
  - expression: |-
      !(request.operation == "UPDATE" && variables.resource in ["resourceclaims/status"]) ||
      variables.oldStatus.?reservedFor.orValue([]).size() == 0 &&
        variables.status.all(k, !(k in ["allocation", "devices", "reservedFor"]))
    message: 'muster''s account: of the status of a claim, it takes back the devices that nobody has reserved'
    reason: Forbidden
  {{- end }}
  {{- if .rescheduler }}
  - expression: |-
      !(variables.resource in ["podtemplates", "provisioningrequests"]) ||
      (request.operation == "DELETE" ? oldObject : object).metadata.?labels[?"rescheduling.muster.dev/scale-up"].orValue("") == "true"
    message: 'muster''s account: requests for nodes, and what they refer to, are its own'
    reason: Forbidden
  - expression: |-
      !(variables.resource == "configmaps") ||
      variables.metadata.?name.orValue("").endsWith("-rescheduler-evictions")
    message: 'muster''s account: of ConfigMaps, it creates the record of evictions only'
    reason: Forbidden
  {{- end }}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata:
  name: {{ .name }}{{ include "muster.policy.labels" . }}
spec:
  policyName: {{ .name }}
  validationActions: {{ toJson .actions }}
{{- end }}

{{- define "muster.policy.account.podAnnotations" -}}
[
{{- if .muster }}"muster.dev/woken"{{ end }}
{{- if and .muster .rescheduler }},{{ end }}
{{- if .rescheduler }}"rescheduling.muster.dev/separate-from","rescheduling.muster.dev/separate-why"{{ end -}}
]
{{- end }}

{{- define "muster.policy.account.nodeAnnotations" -}}
[
{{- if .rescheduler -}}
"rescheduling.muster.dev/closed-until","rescheduling.muster.dev/cordoned","rescheduling.muster.dev/emptied","rescheduling.muster.dev/emptying","rescheduling.muster.dev/removable","rescheduling.muster.dev/removable-steps"
{{- end -}}
]
{{- end }}

{{- define "muster.policy.account.conditions" -}}
[
{{- if .scheduler }}"PodScheduled",{{ end }}
{{- if or .muster .scheduler }}"DisruptionTarget"{{ end }}
{{- if and .rescheduler (or .muster .scheduler) }},{{ end }}
{{- if .rescheduler }}"muster.dev/RearrangingHelps"{{ end -}}
]
{{- end }}
