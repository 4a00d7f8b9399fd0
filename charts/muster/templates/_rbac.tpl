{{- /* The view of the cluster, which muster and the rescheduler have each. */}}
{{- define "muster.rules.view" -}}
# The view of the cluster.
- apiGroups: [""]
  resources: [nodes, pods, persistentvolumes, persistentvolumeclaims, services, namespaces, replicationcontrollers]
  verbs: [list, watch]
- apiGroups: [apps]
  resources: [replicasets, statefulsets]
  verbs: [list, watch]
- apiGroups: [storage.k8s.io]
  resources: [storageclasses, csinodes, csidrivers, volumeattachments]
  verbs: [list, watch]
- apiGroups: [policy]
  resources: [poddisruptionbudgets]
  verbs: [list, watch]
- apiGroups: [resource.k8s.io]
  resources: [deviceclasses, resourceslices, devicetaintrules, resourceclaims, resourceclaimtemplates]
  verbs: [list, watch]
# Custom resources are followed from when their definition appears.
- apiGroups: [apiextensions.k8s.io]
  resources: [customresourcedefinitions]
  verbs: [list, watch]
- apiGroups: [scheduling.x-k8s.io, scheduling.sigs.k8s.io]
  resources: [podgroups]
  verbs: [list, watch]
{{- include "muster.rules.gangKinds" . }}
{{- end }}

{{- /* The controllers of others whose pods start together, by config.gangs.kinds. */}}
{{- define "muster.rules.gangKinds" }}
{{- $kinds := include "muster.gangKinds" . | fromJsonArray }}
{{- $jobs := false }}
{{- range list "Job" "IndexedJob" "JobSet" "MPIJob" }}{{ if has . $kinds }}{{ $jobs = true }}{{ end }}{{ end }}
{{- if $jobs }}
# Jobs that are gangs, or stand between pods and who owns them.
- apiGroups: [batch]
  resources: [jobs]
  verbs: [list, watch]
{{- end }}
{{- $read := dict
  "JobSet" (list "jobset.x-k8s.io" "jobsets")
  "LeaderWorkerSet" (list "leaderworkerset.x-k8s.io" "leaderworkersets")
  "Kubeflow" (list "kubeflow.org" "pytorchjobs, tfjobs, xgboostjobs, paddlejobs, jaxjobs")
  "MPIJob" (list "kubeflow.org" "mpijobs")
  "RayCluster" (list "ray.io" "rayclusters")
  "Spark" (list "sparkoperator.k8s.io" "sparkapplications")
  "Volcano" (list "scheduling.volcano.sh" "podgroups")
  "Grove" (list "scheduler.grove.io" "podgangs")
  "KubernetesPodGroup" (list "scheduling.k8s.io" "podgroups, compositepodgroups") }}
{{- range $kind, $rule := $read }}
{{- if has $kind $kinds }}
# {{ $kind }}
- apiGroups: [{{ first $rule }}]
  resources: [{{ last $rule }}]
  verbs: [list, watch]
{{- end }}
{{- end }}
{{- end }}

{{- /* What LoadAware goes by. It reads NodeMetrics unless it is told to read something else. */}}
{{- define "muster.rules.usage" -}}
{{- $source := dig "load" "source" "NodeMetric" .Values.config }}
# What nodes and pods use, by config.load.source.
{{- if eq $source "NodeMetric" }}
- apiGroups: [slo.koordinator.sh]
  resources: [nodemetrics]
  verbs: [list, watch]
{{- else if eq $source "Metrics" }}
- apiGroups: [metrics.k8s.io]
  resources: [nodes, pods]
  verbs: [list]
{{- end }}
{{- end }}

{{- /* The right to one lease, which is named as the role is. Who shares the account may watch it, too, if it is watched. */}}
{{- define "muster.leaseRole" }}
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: {{ .name }}
  namespace: {{ .root.Release.Namespace }}
  labels:
    {{- include "muster.labels" .root | nindent 4 }}
rules:
  - apiGroups: [coordination.k8s.io]
    resources: [leases]
    verbs: [create]
  - apiGroups: [coordination.k8s.io]
    resources: [leases]
    resourceNames: [{{ prepend (.others | default list) .name | uniq | join ", " }}]
    verbs: [get{{ if .watched }}, list, watch{{ end }}, update]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  name: {{ .name }}
  namespace: {{ .root.Release.Namespace }}
  labels:
    {{- include "muster.labels" .root | nindent 4 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: Role
  name: {{ .name }}
subjects:
  {{- include "muster.subject" . | nindent 2 }}
{{- end }}

{{- /* Who has a role: a user if there is one, which is no ServiceAccount then, or an account of the release. */}}
{{- define "muster.subject" -}}
{{- if .user -}}
- kind: User
  name: {{ .user | quote }}
  apiGroup: rbac.authorization.k8s.io
{{- else -}}
- kind: ServiceAccount
  name: {{ .account }}
  namespace: {{ .root.Release.Namespace }}
{{- end }}
{{- end }}
