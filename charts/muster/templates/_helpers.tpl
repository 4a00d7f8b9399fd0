{{- define "muster.fullname" -}}
{{- if .Values.fullnameOverride }}{{ .Values.fullnameOverride }}{{ else if contains "muster" .Release.Name }}{{ .Release.Name | trunc 50 | trimSuffix "-" }}{{ else }}{{ printf "%s-muster" (.Release.Name | trunc 43 | trimSuffix "-") }}{{ end }}
{{- end }}

{{- define "muster.selectorLabels" -}}
app.kubernetes.io/name: muster
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- /* The rescheduler's own pods of mode external. */}}
{{- define "muster.selectorLabels.rescheduler" -}}
app.kubernetes.io/name: muster-rescheduler
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "muster.labels" -}}
{{ include "muster.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- if eq .Release.Service "Helm" }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end }}
{{- end }}

{{- /* Ports in pods: of gates by webhook, of the page and /debug/, of the verbs, of the rescheduler, and of muster's /livez, /readyz and
/metrics. */}}
{{- define "muster.port.webhook" -}}8886{{- end }}
{{- define "muster.port.debug" -}}{{ dig "debug" "listen" "127.0.0.1:8887" .Values.config | splitList ":" | last }}{{- end }}
{{- define "muster.port" -}}8888{{- end }}
{{- define "muster.port.rescheduler" -}}8889{{- end }}
{{- define "muster.port.health" -}}8890{{- end }}

{{- define "muster.sidecar" -}}{{ if eq .Values.scheduler.mode "sidecar" }}true{{ end }}{{- end }}

{{- /* Whether a kube-scheduler elsewhere calls muster. In mode ahead none does. */}}
{{- define "muster.external" -}}{{ if eq .Values.scheduler.mode "external" }}true{{ end }}{{- end }}
{{- define "muster.ahead" -}}{{ if eq .Values.scheduler.mode "ahead" }}true{{ end }}{{- end }}

{{- /* The profiles, as JSON. */}}
{{- define "muster.profiles" -}}
{{- if hasKey .Values.config "profiles" }}
{{- .Values.config.profiles | default (list dict) | toJson }}
{{- else if include "muster.ahead" . }}
{{- list (dict "schedulerName" "default-scheduler" "nodeSelection" "Muster" "gates" "UntilPlace") | toJson }}
{{- else }}
{{- list (dict "schedulerName" "muster") | toJson }}
{{- end }}
{{- end }}

{{- /* The kinds of controllers whose pods start together (gangs.kinds), as JSON. */}}
{{- define "muster.gangKinds" -}}
{{- if hasKey (dig "gangs" dict .Values.config) "kinds" }}
{{- .Values.config.gangs.kinds | default list | toJson }}
{{- else }}
{{- list "Job" "JobSet" "LeaderWorkerSet" "Kubeflow" "MPIJob" "RayCluster" "Volcano" "YuniKorn" "Kueue" "Grove" "KubernetesPodGroup" | toJson }}
{{- end }}
{{- end }}

{{- /* The scheduler names of muster's profiles, as JSON. */}}
{{- define "muster.schedulerNames" -}}
{{- $names := list }}
{{- range include "muster.profiles" . | fromJsonArray }}
{{- $names = append $names (.schedulerName | default "default-scheduler") }}
{{- end }}
{{- toJson $names }}
{{- end }}

{{- /* Those with gates: UntilPlace, whose pods are gated if they are opted in. */}}
{{- define "muster.schedulerNames.ahead" -}}
{{- $names := list }}
{{- range include "muster.profiles" . | fromJsonArray }}
{{- if eq (.gates | default "Never") "UntilPlace" }}
{{- $names = append $names (.schedulerName | default "default-scheduler") }}
{{- end }}
{{- end }}
{{- toJson $names }}
{{- end }}

{{- /* Those with gates other than Never, whose members of gangs are gated. */}}
{{- define "muster.schedulerNames.gated" -}}
{{- $names := list }}
{{- range include "muster.profiles" . | fromJsonArray }}
{{- if has (.gates | default "Never") (list "UntilMembers" "UntilPlace") }}
{{- $names = append $names (.schedulerName | default "default-scheduler") }}
{{- end }}
{{- end }}
{{- toJson $names }}
{{- end }}

{{- /* Whether pods are gated. */}}
{{- define "muster.gates" -}}{{ if include "muster.schedulerNames.gated" . | fromJsonArray }}true{{ end }}{{- end }}

{{- /* The secret with muster's certificate, empty for plain http. */}}
{{- define "muster.tls.secret" -}}
{{- if or .Values.tls.certManager.enabled .Values.tls.selfManaged.enabled }}{{ include "muster.fullname" . }}-tls{{ else }}{{ .Values.tls.secretName }}{{ end }}
{{- end }}

{{- /* Whether pods have a volume for it. muster needs none for what it makes itself, a kube-scheduler beside it does. */}}
{{- define "muster.tls.volume" -}}
{{- if and (include "muster.tls.secret" .) (or (not .Values.tls.selfManaged.enabled) (include "muster.sidecar" .)) }}true{{ end }}
{{- end }}

{{- /* The profiles that are the default for kinds, each with its scheduler and kinds, as JSON. */}}
{{- define "muster.claims" -}}
{{- $claims := list }}
{{- range include "muster.profiles" . | fromJsonArray }}
{{- if .defaultFor }}
{{- $claims = append $claims (dict "scheduler" (.schedulerName | default "default-scheduler") "kinds" .defaultFor) }}
{{- end }}
{{- end }}
{{- toJson $claims }}
{{- end }}

{{- /* The scheduler names that pods can be given to, as JSON. */}}
{{- define "muster.schedulerNames.assignable" -}}
{{- without (include "muster.schedulerNames" . | fromJsonArray) "default-scheduler" | toJson }}
{{- end }}

{{- /* Whether pods are given to schedulers. */}}
{{- define "muster.assigns" -}}
{{- if or .Values.schedulerPolicy (include "muster.claims" . | fromJsonArray) }}true{{ end }}
{{- end }}

{{- /* Whether the API server has MutatingAdmissionPolicies. */}}
{{- define "muster.mutates" -}}{{ if semverCompare ">=1.36.0-0" .Capabilities.KubeVersion.Version }}true{{ end }}{{- end }}

{{- /* Whether the API server asks muster for schedulers of pods: where it has no policies for it. */}}
{{- define "muster.assigns.webhook" -}}
{{- if and (include "muster.assigns" .) .Values.webhook.enabled (not (include "muster.mutates" .)) }}true{{ end }}
{{- end }}

{{- /* Namespaces in which nothing is set by kind, as JSON. */}}
{{- define "muster.spared" -}}{{ list "kube-system" .Release.Namespace | uniq | toJson }}{{- end }}

{{- /* Whether the API server asks muster for gates, or for schedulers. */}}
{{- define "muster.webhook" -}}
{{- if and (or (include "muster.gates" .) (include "muster.assigns.webhook" .)) .Values.webhook.enabled }}true{{ end }}
{{- end }}

{{- /* Whether somebody outside of muster's pod calls it: there is a Service then. */}}
{{- define "muster.called" -}}{{ if or (include "muster.external" .) (include "muster.webhook" .) }}true{{ end }}{{- end }}

{{- /* The secret with what kube-scheduler calls with, empty when nobody here makes that. */}}
{{- define "muster.tls.clientSecret" -}}
{{- if and .Values.tls.clientAuth (not .Values.tls.clientCA) (or .Values.tls.selfManaged.enabled .Values.tls.certManager.enabled) }}
{{- include "muster.fullname" . }}-kube-scheduler-tls
{{- end }}
{{- end }}

{{- define "muster.tls" -}}
{{- if .Values.tls.selfManaged.enabled }}
selfManaged:
  secretName: {{ include "muster.tls.secret" . }}
  {{- with include "muster.tls.clientSecret" . }}
  clientSecretName: {{ . }}
  {{- end }}
  {{- if include "muster.sidecar" . }}
  caFile: /etc/muster-tls/ca.crt
  {{- end }}
{{- else if include "muster.tls.secret" . }}
certFile: /etc/muster-tls/tls.crt
keyFile: /etc/muster-tls/tls.key
{{- end }}
{{- if .Values.tls.clientAuth }}
{{- if .Values.tls.clientCA }}
clientCAFile: /etc/muster/client-ca.crt
{{- else if not .Values.tls.selfManaged.enabled }}
clientCAFile: /etc/muster-tls/ca.crt
{{- end }}
allowedClientNames: {{ toJson .Values.tls.allowedClientNames }}
{{- end }}
{{- if .Values.webhook.clientCA }}
webhook:
  clientCAFile: /etc/muster/webhook-ca.crt
  {{- with .Values.webhook.allowedClientNames }}
  allowedClientNames: {{ toJson . }}
  {{- end }}
{{- end }}
{{- end }}

{{- define "muster.scheme" -}}{{ if include "muster.tls.secret" . }}https{{ else }}http{{ end }}{{- end }}

{{- /* Nobody but the kube-scheduler in its pod calls a sidecar, and nobody at all in mode ahead. */}}
{{- define "muster.listen" -}}{{ if not (include "muster.external" .) }}127.0.0.1{{ end }}:{{ include "muster.port" . }}{{- end }}

{{- /* Of several kube-schedulers one leads, and the muster in its pod with it. */}}
{{- define "muster.leaderElection" -}}
leaderElect: true
resourceName: {{ include "muster.fullname" . }}
resourceNamespace: {{ .Release.Namespace }}
{{- if include "muster.pairs" . }}
schedulerLease: {{ .Release.Namespace }}/{{ include "muster.schedulerLease" . }}
{{- end }}
{{- end }}

{{- /* The Lease of the kube-schedulers of mode sidecar: the cluster's has another one. */}}
{{- define "muster.schedulerLease" -}}{{ include "muster.fullname" . }}-kube-scheduler{{- end }}

{{- /* Whether there are several pods with a kube-scheduler and a muster each. */}}
{{- define "muster.pairs" -}}{{ if and (include "muster.sidecar" .) (gt (int .Values.replicas) 1) }}true{{ end }}{{- end }}

{{- /* The configuration file: the user's fields under the chart's. */}}
{{- define "muster.config" -}}
{{- $chart := dict
  "apiVersion" "config.muster.dev/v1alpha2"
  "kind" "MusterConfiguration"
  "serving" (dict "listen" (include "muster.listen" .) "healthListen" (printf ":%s" (include "muster.port.health" .)) "tls" (include "muster.tls" . | fromYaml))
  "leaderElection" (include "muster.leaderElection" . | fromYaml)
  "logging" (dict "level" .Values.logLevel)
  "profiles" (include "muster.profiles" . | fromJsonArray)
}}
{{- if include "muster.webhook" . }}
{{- $_ := set $chart.serving "webhookListen" (printf ":%s" (include "muster.port.webhook" .)) }}
{{- end }}
{{- if .Values.rescheduler.enabled }}
{{- $_ := set $chart "rescheduler" (dict "listen" (printf ":%s" (include "muster.port.rescheduler" .))) }}
{{- end }}
{{- mustMergeOverwrite (mustDeepCopy .Values.config) $chart | toYaml }}
{{- end }}

{{- /* Refuses values that contradict each other. */}}
{{- define "muster.check" -}}
{{- $names := include "muster.schedulerNames" . | fromJsonArray }}
{{- $own := .Values.schedulerName | default "default-scheduler" }}
{{- if and (not .Values.nodeName) (not .Values.rbac.user) (not (include "muster.ahead" .)) (has $own $names) }}
{{- fail (printf "scheduler %q asks muster and cannot place muster's own pod: set schedulerName to another scheduler, or nodeName to a node" $own) }}
{{- end }}
{{- if include "muster.sidecar" . }}
{{- if has "default-scheduler" $names }}
{{- fail "config.profiles: with scheduler.mode sidecar two kube-schedulers would schedule the pods of default-scheduler: name another one, or set scheduler.mode to external" }}
{{- end }}
{{- end }}
{{- if include "muster.ahead" . }}
{{- if not (include "muster.schedulerNames.ahead" . | fromJsonArray) }}
{{- fail "config.profiles: with scheduler.mode ahead no kube-scheduler asks muster, so one profile at least needs gates: UntilPlace, with nodeSelection: Muster" }}
{{- end }}
{{- range .Values.config.profiles }}
{{- if eq (.gates | default "") "UntilMembers" }}
{{- fail (printf "config.profiles: scheduler %s: with scheduler.mode ahead no kube-scheduler asks muster, so a gang starts whole by gates: UntilPlace alone" .schedulerName) }}
{{- end }}
{{- end }}
{{- if or .Values.managed .Values.ignorable }}
{{- fail "managed and ignorable are about a kube-scheduler that asks muster: with scheduler.mode ahead none does" }}
{{- end }}
{{- end }}
{{- if and .Values.tls.clientAuth (not (include "muster.external" .)) }}
{{- fail (printf "tls.clientAuth: with scheduler.mode %s muster listens on loopback, where nobody outside of its pod can call it" .Values.scheduler.mode) }}
{{- end }}
{{- if and .Values.tls.clientAuth (not (include "muster.tls.secret" .)) }}
{{- fail "tls.clientAuth needs tls.secretName, tls.certManager or tls.selfManaged" }}
{{- end }}
{{- if and .Values.tls.clientCA (not .Values.tls.clientAuth) }}
{{- fail "tls.clientCA needs tls.clientAuth: nobody is asked for a certificate without it" }}
{{- end }}
{{- if and .Values.tls.clientAuth (not .Values.tls.allowedClientNames) }}
{{- fail "tls.allowedClientNames: an empty list lets nobody call" }}
{{- end }}
{{- if and .Values.webhook.clientCA (not (include "muster.webhook" .)) }}
{{- fail "webhook.clientCA is about who may ask for gates, or for schedulers before Kubernetes 1.36, which needs webhook.enabled, and a profile with gates other than Never, or with defaultFor" }}
{{- end }}
{{- if and .Values.webhook.allowedClientNames (not .Values.webhook.clientCA) }}
{{- fail "webhook.allowedClientNames needs webhook.clientCA: nobody is asked for a name without it" }}
{{- end }}
{{- if and .Values.tls.certManager.enabled .Values.tls.secretName }}
{{- fail "tls.secretName and tls.certManager.enabled exclude each other: cert-manager's secret has a name of its own" }}
{{- end }}
{{- if .Values.tls.selfManaged.enabled }}
{{- if or .Values.tls.certManager.enabled .Values.tls.secretName }}
{{- fail "tls.selfManaged.enabled, tls.certManager.enabled and tls.secretName exclude each other: each brings a certificate" }}
{{- end }}
{{- if .Values.tls.caBundle }}
{{- fail "tls.caBundle and tls.selfManaged.enabled exclude each other: muster writes what has signed its certificate" }}
{{- end }}
{{- end }}
{{- if and .Values.tls.certManager.enabled (not .Values.tls.certManager.issuerRef.name) }}
{{- fail "tls.certManager.issuerRef.name is required: which Issuer or ClusterIssuer signs muster's certificate" }}
{{- end }}
{{- if and .Values.monitoring.podMonitor.enabled .Values.monitoring.serviceMonitor.enabled }}
{{- fail "monitoring.podMonitor and monitoring.serviceMonitor exclude each other: every metric would be there twice" }}
{{- end }}
{{- end }}

{{- define "muster.image" -}}
{{ required "image.repository is required: build muster's image and push it to a registry of yours" .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- with .Values.image.digest }}@{{ . }}{{ end }}
{{- end }}

{{- /* kube-scheduler's version is the cluster's: v1.33.4+k3s1 and v1.33.4-eks-4f2a are v1.33.4. */}}
{{- define "muster.scheduler.image" -}}
{{- $version := regexFind "^v[0-9]+\\.[0-9]+\\.[0-9]+" .Capabilities.KubeVersion.Version }}
{{- .Values.scheduler.image.repository }}:{{ .Values.scheduler.image.tag | default $version }}
{{- with .Values.scheduler.image.digest }}@{{ . }}{{ end }}
{{- end }}

{{- define "muster.priorityClassName" -}}
{{- if .Values.priorityClass.create }}{{ include "muster.fullname" . }}{{ else }}{{ .Values.priorityClassName }}{{ end }}
{{- end }}

{{- /* Flags of 'muster scheduler-config' for how muster is registered. */}}
{{- define "muster.registration" -}}
{{- if .Values.managed }} --managed{{ end }}{{ if .Values.ignorable }} --ignorable{{ end }}
{{- end }}
