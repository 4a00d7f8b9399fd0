{{- define "muster.fullname" -}}
{{- if contains "muster" .Release.Name }}{{ .Release.Name | trunc 63 | trimSuffix "-" }}{{ else }}{{ printf "%s-muster" (.Release.Name | trunc 56 | trimSuffix "-") }}{{ end }}
{{- end }}

{{- define "muster.selectorLabels" -}}
app.kubernetes.io/name: muster
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "muster.labels" -}}
{{ include "muster.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end }}

{{- /* The port that muster listens on in its pod. */}}
{{- define "muster.port" -}}8888{{- end }}

{{- /* serving.tls, empty for plain http. */}}
{{- define "muster.tls" -}}
{{- if .Values.tls.secretName }}
certFile: /etc/muster-tls/tls.crt
keyFile: /etc/muster-tls/tls.key
{{- end }}
{{- end }}

{{- /* How muster is spoken to. */}}
{{- define "muster.scheme" -}}{{ if .Values.tls.secretName }}https{{ else }}http{{ end }}{{- end }}

{{- /* The configuration file: the user's fields under the chart's. */}}
{{- define "muster.config" -}}
{{- $chart := dict
  "apiVersion" "config.muster.dev/v1alpha2"
  "kind" "MusterConfiguration"
  "serving" (dict "listen" (printf ":%s" (include "muster.port" .)) "tls" (include "muster.tls" . | fromYaml))
  "leaderElection" (dict "leaderElect" true "resourceName" (include "muster.fullname" .) "resourceNamespace" .Release.Namespace)
}}
{{- if .Values.rescheduler.enabled }}
{{- $_ := set $chart "rescheduler" (dict "listen" ":8889") }}
{{- end }}
{{- mustMergeOverwrite (mustDeepCopy .Values.config) $chart | toYaml }}
{{- end }}

{{- /* Refuses to let muster wait for itself. */}}
{{- define "muster.checkPlacement" -}}
{{- if not .Values.nodeName }}
{{- $own := .Values.schedulerName | default "default-scheduler" }}
{{- range .Values.config.profiles | default (list dict) }}
{{- if eq $own (.schedulerName | default "default-scheduler") }}
{{- fail (printf "scheduler %q asks muster and cannot place muster's own pod: set schedulerName to another scheduler, or nodeName to a node" $own) }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
