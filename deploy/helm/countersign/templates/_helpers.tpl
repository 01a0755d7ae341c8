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
        - { name: NODE_ENV, value: production }
        - { name: JWT_ISSUER, value: {{ required "issuer: give the https address of the service" $root.Values.issuer | quote }} }
        - { name: MIGRATE_ON_START, value: "false" }
        {{- range .keys }}
        - { name: {{ upper . }}, value: {{ printf "@/run/secrets/countersign/%s" . | quote }} }
        {{- end }}
        {{- range $name, $value := mergeOverwrite (default dict .env) $root.Values.settings }}
        {{- /* A number from a file of values is a float64, which a template writes as 2.592e+06. */ -}}
        {{- if and (kindIs "float64" $value) (eq $value (floor $value)) }}{{ $value = int64 $value }}{{ end }}
        - { name: {{ $name }}, value: {{ $value | toString | quote }} }
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
{{- end }}

{{- define "countersign.optional" -}}
{{- $root := .root -}}
{{- $found := list }}{{ range .of }}{{ if index $root.Values.optionalSecrets . }}{{ $found = append $found . }}{{ end }}{{ end -}}
{{ toJson $found }}
{{- end }}
