{{- /* How many agents are replaced at once. One of the two numbers follows from the other, as exactly one has to be 0. */}}

{{- define "rollcall.isZero" -}}
{{- if regexMatch "^0+%?$" (toString .) }}true{{ end -}}
{{- end }}

{{- define "rollcall.agent.rollingUpdate" -}}
{{- $told := .Values.agent.rollingUpdate -}}
{{- $surge := get $told "maxSurge" | toString -}}
{{- $unavailable := get $told "maxUnavailable" | toString -}}
{{- if eq $surge "" -}}
{{- /* Two agents cannot listen on the same port of a node. */ -}}
{{- $none := ternary .Values.agent.hostNetwork (not (include "rollcall.isZero" $unavailable)) (eq $unavailable "") -}}
{{- $surge = ternary "0" "10%" $none -}}
{{- end -}}
{{- if eq $unavailable "" -}}
{{- $unavailable = ternary "1" "0" (not (empty (include "rollcall.isZero" $surge))) -}}
{{- end -}}
maxSurge: {{ $surge }}
maxUnavailable: {{ $unavailable }}
{{- end }}
