{{/*
SPDX-License-Identifier: Apache-2.0
*/}}

{{- define "receipt-gateway.name" -}}
{{ default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{/* Leaves room for the suffixes of services and pods, whose names have 63 characters at most. */}}
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
app.kubernetes.io/name: {{ include "receipt-gateway.name" . | quote }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end }}

{{- define "receipt-gateway.gatewaySelector" -}}
{{ include "receipt-gateway.selectorLabels" . }}
app.kubernetes.io/component: gateway
{{- end }}

{{- define "receipt-gateway.redisSelector" -}}
{{ include "receipt-gateway.selectorLabels" . }}
app.kubernetes.io/component: redis
{{- end }}

{{/* All labels of an object or pod of `root`. Optional: its `component`, and further `labels`. */}}
{{- define "receipt-gateway.labels" -}}
{{- $chart := printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" -}}
{{- $labels := dict "helm.sh/chart" $chart "app.kubernetes.io/managed-by" .root.Release.Service "app.kubernetes.io/version" .root.Chart.AppVersion "app.kubernetes.io/part-of" "receipt-gateway" -}}
{{- $selected := include "receipt-gateway.selectorLabels" .root | fromYaml -}}
{{- $component := dict "app.kubernetes.io/component" (.component | default "gateway") -}}
{{ mergeOverwrite $labels (.root.Values.commonLabels | default dict) (.labels | default dict) $selected $component | toYaml }}
{{- end }}

{{/*
Name, namespace, labels and annotations of an object of `root`. Optional: its `name`, or a `suffix` of the usual name;
`namespace`; `component`; further `labels` and `annotations`.
*/}}
{{- define "receipt-gateway.metadata" -}}
name: {{ .name | default (list (include "receipt-gateway.fullname" .root) .suffix | compact | join "-") }}
namespace: {{ .namespace | default .root.Release.Namespace }}
labels: {{- include "receipt-gateway.labels" . | nindent 2 }}
{{- with mergeOverwrite (dict) (.root.Values.commonAnnotations | default dict) (.annotations | default dict) }}
annotations: {{- toYaml . | nindent 2 }}
{{- end }}
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
{{- if .Values.autoscaling.enabled -}}{{ .Values.autoscaling.minReplicas }}
{{- else -}}{{ .Values.replicaCount | default (dig "redis" "expected_nodes" 0 .Values.config) }}
{{- end -}}
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
readiness and tells clients to close their connections for as long again, then finishes the requests in flight. It ends the rest five seconds later, and five more are spare for its last log lines.
*/}}
{{- define "receipt-gateway.gracePeriodSeconds" -}}
{{- $drain := include "receipt-gateway.drainSeconds" . | int -}}
{{- $grace := include "receipt-gateway.seconds" (dig "shutdown" "grace" "20s" .Values.config) | int -}}
{{ add $drain $drain $grace 10 }}
{{- end }}

{{- define "receipt-gateway.adminScheme" -}}
{{- ternary "https" "http" (not (empty (dig "admin" "tls" "certificate_file" "" .Values.config))) }}
{{- end }}

{{- define "receipt-gateway.scheme" -}}
{{- ternary "https" "http" (not (empty (dig "http" "tls" "certificate_file" "" .Values.config))) }}
{{- end }}

{{/* The memory of the development Redis: its maxmemory, and 128 MiB for all else; at least 256 MiB. */}}
{{- define "receipt-gateway.redisMemory" -}}
{{- $size := .Values.redis.development.maxMemory -}}
{{- $kibibytes := get (dict "kb" 1 "mb" 1024 "gb" 1048576) (regexFind "[a-z]+$" $size) | int -}}
{{ max 256 (add 129 (div (mul (regexFind "^[0-9]+" $size | int) $kibibytes) 1024)) }}Mi
{{- end }}

{{- define "receipt-gateway.hasRedis" -}}
{{- if or .Values.redis.url .Values.redis.development.enabled (and .Values.secrets.redis.existingSecret .Values.secrets.redis.urlKey) -}}true{{- end -}}
{{- end }}

{{/* The settings that name the collector of spans, with its URL; empty for a URL that only the cluster knows. */}}
{{- define "receipt-gateway.collectors" -}}
urls:
{{- with dig "traces" "endpoint" "" .Values.config }}
  config.traces.endpoint: {{ quote . }}
{{- end }}
{{- range .Values.extraEnv }}
{{- if has .name (list "GATEWAY_TRACES_ENDPOINT" "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT" "OTEL_EXPORTER_OTLP_ENDPOINT") }}
  {{ .name }}: {{ .value | default "" | quote }}
{{- end }}
{{- end }}
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
{{- if eq (include "receipt-gateway.nodes" . | int) 0 -}}
{{- fail "replicaCount is null, so another autoscaler sets the number of nodes: set config.redis.expected_nodes to its smallest number." -}}
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
{{- $rolling := .Values.strategy.rollingUpdate | default dict -}}
{{- if and (hasPrefix "0" (toString $rolling.maxUnavailable)) (hasPrefix "0" (toString $rolling.maxSurge)) -}}
{{- fail "strategy.rollingUpdate has maxUnavailable 0 and maxSurge 0, so that no node could be replaced: set one of them." -}}
{{- end -}}
{{- if and .Values.podDisruptionBudget.enabled (eq (kindIs "invalid" .Values.podDisruptionBudget.minAvailable) (kindIs "invalid" .Values.podDisruptionBudget.maxUnavailable)) -}}
{{- fail "podDisruptionBudget needs minAvailable or maxUnavailable, not both: set the other one to null." -}}
{{- end -}}
{{- $minimum := .Values.podDisruptionBudget.minAvailable -}}
{{- $most := ternary (int .Values.autoscaling.maxReplicas) (include "receipt-gateway.nodes" . | int) .Values.autoscaling.enabled -}}
{{- if and .Values.podDisruptionBudget.enabled (regexMatch "^[0-9]+$" (toString $minimum)) (gt $most 1) (ge (int $minimum) $most) -}}
{{- fail (printf "podDisruptionBudget.minAvailable is %v, and there may be no more nodes than that: no machine of a node could be drained. Set a smaller number." $minimum) -}}
{{- end -}}
{{- if and .Values.trustRoots.existingConfigMap (not .Values.trustRoots.environments) -}}
{{- fail "trustRoots.environments is empty: list each file of the ConfigMap with the environments it may sign for, such as {test.pem: [Sandbox]}." -}}
{{- end -}}
{{- if and .Values.trustRoots.environments (not .Values.trustRoots.existingConfigMap) -}}
{{- fail "trustRoots.existingConfigMap is missing: it has the files that trustRoots.environments names." -}}
{{- end -}}
{{- range $variable := .Values.extraEnv -}}
{{- $derived := list "GATEWAY_REDIS_URL" "GATEWAY_REDIS_URL_FILE" "GATEWAY_ADMIN_TLS_CERTIFICATE_FILE" "GATEWAY_HTTP_TLS_CERTIFICATE_FILE" "GATEWAY_SHUTDOWN_GRACE" "GATEWAY_SHUTDOWN_DRAIN_DELAY" -}}
{{- if has $variable.name $derived -}}
{{- fail (printf "extraEnv has %s, from which the chart derives probes, services, policies and the grace period of the pod. Set it in config, redis or secrets.redis." $variable.name) -}}
{{- end -}}
{{- if has $variable.name (list "GATEWAY_CONFIG_FILE" "GATEWAY_HTTP_PORT" "GATEWAY_ADMIN_PORT" "GATEWAY_CLIENTS_FILE") -}}
{{- fail (printf "extraEnv has %s, which the chart sets itself: its probes, services and policies use ports 8080 and 9090 of the pod, the clients file comes from secrets.clients, and settings from config. Remove it; service.port is the port for clients." $variable.name) -}}
{{- end -}}
{{- end -}}
{{- range $name := list "commonLabels" "podLabels" -}}
{{- range $label := list "app.kubernetes.io/name" "app.kubernetes.io/instance" "app.kubernetes.io/component" -}}
{{- if hasKey (get $.Values $name | default dict) $label -}}
{{- fail (printf "%s has %s, by which the chart selects its pods. Remove it; nameOverride and fullnameOverride are for other names." $name $label) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- range $name := list "initContainers" "extraContainers" -}}
{{- range $container := get $.Values $name | default list -}}
{{- if eq $container.name "gateway" -}}
{{- fail (printf "%s has a container named gateway, which is the chart's own: give it another name." $name) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- range $name := list "ingress" "notificationsIngress" -}}
{{- $ingress := get $.Values $name -}}
{{- if and $ingress.enabled (not $ingress.hostnames) -}}
{{- fail (printf "%s.hostnames is empty: an ingress without a host name would match every host." $name) -}}
{{- end -}}
{{- end -}}
{{- $service := .Values.service -}}
{{- range $field, $types := dict "loadBalancerClass" (list "LoadBalancer") "loadBalancerSourceRanges" (list "LoadBalancer") "externalTrafficPolicy" (list "LoadBalancer" "NodePort") -}}
{{- if and (get $service $field) (not (has $service.type $types)) -}}
{{- fail (printf "service.%s has no effect with service.type %s: set the type %s, or remove it." $field $service.type (join " or " $types)) -}}
{{- end -}}
{{- end -}}
{{- if .Values.networkPolicy.enabled -}}
{{- include "receipt-gateway.checkNetworkPolicy" . -}}
{{- end -}}
{{- end }}

{{/* Rejects a network policy that would silently drop the traffic which the other values ask for. */}}
{{- define "receipt-gateway.checkNetworkPolicy" -}}
{{- $policy := .Values.networkPolicy -}}
{{- $doors := compact (list (ternary "ingress.enabled" "" .Values.ingress.enabled) (ternary "notificationsIngress.enabled" "" .Values.notificationsIngress.enabled) (ternary "" (printf "service.type %s" .Values.service.type) (eq .Values.service.type "ClusterIP"))) -}}
{{- if and $doors (not $policy.clients) -}}
{{- fail (printf "networkPolicy.clients is empty, with %s: the policy would admit the pods of the cluster alone, and drop what comes from machines and load balancers without a trace. Name the peers that send requests, such as {namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: ingress-nginx}}} or {ipBlock: {cidr: 10.0.0.0/8}}." (join " and " $doors)) -}}
{{- end -}}
{{- $admitted := append (ternary (toStrings $policy.webhooks.ports) list (not (empty $policy.webhooks.to))) (toString $policy.apple.port) -}}
{{- range $part := list "apple" "webhooks" -}}
{{- with regexReplaceAll "^([A-Za-z0-9]+://)?([^@/]*@)?" (dig $part "proxy" "" $.Values.config) "" | lower -}}
{{- $port := regexFind ":[0-9]+(/|$)" . | trimPrefix ":" | trimSuffix "/" -}}
{{- $isLocal := regexMatch "^(localhost|127\\.[0-9.]+|\\[::1\\])([:/]|$)" . -}}
{{- if not (or $isLocal (has $port $admitted) $policy.extraEgress $.Values.extraObjects) -}}
{{- fail (printf "config.%s.proxy is set, and no rule of networkPolicy admits its port: the policy would drop the traffic to the proxy. Add its address and port to networkPolicy.extraEgress." $part) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- $url := .Values.redis.url -}}
{{- if and $url (not (contains "+unix:" $url)) -}}
{{- $default := contains "+sentinel:" $url | ternary ":26379" ":6379" -}}
{{- range $host := regexFind "^[^/?]*" (regexReplaceAll "^[a-z+]+://([^@/]*@)?" $url "") | splitList "," -}}
{{- $port := regexFind ":[0-9]+$" $host | default $default | trimPrefix ":" -}}
{{- if not (has $port (toStrings $policy.redis.ports)) -}}
{{- fail (printf "networkPolicy.redis.ports lacks port %s of redis.url: the gateway could not reach Redis. Add it, and behind a service also the port of its pods." $port) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- range $setting, $url := (include "receipt-gateway.collectors" . | fromYaml).urls -}}
{{- $default := hasPrefix "https:" $url | ternary ":443" ":80" -}}
{{- $port := regexFind ":[0-9]+$" (regexFind "^[^/?]*" (regexReplaceAll "^[a-z]+://" $url "")) | default $default | trimPrefix ":" -}}
{{- $isLocal := regexMatch "^[a-z]+://(localhost|127[.]|\\[::1])" $url -}}
{{- if and $url (not $isLocal) (not (has $port (toStrings $policy.traces.ports))) -}}
{{- fail (printf "networkPolicy.traces.ports lacks port %s of %s: the gateway could not reach the collector. Add it, and behind a service also the port of its pods." $port $setting) -}}
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
{{- if $secrets.signedAnswers.existingSecret }}
- {name: signed-answers, secret: {{ $secrets.signedAnswers.existingSecret | quote }}}
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
metadata: {{- include "receipt-gateway.metadata" (dict "root" .root "suffix" .suffix "annotations" .ingress.annotations) | nindent 2 }}
spec:
  {{- with .ingress.className }}
  ingressClassName: {{ . }}
  {{- end }}
  {{- with .ingress.tls }}
  tls: {{- toYaml . | nindent 4 }}
  {{- end }}
  rules:
    {{- range .ingress.hostnames }}
    - host: {{ quote . }}
      http:
        paths:
          {{- $gateway := dict "service" (dict "name" (include "receipt-gateway.fullname" $.root) "port" (dict "name" "http")) }}
          {{- range $.ingress.extraPaths }}
          - {{- toYaml (merge (dict) . (dict "pathType" "Prefix" "backend" $gateway)) | nindent 12 }}
          {{- end }}
          {{- range $.paths }}
          - path: {{ index . 0 }}
            pathType: {{ index . 1 }}
            backend: {service: {name: {{ include "receipt-gateway.fullname" $.root }}, port: {name: http}}}
          {{- end }}
    {{- end }}
{{- end }}
