{{- /* Labels and annotations of objects, of this chart and of rollcall-crds. */}}

{{- /* Labels that select the pods of a component; (list . "agent"). They never change. */}}
{{- define "rollcall.selector" -}}
{{- $root := index . 0 -}}
app.kubernetes.io/name: rollcall
app.kubernetes.io/instance: {{ $root.Release.Name | quote }}
app.kubernetes.io/component: {{ index . 1 }}
{{- end }}

{{- /* Labels of an object of a component, and further ones that never replace its own; (list . "agent" (dict)). */}}
{{- define "rollcall.labels" -}}
{{- $root := index . 0 -}}
{{- $labels := include "rollcall.selector" . | fromYaml -}}
{{- $_ := set $labels "app.kubernetes.io/version" $root.Chart.AppVersion -}}
{{- $_ := set $labels "app.kubernetes.io/part-of" "rollcall" -}}
{{- $_ := set $labels "app.kubernetes.io/managed-by" $root.Release.Service -}}
{{- $_ := set $labels "helm.sh/chart" (printf "%s-%s" $root.Chart.Name $root.Chart.Version | replace "+" "_") -}}
{{- if gt (len .) 2 }}{{ $labels = merge $labels (index . 2) }}{{ end -}}
{{- toYaml (merge $labels $root.Values.commonLabels) -}}
{{- end }}

{{- /* Labels and annotations of an object, below its metadata; (list . "agent" labels annotations). */}}
{{- define "rollcall.metadata" -}}
labels:
  {{- include "rollcall.labels" . | nindent 2 }}
{{- $own := dict }}
{{- if gt (len .) 3 }}{{ $own = index . 3 }}{{ end }}
{{- with merge (dict) $own (index . 0).Values.commonAnnotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
