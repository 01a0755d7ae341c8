{{- define "countersign.name" -}}
{{- if contains .Chart.Name .Release.Name }}{{ .Release.Name | trunc 50 | trimSuffix "-" }}{{ else }}{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 50 | trimSuffix "-" }}{{ end }}
{{- end }}

{{- define "countersign.selector" -}}
app.kubernetes.io/name: countersign
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "countersign.labels" -}}
{{ include "countersign.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{- define "countersign.image" -}}
{{ .Values.image.repository }}{{ if .Values.image.digest }}@{{ .Values.image.digest }}{{ else }}:{{ .Values.image.tag | default .Chart.AppVersion }}{{ end }}
{{- end }}

{{- /* A pod of this chart: what is alike for fronts, cores and the migration. Takes root, part, keys (of the Secret), args, env, container. */ -}}
{{- define "countersign.pod" -}}
{{- $root := .root -}}
metadata:
  labels:
    {{- include "countersign.selector" $root | nindent 4 }}
    app.kubernetes.io/component: {{ .part }}
  {{- with mergeOverwrite (default dict .annotations) $root.Values.podAnnotations }}
  annotations: {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  serviceAccountName: {{ include "countersign.name" $root }}
  automountServiceAccountToken: false
  enableServiceLinks: false # the variables of a service such as `grpc` would have the names of settings
  terminationGracePeriodSeconds: 30
  {{- with $root.Values.imagePullSecrets }}
  imagePullSecrets: {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $root.Values.nodeSelector }}
  nodeSelector: {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $root.Values.tolerations }}
  tolerations: {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $root.Values.affinity }}
  affinity: {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $root.Values.priorityClassName }}
  priorityClassName: {{ . }}
  {{- end }}
  securityContext:
    runAsNonRoot: true
    runAsUser: 1000
    runAsGroup: 1000
    fsGroup: 1000
    seccompProfile: { type: RuntimeDefault }
  topologySpreadConstraints:
    - maxSkew: 1
      topologyKey: kubernetes.io/hostname
      whenUnsatisfiable: ScheduleAnyway
      labelSelector:
        matchLabels:
          {{- include "countersign.selector" $root | nindent 10 }}
          app.kubernetes.io/component: {{ .part }}
  containers:
    - name: countersign
      image: {{ include "countersign.image" $root }}
      imagePullPolicy: {{ $root.Values.image.pullPolicy }}
      args: {{- toYaml .args | nindent 8 }}
      env:
        {{- /* One dict, so that a setting of the values replaces that of the chart: a name that stands twice is refused by some tools. */ -}}
        {{- $issuer := required "issuer: give the https address of the service" $root.Values.issuer -}}
        {{- $env := mergeOverwrite (dict "NODE_ENV" "production" "JWT_ISSUER" $issuer "MIGRATE_ON_START" "false") (default dict .env) -}}
        {{- range .keys }}{{ $_ := set $env (upper .) (printf "@/run/secrets/countersign/%s" .) }}{{ end -}}
        {{- range $name, $value := mergeOverwrite $env $root.Values.settings }}
        {{- /* A number from a file of values is a float64, which a template writes as 2.592e+06. */ -}}
        {{- if and (kindIs "float64" $value) (eq $value (floor $value)) }}{{ $value = int64 $value }}{{ end }}
        {{- if not (kindIs "invalid" $value) }}
        - { name: {{ $name }}, value: {{ $value | toString | quote }} }
        {{- end }}
        {{- end }}
      securityContext:
        allowPrivilegeEscalation: false
        readOnlyRootFilesystem: true
        capabilities: { drop: [ALL] }
      {{- with .container }}
      {{- toYaml . | nindent 6 }}
      {{- end }}
      volumeMounts:
        - { name: secrets, mountPath: /run/secrets/countersign, readOnly: true }
        - { name: data, mountPath: /data }
        - { name: tmp, mountPath: /tmp }
        {{- with $root.Values.extraVolumeMounts }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
  volumes:
    - name: secrets
      secret:
        secretName: {{ $root.Values.secret }}
        defaultMode: 0440
        items:
          {{- range .keys }}
          - { key: {{ . }}, path: {{ . }} }
          {{- end }}
    - name: data
      emptyDir: {}
    - name: tmp
      emptyDir: {}
    {{- with $root.Values.extraVolumes }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
{{- end }}

{{- /* Keys of the Secret that a part is given, as JSON: those that it always has, and the optional ones that are there. Takes root and part. */ -}}
{{- define "countersign.keys" -}}
{{- $both := list "redis_url" "audit_stream" "audit_stream_secret" "otel_exporter_otlp_headers" -}}
{{- $of := dict
  "front" (list "smtp_url" "vault_key" "vault_key_previous" "wallet_verifier_cert" "wallet_verifier_key" "wallet_issuer_roots")
  "core" (list "token_core_secret_previous" "jwt_previous_private_key" "jwt_retired_public_keys" "jwt_rsa_private_key" "jwt_mldsa_private_key") -}}
{{- $keys := list "database_url" "token_core_secret" -}}
{{- if eq .part "core" }}{{ $keys = append $keys "jwt_private_key" }}{{ end -}}
{{- range concat $both (index $of .part) }}{{ if index $.root.Values.optionalSecrets . }}{{ $keys = append $keys . }}{{ end }}{{ end -}}
{{ toJson $keys }}
{{- end }}
