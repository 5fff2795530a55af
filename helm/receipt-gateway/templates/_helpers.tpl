{{/*
SPDX-License-Identifier: Apache-2.0
*/}}

{{- define "receipt-gateway.name" -}}
{{ default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{/* Leaves room for the longest suffix, -dashboards. */}}
{{- define "receipt-gateway.fullname" -}}
{{- $name := include "receipt-gateway.name" . -}}
{{- if .Values.fullnameOverride -}}
{{ .Values.fullnameOverride | trunc 52 | trimSuffix "-" }}
{{- else if contains $name .Release.Name -}}
{{ .Release.Name | trunc 52 | trimSuffix "-" }}
{{- else -}}
{{ printf "%s-%s" .Release.Name $name | trunc 52 | trimSuffix "-" }}
{{- end -}}
{{- end }}

{{- define "receipt-gateway.selectorLabels" -}}
app.kubernetes.io/name: {{ include "receipt-gateway.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "receipt-gateway.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/part-of: receipt-gateway
{{- end }}

{{/* Labels of the gateway's own objects. */}}
{{- define "receipt-gateway.gatewayLabels" -}}
{{ include "receipt-gateway.labels" . }}
{{ include "receipt-gateway.selectorLabels" . }}
app.kubernetes.io/component: gateway
{{- end }}

{{- define "receipt-gateway.gatewaySelector" -}}
{{ include "receipt-gateway.selectorLabels" . }}
app.kubernetes.io/component: gateway
{{- end }}

{{- define "receipt-gateway.redisSelector" -}}
{{ include "receipt-gateway.selectorLabels" . }}
app.kubernetes.io/component: redis
{{- end }}

{{- define "receipt-gateway.redisName" -}}
{{ include "receipt-gateway.fullname" . }}-redis
{{- end }}

{{- define "receipt-gateway.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{ default (include "receipt-gateway.fullname" .) .Values.serviceAccount.name }}
{{- else -}}
{{ default "default" .Values.serviceAccount.name }}
{{- end -}}
{{- end }}

{{/* The name of an image, `.image`, with `global.imageRegistry` in place of its registry, if that is set. */}}
{{- define "receipt-gateway.imageName" -}}
{{- $registry := dig "imageRegistry" "" (.root.Values.global | default dict) | trimSuffix "/" -}}
{{- if not $registry -}}{{ .image }}
{{- else -}}{{ $registry }}/{{ regexReplaceAll "^(localhost|[^/]*[.:][^/]*)/" .image "" }}
{{- end -}}
{{- end }}

{{- define "receipt-gateway.image" -}}
{{- $name := include "receipt-gateway.imageName" (dict "root" . "image" .Values.image.repository) -}}
{{- if .Values.image.digest -}}
{{ $name }}@{{ .Values.image.digest }}
{{- else -}}
{{ $name }}:{{ default .Chart.AppVersion .Values.image.tag }}
{{- end -}}
{{- end }}

{{/* The smallest number of nodes. */}}
{{- define "receipt-gateway.nodes" -}}
{{ if .Values.autoscaling.enabled }}{{ .Values.autoscaling.minReplicas }}{{ else }}{{ .Values.replicaCount }}{{ end }}
{{- end }}

{{/* A duration such as 500ms, 15s, 5m, 1h or 1d in whole seconds, rounded up. */}}
{{- define "receipt-gateway.seconds" -}}
{{- $count := regexFind "^[0-9]+" . | int64 -}}
{{- $unit := regexFind "[a-z]+$" . -}}
{{- if eq $unit "ms" -}}{{ div (add $count 999) 1000 }}
{{- else -}}{{ mul $count (get (dict "s" 1 "m" 60 "h" 3600 "d" 86400) $unit) }}
{{- end -}}
{{- end }}

{{- define "receipt-gateway.drainSeconds" -}}
{{ include "receipt-gateway.seconds" (dig "shutdown" "drain_delay" "5s" .Values.config) }}
{{- end }}

{{/*
preStop sleeps for the drain delay, until load balancers send no new connections. After SIGTERM the gateway fails its
readiness and tells clients to close their connections for as long again, then finishes the requests in flight. Five seconds are spare.
*/}}
{{- define "receipt-gateway.gracePeriodSeconds" -}}
{{- $drain := include "receipt-gateway.drainSeconds" . | int -}}
{{- $grace := include "receipt-gateway.seconds" (dig "shutdown" "grace" "20s" .Values.config) | int -}}
{{ add $drain $drain $grace 5 }}
{{- end }}

{{- define "receipt-gateway.hasRedis" -}}
{{- if or .Values.redis.url .Values.redis.development.enabled (and .Values.secrets.redis.existingSecret .Values.secrets.redis.urlKey) -}}true{{- end -}}
{{- end }}

{{/* Rejects contradicting values before anything is installed. */}}
{{- define "receipt-gateway.check" -}}
{{- $secrets := .Values.secrets -}}
{{- if not $secrets.clients.existingSecret -}}
{{- fail "secrets.clients.existingSecret is missing: without clients the gateway serves only its own pod. Create a Secret with the clients file and the pepper of their API keys, and name it (see docs/kubernetes.md)." -}}
{{- end -}}
{{- $urls := compact (list .Values.redis.url (ternary "development" "" .Values.redis.development.enabled) (and $secrets.redis.existingSecret $secrets.redis.urlKey)) -}}
{{- if gt (len $urls) 1 -}}
{{- fail "Redis is configured more than once: set only one of redis.url, secrets.redis.urlKey and redis.development.enabled." -}}
{{- end -}}
{{- if and (include "receipt-gateway.hasRedis" .) (not $secrets.cacheKeys.existingSecret) -}}
{{- fail "secrets.cacheKeys.existingSecret is missing: the gateway seals everything that it stores in Redis. Create a Secret with a cache key, and name it (see docs/kubernetes.md)." -}}
{{- end -}}
{{- if and $secrets.redis.existingSecret (not $secrets.redis.urlKey) (not .Values.redis.url) -}}
{{- fail "secrets.redis has a password, but there is no URL: set redis.url or secrets.redis.urlKey." -}}
{{- end -}}
{{- if ne (empty $secrets.redisTLS.certFilename) (empty $secrets.redisTLS.certKeyFilename) -}}
{{- fail "secrets.redisTLS needs both certFilename and certKeyFilename, or neither." -}}
{{- end -}}
{{- if and .Values.autoscaling.enabled (gt (int .Values.autoscaling.minReplicas) (int .Values.autoscaling.maxReplicas)) -}}
{{- fail "autoscaling.minReplicas is greater than autoscaling.maxReplicas." -}}
{{- end -}}
{{- if and .Values.autoscaling.enabled (not .Values.autoscaling.targetCPUUtilizationPercentage) (not .Values.autoscaling.targetRequestsPerSecond) -}}
{{- fail "autoscaling has no metric: set autoscaling.targetCPUUtilizationPercentage, autoscaling.targetRequestsPerSecond, or both." -}}
{{- end -}}
{{- if and .Values.autoscaling.enabled .Values.autoscaling.targetCPUUtilizationPercentage (not (dig "requests" "cpu" "" .Values.resources)) -}}
{{- fail "autoscaling.targetCPUUtilizationPercentage needs resources.requests.cpu, which is missing." -}}
{{- end -}}
{{- if and .Values.podDisruptionBudget.enabled (eq (kindIs "invalid" .Values.podDisruptionBudget.minAvailable) (kindIs "invalid" .Values.podDisruptionBudget.maxUnavailable)) -}}
{{- fail "podDisruptionBudget needs minAvailable or maxUnavailable, not both: set the other one to null." -}}
{{- end -}}
{{- if and .Values.trustRoots.existingConfigMap (not .Values.trustRoots.environments) -}}
{{- fail "trustRoots.environments is empty: list each file of the ConfigMap with the environments it may sign for, such as {test.pem: [Sandbox]}." -}}
{{- end -}}
{{- if and .Values.trustRoots.environments (not .Values.trustRoots.existingConfigMap) -}}
{{- fail "trustRoots.existingConfigMap is missing: it has the files that trustRoots.environments names." -}}
{{- end -}}
{{- range $variable := .Values.extraEnv -}}
{{- if has $variable.name (list "GATEWAY_CONFIG_FILE" "GATEWAY_HTTP_PORT" "GATEWAY_ADMIN_PORT" "GATEWAY_CLIENTS_FILE") -}}
{{- fail (printf "extraEnv has %s, which the chart sets itself: its probes, services and policies use ports 8080 and 9090 of the pod, the clients file comes from secrets.clients, and settings from config. Remove it; service.port is the port for clients." $variable.name) -}}
{{- end -}}
{{- end -}}
{{- range $name := list "ingress" "notificationsIngress" -}}
{{- $ingress := get $.Values $name -}}
{{- if and $ingress.enabled (not $ingress.hostname) -}}
{{- fail (printf "%s.hostname is missing: an ingress without a host name would match every host." $name) -}}
{{- end -}}
{{- end -}}
{{- end }}

{{/* The folder of the mounted secrets. */}}
{{- define "receipt-gateway.secretsFolder" -}}/run/secrets/receipt-gateway{{- end }}

{{/* Secrets with a single value: the setting without GATEWAY_, the Secret, and its key. */}}
{{- define "receipt-gateway.secretValues" -}}
{{- $secrets := .Values.secrets -}}
values:
- {setting: API_KEY_PEPPER, secret: {{ $secrets.clients.existingSecret | quote }}, key: {{ $secrets.clients.pepperKey | quote }}, file: clients/{{ $secrets.clients.pepperKey }}}
{{- if $secrets.apple.existingSecret }}
- {setting: APPLE_SHARED_SECRET, secret: {{ $secrets.apple.existingSecret | quote }}, key: {{ $secrets.apple.key | quote }}, file: apple/{{ $secrets.apple.key }}}
{{- end }}
{{- if $secrets.cacheKeys.existingSecret }}
- {setting: CACHE_KEYS, secret: {{ $secrets.cacheKeys.existingSecret | quote }}, key: {{ $secrets.cacheKeys.key | quote }}, file: cache-keys/{{ $secrets.cacheKeys.key }}}
{{- end }}
{{- if $secrets.notifications.existingSecret }}
- {setting: NOTIFICATIONS_TOKEN, secret: {{ $secrets.notifications.existingSecret | quote }}, key: {{ $secrets.notifications.key | quote }}, file: notifications/{{ $secrets.notifications.key }}}
{{- end }}
{{- if $secrets.redis.existingSecret }}
{{- if $secrets.redis.urlKey }}
- {setting: REDIS_URL, secret: {{ $secrets.redis.existingSecret | quote }}, key: {{ $secrets.redis.urlKey | quote }}, file: redis/{{ $secrets.redis.urlKey }}}
{{- end }}
{{- if $secrets.redis.passwordKey }}
- {setting: REDIS_PASSWORD, secret: {{ $secrets.redis.existingSecret | quote }}, key: {{ $secrets.redis.passwordKey | quote }}, file: redis/{{ $secrets.redis.passwordKey }}}
{{- end }}
{{- end }}
{{- end }}

{{/* Secrets mounted as folders: some always, the others with `usePasswordFiles`. */}}
{{- define "receipt-gateway.secretFolders" -}}
{{- $secrets := .Values.secrets -}}
{{- $asFile := $secrets.usePasswordFiles -}}
folders:
- {name: clients, secret: {{ $secrets.clients.existingSecret | quote }}}
{{- if $secrets.apps.existingSecret }}
- {name: apps, secret: {{ $secrets.apps.existingSecret | quote }}}
{{- end }}
{{- if $secrets.webhooks.existingSecret }}
- {name: webhooks, secret: {{ $secrets.webhooks.existingSecret | quote }}}
{{- end }}
{{- if $secrets.redisTLS.existingSecret }}
- {name: redis-tls, secret: {{ $secrets.redisTLS.existingSecret | quote }}}
{{- end }}
{{- if and $asFile $secrets.apple.existingSecret }}
- {name: apple, secret: {{ $secrets.apple.existingSecret | quote }}}
{{- end }}
{{- if and $asFile $secrets.cacheKeys.existingSecret }}
- {name: cache-keys, secret: {{ $secrets.cacheKeys.existingSecret | quote }}}
{{- end }}
{{- if and $asFile $secrets.notifications.existingSecret }}
- {name: notifications, secret: {{ $secrets.notifications.existingSecret | quote }}}
{{- end }}
{{- if and $asFile $secrets.redis.existingSecret }}
- {name: redis, secret: {{ $secrets.redis.existingSecret | quote }}}
{{- end }}
{{- end }}

{{/* The names of the chart's services in the cluster: Prometheus may use any of them. */}}
{{- define "receipt-gateway.hostNames" -}}
{{- $fullname := include "receipt-gateway.fullname" . -}}
names:
{{- range $service := list $fullname (printf "%s-admin" $fullname) }}
- {{ $service }}
- {{ $service }}.{{ $.Release.Namespace }}
- {{ $service }}.{{ $.Release.Namespace }}.svc
- {{ $service }}.{{ $.Release.Namespace }}.svc.cluster.local
{{- end }}
{{- end }}

{{/* The configuration file: `config`, and the settings that the chart makes itself. */}}
{{- define "receipt-gateway.configuration" -}}
{{- $folder := include "receipt-gateway.secretsFolder" . -}}
{{- $secrets := .Values.secrets -}}
{{- $redis := dict "expected_nodes" (include "receipt-gateway.nodes" . | int) -}}
{{- if .Values.redis.development.enabled -}}
{{- $_ := set $redis "url" (printf "redis://%s:6379" (include "receipt-gateway.redisName" .)) -}}
{{- else if .Values.redis.url -}}
{{- $_ := set $redis "url" .Values.redis.url -}}
{{- end -}}
{{- if $secrets.redisTLS.existingSecret -}}
{{- if $secrets.redisTLS.certCAFilename -}}{{- $_ := set $redis "ca_file" (printf "%s/redis-tls/%s" $folder $secrets.redisTLS.certCAFilename) -}}{{- end -}}
{{- if $secrets.redisTLS.certFilename -}}
{{- $_ := set $redis "certificate_file" (printf "%s/redis-tls/%s" $folder $secrets.redisTLS.certFilename) -}}
{{- $_ := set $redis "key_file" (printf "%s/redis-tls/%s" $folder $secrets.redisTLS.certKeyFilename) -}}
{{- end -}}
{{- end -}}
{{- $own := dict
  "http" (dict "host" "0.0.0.0" "port" 8080)
  "admin" (dict "host" "0.0.0.0" "port" 9090 "host_names" (include "receipt-gateway.hostNames" . | fromYaml).names)
  "clients_file" (printf "%s/clients/%s" $folder $secrets.clients.clientsKey)
  "redis" $redis -}}
{{- if .Values.trustRoots.existingConfigMap -}}
{{- $roots := list -}}
{{- range $file, $environments := .Values.trustRoots.environments -}}
{{- $roots = append $roots (printf "/etc/receipt-gateway/trust-roots/%s=%s" $file (join "+" $environments)) -}}
{{- end -}}
{{- $_ := set $own "trust_roots" $roots -}}
{{- end -}}
{{ dict "gateway" (mergeOverwrite (deepCopy $own) .Values.config) | toYaml }}
{{- end }}

{{/* An ingress for some paths of the data plane. */}}
{{- define "receipt-gateway.ingress" -}}
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: {{ .name }}
  namespace: {{ .root.Release.Namespace }}
  labels: {{- include "receipt-gateway.gatewayLabels" .root | nindent 4 }}
  {{- with .ingress.annotations }}
  annotations: {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  {{- with .ingress.className }}
  ingressClassName: {{ . }}
  {{- end }}
  {{- with .ingress.tls }}
  tls: {{- toYaml . | nindent 4 }}
  {{- end }}
  rules:
    - host: {{ .ingress.hostname | quote }}
      http:
        paths:
          {{- $gateway := dict "service" (dict "name" (include "receipt-gateway.fullname" $.root) "port" (dict "name" "http")) }}
          {{- range .ingress.extraPaths }}
          - {{- toYaml (merge (dict) . (dict "pathType" "Prefix" "backend" $gateway)) | nindent 12 }}
          {{- end }}
          {{- range .paths }}
          - path: {{ index . 0 }}
            pathType: {{ index . 1 }}
            backend: {service: {name: {{ include "receipt-gateway.fullname" $.root }}, port: {name: http}}}
          {{- end }}
{{- end }}
