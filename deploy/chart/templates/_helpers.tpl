{{- /* What several objects have in common. */}}

{{- /* Labels of pods. They do not change with the version of the chart, or each would replace every pod. */}}
{{- define "rollcall.podLabels" -}}
{{- $more := dict -}}
{{- if gt (len .) 2 }}{{ $more = index . 2 }}{{ end -}}
{{- toYaml (merge (include "rollcall.selector" . | fromYaml) $more (index . 0).Values.commonLabels) -}}
{{- end }}

{{- define "rollcall.image" -}}
{{- $registry := (.Values.global | default dict).imageRegistry | default .Values.image.registry -}}
{{- with .Values.image -}}
{{- with $registry }}{{ trimSuffix "/" . }}/{{ end -}}
{{ .repository }}
{{- if .digest }}@{{ .digest }}{{ else }}:{{ .tag | default $.Chart.AppVersion }}{{ end -}}
{{- end -}}
{{- end }}

{{- /* What all pods have in common; (list . .Values.agent). */}}
{{- define "rollcall.pod" -}}
{{- $root := index . 0 -}}
{{- $of := pick (index . 1) "nodeSelector" "dnsPolicy" "dnsConfig" "hostAliases" "hostUsers" "runtimeClassName" -}}
{{- $secrets := $root.Values.image.pullSecrets -}}
{{- range ($root.Values.global | default dict).imagePullSecrets -}}
{{- $secrets = append $secrets (ternary (dict "name" .) . (kindIs "string" .)) -}}
{{- end -}}
{{- $_ := set $of "imagePullSecrets" $secrets -}}
{{- range $name, $value := $of -}}
{{- if or $value (kindIs "bool" $value) }}
{{ toYaml (dict $name $value) }}
{{- end -}}
{{- end -}}
{{- end }}

{{- /* What a pod and its only container may do; it satisfies the Pod Security level restricted. */}}
{{- define "rollcall.podSecurity" -}}
{{- $own := dict "runAsNonRoot" true "seccompProfile" (dict "type" "RuntimeDefault") -}}
{{- with .Values.runAsUser -}}
{{- range $field := list "runAsUser" "runAsGroup" "fsGroup" }}{{ $_ := set $own $field (int64 $.Values.runAsUser) }}{{ end -}}
{{- end -}}
{{- toYaml (mergeOverwrite $own .Values.podSecurityContext) -}}
{{- end }}

{{- define "rollcall.containerSecurity" -}}
{{- $own := dict "allowPrivilegeEscalation" false "readOnlyRootFilesystem" true "capabilities" (dict "drop" (list "ALL")) -}}
{{- toYaml (mergeOverwrite $own .Values.containerSecurityContext) -}}
{{- end }}

{{- /* HOST:PORT of a listener; (list . 8086). */}}
{{- define "rollcall.listen" -}}
{{- $host := (index . 0).Values.listenAddress -}}
{{- if contains ":" $host }}[{{ $host }}]{{ else }}{{ $host }}{{ end }}:{{ index . 1 }}
{{- end }}

{{- define "rollcall.priorityClassName" -}}
{{- $root := index . 0 -}}
{{- index . 1 | default (ternary (include "rollcall.priorityClass" $root) "" $root.Values.priorityClass.create) -}}
{{- end }}

{{- /* The value of a PriorityClass cannot change: another value is another PriorityClass. */}}
{{- define "rollcall.priorityClass" -}}
rollcall-{{ .Values.priorityClass.value | int64 }}
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
Default affinity of coordinators: like agents, on nodes of the image's architectures, and not on virtual ones (AWS Fargate,
Virtual Kubelet); and rather not on nodes with workspaces, since a process that breaks out of a workspace should not find
the coordinator's token there. None if the value is null.
*/}}
{{- define "rollcall.coordinator.affinity" -}}
{{- if .Values.coordinator.affinity -}}
{{- toYaml .Values.coordinator.affinity -}}
{{- else if hasKey .Values.coordinator "affinity" -}}
{{- $real := include "rollcall.source.nodes" . | fromJsonArray -}}
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
