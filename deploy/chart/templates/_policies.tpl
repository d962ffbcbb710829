{{- /* What the policies have to know of the configuration. The names are from _source.tpl. */}}

{{- define "rollcall.poolNamespace" -}}
{{- .Values.coordinator.config.poolNamespace | default .Release.Namespace -}}
{{- end }}

{{- /* Not a default in values.yaml, since Helm would merge it with the user's value. */}}
{{- define "rollcall.gateSelector" -}}
{{- with .Values.policies.startupTaint.objectSelector }}{{ toJson . }}{{ else }}{{ include "rollcall.source.gateSelector" . }}{{ end -}}
{{- end }}

{{- /* Label and taint of every service of Gitpod; none where there is no Gitpod. */}}
{{- define "rollcall.services" -}}
{{- $namespace := include "rollcall.gitpod.namespace" . -}}
{{- $services := list -}}
{{- range $name := ternary (include "rollcall.source.services" . | fromJsonArray) list .Values.gitpod.enabled -}}
{{- $label := printf (include "rollcall.source.readyLabel" $) $name $namespace -}}
{{- $taint := printf (include "rollcall.source.notReadyTaint" $) $name -}}
{{- $services = append $services (dict "label" $label "taint" $taint) -}}
{{- end -}}
{{- toJson $services -}}
{{- end }}

{{- /* Strings as they stand in a list of CEL. The schema lets no quotes into them. */}}
{{- define "rollcall.cel.strings" -}}
'{{ join "', '" . }}'
{{- end }}

{{- define "rollcall.cel.labels" -}}
{{- $labels := list -}}
{{- range include "rollcall.services" . | fromJsonArray }}{{ $labels = append $labels .label }}{{ end -}}
{{- include "rollcall.cel.strings" $labels -}}
{{- end }}

{{- define "rollcall.cel.taints" -}}
{{- $taints := list -}}
{{- range include "rollcall.services" . | fromJsonArray }}{{ $taints = append $taints .taint }}{{ end -}}
{{- include "rollcall.cel.strings" $taints -}}
{{- end }}

{{- define "rollcall.cel.poolLabels" -}}
{{- $default := include "rollcall.source.poolLabels" . | fromJsonArray -}}
{{- include "rollcall.cel.strings" (.Values.coordinator.config.poolLabels | default $default) -}}
{{- end }}

{{- define "rollcall.cel.identityLabels" -}}
{{- $default := include "rollcall.source.identityLabels" . | fromJsonArray -}}
{{- include "rollcall.cel.strings" (uniq (concat $default (.Values.coordinator.config.poolLabels | default list))) -}}
{{- end }}

{{- /* Every key begins with the empty string, which is what is left without any. */}}
{{- define "rollcall.cel.poolPrefixes" -}}
{{- include "rollcall.cel.strings" .Values.pools.allowedPrefixes -}}
{{- end }}

{{- define "rollcall.cel.removedLabels" -}}
{{- include "rollcall.cel.strings" .Values.coordinator.config.poolsRemovedLabels -}}
{{- end }}

{{- define "rollcall.cel.servicePrefixes" -}}
{{- include "rollcall.cel.strings" .Values.services.allowedPrefixes -}}
{{- end }}

{{- define "rollcall.cel.reservedDomains" -}}
{{- $domains := include "rollcall.source.reservedDomains" . | fromJsonArray -}}
{{- range .Values.coordinator.config.forbiddenLabelDomains }}{{ $domains = append $domains (lower .) }}{{ end -}}
{{- include "rollcall.cel.strings" (uniq $domains) -}}
{{- end }}

{{- define "rollcall.cel.labelPrefixes" -}}
{{- $own := include "rollcall.source.labelPrefixes" . | fromJsonArray -}}
{{- include "rollcall.cel.strings" (concat $own (include "rollcall.rules.prefixes" . | fromJsonArray)) -}}
{{- end }}
