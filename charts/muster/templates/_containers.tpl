{{- define "muster.mounts" -}}
- name: config
  mountPath: /etc/muster
  readOnly: true
{{- end }}

{{- /* Of muster, which writes ca.crt there when it makes its certificate. */}}
{{- define "muster.mounts.tls" -}}
{{- if include "muster.tls.volume" . }}
- name: tls
  mountPath: /etc/muster-tls
  readOnly: {{ not .Values.tls.selfManaged.enabled }}
{{- end }}
{{- end }}

{{- define "muster.container" -}}
name: muster
image: {{ include "muster.image" . | quote }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
args:
  - serve
  - --config=/etc/muster/muster.yaml
  - --log-format=json
  {{- with .Values.extraArgs }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- with .Values.extraEnv }}
env:
  {{- toYaml . | nindent 2 }}
{{- end }}
ports:
  - name: {{ include "muster.scheme" . }}
    containerPort: {{ include "muster.port" . }}
  - name: health
    containerPort: {{ include "muster.port.health" . }}
  {{- if dig "debug" "listen" "127.0.0.1:8887" .Values.config }}
  - name: debug
    containerPort: {{ include "muster.port.debug" . }}
  {{- end }}
  {{- if include "muster.webhook" . }}
  - name: webhook
    containerPort: {{ include "muster.port.webhook" . }}
  {{- end }}
livenessProbe:
  httpGet:
    path: /livez
    port: health
  periodSeconds: 10
  timeoutSeconds: 5
readinessProbe:
  httpGet:
    path: /readyz
    port: health
  periodSeconds: 2
  timeoutSeconds: 2
  failureThreshold: 2
resources:
  {{- toYaml .Values.resources | nindent 2 }}
{{- with .Values.securityContext }}
securityContext:
  {{- toYaml . | nindent 2 }}
{{- end }}
volumeMounts:
  {{- include "muster.mounts" . | nindent 2 }}
  {{- with include "muster.mounts.tls" . | trim }}
  {{- . | nindent 2 }}
  {{- end }}
{{- end }}

{{- define "muster.container.rescheduler" -}}
name: rescheduler
image: {{ include "muster.image" . | quote }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
args:
  - reschedule
  - --config=/etc/muster/muster.yaml
  - --log-format=json
  {{- with .Values.rescheduler.extraArgs }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- with .Values.extraEnv }}
env:
  {{- toYaml . | nindent 2 }}
{{- end }}
ports:
  - name: rescheduler
    containerPort: {{ include "muster.port.rescheduler" . }}
livenessProbe:
  httpGet:
    path: /livez
    port: rescheduler
  periodSeconds: 10
  timeoutSeconds: 5
resources:
  {{- toYaml .Values.rescheduler.resources | nindent 2 }}
{{- with .Values.securityContext }}
securityContext:
  {{- toYaml . | nindent 2 }}
{{- end }}
volumeMounts:
  {{- include "muster.mounts" . | nindent 2 }}
{{- end }}

{{- /* Writes the configuration of the kube-scheduler in the same pod, as this muster wants it. */}}
{{- define "muster.container.schedulerConfig" -}}
name: scheduler-config
image: {{ include "muster.image" . | quote }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
args:
  - scheduler-config
  - --config=/etc/muster/muster.yaml
  - --output=/etc/kube-scheduler/scheduler.yaml
  - --leader-elect
  {{- with .Values.scheduler.percentageOfNodesToScore }}
  - --percentage-of-nodes-to-score={{ . }}
  {{- end }}
  {{- if include "muster.tls.secret" . }}
  - --ca-file=/etc/muster-tls/ca.crt
  {{- end }}
  {{- range include "muster.registration" . | splitList " " | compact }}
  - {{ . }}
  {{- end }}
resources:
  {{- toYaml .Values.scheduler.resources | nindent 2 }}
{{- with .Values.securityContext }}
securityContext:
  {{- toYaml . | nindent 2 }}
{{- end }}
volumeMounts:
  {{- include "muster.mounts" . | nindent 2 }}
  - name: scheduler-config
    mountPath: /etc/kube-scheduler
{{- end }}

{{- define "muster.container.scheduler" -}}
name: kube-scheduler
image: {{ include "muster.scheduler.image" . | quote }}
imagePullPolicy: {{ .Values.scheduler.image.pullPolicy }}
command:
  - kube-scheduler
  - --config=/etc/kube-scheduler/scheduler.yaml
  # A lease of its own: the cluster's kube-scheduler has another one.
  - --leader-elect-resource-name={{ include "muster.schedulerLease" . }}
  - --leader-elect-resource-namespace={{ .Release.Namespace }}
  {{- with .Values.scheduler.extraArgs }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- with .Values.scheduler.extraEnv }}
env:
  {{- toYaml . | nindent 2 }}
{{- end }}
ports:
  - name: scheduler
    containerPort: 10259
livenessProbe:
  httpGet:
    path: /livez
    port: scheduler
    scheme: HTTPS
  initialDelaySeconds: 10
  periodSeconds: 10
  timeoutSeconds: 15
  failureThreshold: 8
readinessProbe:
  httpGet:
    path: /readyz
    port: scheduler
    scheme: HTTPS
  periodSeconds: 5
  timeoutSeconds: 5
resources:
  {{- toYaml .Values.scheduler.resources | nindent 2 }}
{{- with .Values.securityContext }}
securityContext:
  {{- toYaml . | nindent 2 }}
{{- end }}
volumeMounts:
  - name: scheduler-config
    mountPath: /etc/kube-scheduler
    readOnly: true
  {{- if include "muster.tls.volume" . }}
  - name: tls
    mountPath: /etc/muster-tls
    readOnly: true
  {{- end }}
{{- end }}

{{- /* By default a pod stays bound to a node that is lost for five minutes. A tolerance of the user's, for these taints or for all, counts
instead. */}}
{{- define "muster.tolerations.ofLostNodes" -}}
{{- range $taint := list "node.kubernetes.io/not-ready" "node.kubernetes.io/unreachable" }}
{{- $own := false }}
{{- range $.Values.tolerations }}
{{- if and (eq (.key | default $taint) $taint) (eq (.effect | default "NoExecute") "NoExecute") }}
{{- $own = true }}
{{- end }}
{{- end }}
{{- if not $own }}
- key: {{ $taint }}
  operator: Exists
  effect: NoExecute
  tolerationSeconds: {{ $.Values.lostNodeSeconds }}
{{- end }}
{{- end }}
{{- end }}

{{- /* Where all pods run. */}}
{{- define "muster.podSpec.where" -}}
automountServiceAccountToken: true
{{- with .Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.schedulerName }}
schedulerName: {{ . }}
{{- end }}
{{- with .Values.nodeName }}
nodeName: {{ . }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with concat .Values.tolerations (include "muster.tolerations.ofLostNodes" . | fromYamlArray) }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.podSecurityContext }}
securityContext:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- /* What the pods of Deployments share, besides their containers. */}}
{{- define "muster.podSpec" -}}
{{- include "muster.podSpec.where" . }}
{{- with include "muster.priorityClassName" . }}
priorityClassName: {{ . }}
{{- end }}
terminationGracePeriodSeconds: {{ .Values.terminationGracePeriodSeconds }}
volumes:
  - name: config
    configMap:
      name: {{ include "muster.fullname" . }}
  {{- if include "muster.tls.volume" . }}
  - name: tls
    {{- if .Values.tls.selfManaged.enabled }}
    emptyDir:
      sizeLimit: 1Mi
    {{- else }}
    secret:
      secretName: {{ include "muster.tls.secret" . }}
    {{- end }}
  {{- end }}
{{- end }}
