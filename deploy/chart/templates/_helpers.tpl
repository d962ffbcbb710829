{{- /* What several objects have in common. */}}

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

{{- define "rollcall.image" -}}
{{- with .Values.image -}}
{{- if .registry }}{{ trimSuffix "/" .registry }}/{{ end -}}
{{ .repository }}
{{- if .digest }}@{{ .digest }}{{ else }}:{{ .tag | default $.Chart.AppVersion }}{{ end -}}
{{- end -}}
{{- end }}

{{- /* What a pod and its only container may do; it satisfies the Pod Security level restricted. */}}
{{- define "rollcall.podSecurity" -}}
runAsNonRoot: true
{{- with .Values.runAsUser }}
runAsUser: {{ . }}
runAsGroup: {{ . }}
fsGroup: {{ . }}
{{- end }}
seccompProfile:
  type: RuntimeDefault
{{- end }}

{{- define "rollcall.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end }}

{{- /* HOST:PORT of a listener; (list . 8086). */}}
{{- define "rollcall.listen" -}}
{{- $host := (index . 0).Values.listenAddress -}}
{{- if contains ":" $host }}[{{ $host }}]{{ else }}{{ $host }}{{ end }}:{{ index . 1 }}
{{- end }}

{{- define "rollcall.priorityClassName" -}}
{{- $root := index . 0 -}}
{{- index . 1 | default (ternary "rollcall" "" $root.Values.priorityClass.create) -}}
{{- end }}

{{- /* Whatever a service may put on a node must not keep the pods away that take it off: its key is data. */}}
{{- define "rollcall.tolerations" -}}
- { operator: Exists, effect: NoSchedule }
{{- if .Values.coordinator.config.allowNoExecute }}
# Of those that match a taint the first counts: a pod on a node that is lost does not wait for ever.
- { key: node.kubernetes.io/not-ready, operator: Exists, effect: NoExecute, tolerationSeconds: 300 }
- { key: node.kubernetes.io/unreachable, operator: Exists, effect: NoExecute, tolerationSeconds: 300 }
- { operator: Exists, effect: NoExecute }
{{- end }}
{{- end }}

{{- /* Annotations of a pod; (list "text of its configuration" (dict)). */}}
{{- define "rollcall.podAnnotations" -}}
{{- toYaml (merge (dict "checksum/config" (index . 0 | sha256sum)) (index . 1 | default dict)) -}}
{{- end }}

{{- /* Environment of every pod that says who and where it is. */}}
{{- define "rollcall.env" -}}
- name: POD_NAMESPACE
  valueFrom: { fieldRef: { fieldPath: metadata.namespace } }
- name: POD_NAME
  valueFrom: { fieldRef: { fieldPath: metadata.name } }
{{- end }}

{{- /*
Default affinity of coordinators: like agents, not on virtual nodes (AWS Fargate, Virtual Kubelet); and rather not on nodes
with workspaces, since a process that breaks out of a workspace should not find the coordinator's token there.
*/}}
{{- define "rollcall.coordinator.affinity" -}}
{{- if .Values.coordinator.affinity -}}
{{- toYaml .Values.coordinator.affinity -}}
{{- else -}}
{{- $real := list (dict "key" "eks.amazonaws.com/compute-type" "operator" "NotIn" "values" (list "fargate")) -}}
{{- $real = append $real (dict "key" "type" "operator" "NotIn" "values" (list "virtual-kubelet")) -}}
{{- $away := list -}}
{{- range list "gitpod.io/workload_workspace_regular" "gitpod.io/workload_workspace_headless" -}}
{{- $away = append $away (dict "key" . "operator" "DoesNotExist") -}}
{{- end -}}
{{- $isRequired := eq .Values.coordinator.awayFromWorkspaces "required" -}}
nodeAffinity:
  requiredDuringSchedulingIgnoredDuringExecution:
    nodeSelectorTerms:
      {{- toYaml (list (dict "matchExpressions" (ternary (concat $real $away) $real $isRequired))) | nindent 6 }}
  {{- if not $isRequired }}
  preferredDuringSchedulingIgnoredDuringExecution:
    {{- toYaml (list (dict "weight" 100 "preference" (dict "matchExpressions" $away))) | nindent 4 }}
  {{- end }}
{{- end -}}
{{- end }}
