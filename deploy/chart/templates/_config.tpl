{{- /* The configuration files, made from the values. */}}

{{- /* The configuration for --prune, which does not listen; its pod has no other files. */}}
{{- define "rollcall.prune.config" -}}
{{- $config := merge (dict) .Values.coordinator.config (include "rollcall.gitpod" . | fromYaml) -}}
{{- $_ := set $config "leaseName" .Values.leaseName -}}
{{- toYaml (omit $config "schedulerTls" "schedulerClientCaFile" "registryFacadeCaFile") -}}
{{- end }}

{{- define "rollcall.coordinator.config" -}}
{{- $config := merge (dict) .Values.coordinator.config (include "rollcall.gitpod" . | fromYaml) -}}
{{- if not .Values.agent.enabled }}{{ $_ := set $config "agents" false }}{{ end -}}
{{- $_ := set $config "reportsListen" (include "rollcall.listen" (list . 8443)) -}}
{{- $_ := set $config "listen" (include "rollcall.listen" (list . 8086)) -}}
{{- $_ := set $config "leaseName" .Values.leaseName -}}
{{- $scheduler := "off" -}}
{{- if .Values.scheduler.enabled -}}
{{- $scheduler = include "rollcall.listen" (list . .Values.scheduler.port) -}}
{{- end -}}
{{- $_ := set $config "schedulerListen" $scheduler -}}
{{- if and .Values.scheduler.enabled .Values.scheduler.clientCertificates .Values.scheduler.clientCaConfigMapName -}}
{{- $_ := set $config "schedulerTls" "on" -}}
{{- $_ := set $config "schedulerClientCaFile" "/etc/rollcall/scheduler-ca/ca.crt" -}}
{{- end -}}
{{- if .Values.tls.secretName -}}
{{- $_ := set $config "tlsCertFile" "/etc/rollcall/tls/tls.crt" -}}
{{- $_ := set $config "tlsKeyFile" "/etc/rollcall/tls/tls.key" -}}
{{- end -}}
{{- with .Values.startupGate.daemonSets }}
{{- if .enabled -}}
{{- $_ := set $config "startupGateDaemonSets" true -}}
{{- range $field := list "namespaces" "exclude" "taints" "timeout" "onTimeout" }}{{ $_ := set $config (printf "startupGateDaemonSets%s%s" (upper (substr 0 1 $field)) (substr 1 -1 $field)) (index $.Values.startupGate.daemonSets $field) }}{{ end -}}
{{- end -}}
{{- end -}}
{{- with .Values.pools.allowedPrefixes }}{{ $_ := set $config "poolsAllowedPrefixes" . }}{{ end -}}
{{- $_ := set $config "servicesAllowedPrefixes" .Values.services.allowedPrefixes -}}
{{- if ne .Values.hardware.labels "all" }}{{ $_ := set $config "hardwareLabels" .Values.hardware.labels }}{{ end -}}
{{- if include "rollcall.rules.configMaps" . | fromYaml -}}
{{- $_ := set $config "labelDir" "/etc/rollcall/rules" -}}
{{- $_ := set $config "rulesAllowedPrefixes" (include "rollcall.rules.prefixes" . | fromJsonArray) -}}
{{- end -}}
{{- toYaml $config -}}
{{- end }}

{{- /* Where Gitpod is, as the coordinator is told. */}}
{{- define "rollcall.gitpod" -}}
{{- if .Values.gitpod.enabled }}{{ toYaml (omit .Values.gitpod "enabled") }}{{ else }}gitpod: false{{ end -}}
{{- end }}

{{- /* ConfigMaps with rule files, by the prefix of the labels. */}}
{{- define "rollcall.rules.configMaps" -}}
{{- $found := dict -}}
{{- if and .Values.agent.enabled .Values.rules.accelerators }}{{ $_ := set $found "accelerators" "rollcall-accelerator-rules" }}{{ end -}}
{{- range $prefix := keys .Values.rules.files -}}
{{- if hasKey $found $prefix }}{{ fail (printf "rules.files: there are rules of %s already" $prefix) }}{{ end -}}
{{- $_ := set $found $prefix (printf "rollcall-rules-%s" $prefix) -}}
{{- end -}}
{{- range $prefix, $name := .Values.rules.configMaps -}}
{{- if hasKey $found $prefix }}{{ fail (printf "rules.configMaps: there are rules of %s already" $prefix) }}{{ end -}}
{{- $_ := set $found $prefix $name -}}
{{- end -}}
{{- toYaml $found -}}
{{- end }}

{{- /* The domain of Kubernetes that a key, or a prefix that ends with a slash, is in. */}}
{{- define "rollcall.reservedDomain" -}}
{{- $domain := printf ".%s" (dir .) -}}
{{- range include "rollcall.source.reservedDomains" . | fromJsonArray }}{{ if hasSuffix (printf ".%s" .) $domain }}{{ . }}{{ end }}{{ end -}}
{{- end }}

{{- /* What labels of rules may begin with, for the coordinator and the fence alike. */}}
{{- define "rollcall.rules.prefixes" -}}
{{- $prefixes := list -}}
{{- range $prefix := keys (include "rollcall.rules.configMaps" . | fromYaml) | sortAlpha -}}
{{- $key := printf "%s/" $prefix -}}
{{- $isNamed := false -}}
{{- range $.Values.rules.allowedPrefixes }}{{ if hasPrefix $key . }}{{ $isNamed = true }}{{ end }}{{ end -}}
{{- if not (include "rollcall.reservedDomain" $key) -}}
{{- $prefixes = append $prefixes $key -}}
{{- else if not $isNamed -}}
{{- fail (printf "rules: %s is a domain of Kubernetes: add to rules.allowedPrefixes which of its labels rules may set, such as %s" $prefix $key) -}}
{{- end -}}
{{- end -}}
{{- toJson (concat $prefixes .Values.rules.allowedPrefixes | uniq) -}}
{{- end }}
