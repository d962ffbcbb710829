{{- /* What the policies have to know of the configuration. The names are from _source.tpl. */}}

{{- define "rollcall.poolNamespace" -}}
{{- .Values.coordinator.config.poolNamespace | default .Release.Namespace -}}
{{- end }}

{{- /* Not a default in values.yaml, as Helm would join it with what somebody else chooses. */}}
{{- define "rollcall.gateSelector" -}}
{{- with .Values.policies.startupTaint.objectSelector }}{{ toJson . }}{{ else }}{{ include "rollcall.source.gateSelector" . }}{{ end -}}
{{- end }}

{{- /* Every service with its label and its taint: those of Gitpod, as entries with their names change them, then others. */}}
{{- define "rollcall.services" -}}
{{- $namespace := .Values.gitpod.namespace | default (include "rollcall.source.gitpodNamespace" .) -}}
{{- $entries := dict -}}
{{- $names := include "rollcall.source.services" . | fromJsonArray -}}
{{- range .Values.coordinator.config.services -}}
{{- $_ := set $entries .name . -}}
{{- $names = append $names .name -}}
{{- end -}}
{{- $services := list -}}
{{- range $name := uniq $names -}}
{{- $entry := get $entries $name | default dict -}}
{{- $label := $entry.label | default (printf (include "rollcall.source.readyLabel" $) $name $namespace) -}}
{{- $taint := $entry.taint | default (printf (include "rollcall.source.notReadyTaint" $) $name) -}}
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

{{- define "rollcall.cel.reservedDomains" -}}
{{- $domains := include "rollcall.source.reservedDomains" . | fromJsonArray -}}
{{- range .Values.coordinator.config.forbiddenLabelDomains }}{{ $domains = append $domains (lower .) }}{{ end -}}
{{- include "rollcall.cel.strings" (uniq $domains) -}}
{{- end }}

{{- define "rollcall.cel.labelPrefixes" -}}
{{- $own := include "rollcall.source.labelPrefixes" . | fromJsonArray -}}
{{- include "rollcall.cel.strings" (concat $own (include "rollcall.rules.prefixes" . | fromJsonArray)) -}}
{{- end }}
