{{- /* What follows from NodeServices and NodeHolds that are values. */}}

{{- /* The namespaces in which pods are watched; "*" for all of them. */}}
{{- define "rollcall.watchNamespaces" -}}
{{- $namespaces := concat (ternary (list .Release.Namespace) (list) .Values.agent.enabled) .Values.watchNamespaces -}}
{{- if .Values.gitpod.enabled }}{{ $namespaces = append $namespaces (include "rollcall.gitpod.namespace" .) }}{{ end -}}
{{- /* Where the pods are that the scheduler extender places. */}}
{{- $config := .Values.coordinator.config -}}
{{- if .Values.scheduler.enabled -}}
{{- if $config.schedulerNamespace }}{{ $namespaces = append $namespaces $config.schedulerNamespace }}
{{- else if $config.schedulerPodSelector }}{{ $namespaces = append $namespaces (ternary (include "rollcall.gitpod.namespace" .) (include "rollcall.source.gitpodNamespace" .) .Values.gitpod.enabled) }}{{ end -}}
{{- end -}}
{{- range $spec := values .Values.holds }}{{ $namespaces = append $namespaces $spec.pods.namespace }}{{ end -}}
{{- range $spec := values (omit .Values.services "allowedPrefixes") -}}
{{- range $check := include "rollcall.services.checks" $spec | fromJsonArray -}}
{{- with $check.pods }}{{ $namespaces = append $namespaces .namespace }}{{ end -}}
{{- with ($check.condition | default dict).reporter }}{{ $namespaces = append $namespaces .namespace }}{{ end -}}
{{- end -}}
{{- end -}}
{{- if or .Values.coordinator.config.evict .Values.startupGate.daemonSets.enabled (has "*" $namespaces) }}{{ $namespaces = list "*" }}{{ end -}}
{{- $namespaces | uniq | sortAlpha | toJson -}}
{{- end }}

{{- /* The resources that only some rules and checks ask for, where the values contain such a rule or check. */}}
{{- define "rollcall.watchResources" -}}
{{- $resources := .Values.watchResources -}}
{{- $rules := toJson .Values.rules.files -}}
{{- range $resource, $term := include "rollcall.source.watchTerms" . | fromJson -}}
{{- if contains $term $rules }}{{ $resources = append $resources $resource }}{{ end -}}
{{- end -}}
{{- range $spec := values (omit .Values.services "allowedPrefixes") -}}
{{- range $check := include "rollcall.services.checks" $spec | fromJsonArray -}}
{{- range $kind, $resource := include "rollcall.source.watchKinds" $ | fromJson -}}
{{- if hasKey $check $kind }}{{ $resources = append $resources $resource }}{{ end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- toJson $resources -}}
{{- end }}

{{- define "rollcall.gitpod.namespace" -}}
{{- .Values.gitpod.namespace | default (include "rollcall.source.gitpodNamespace" .) -}}
{{- end }}

{{- /* The checks of a spec and those within anyOf, each with its place. */}}
{{- define "rollcall.services.checks" -}}
{{- $checks := list -}}
{{- range $check := .checks -}}
{{- $place := printf "checks.%s" $check.name -}}
{{- $checks = append $checks (merge (dict "place" $place) (omit $check "anyOf")) -}}
{{- range $check.anyOf }}{{ $checks = append $checks (merge (dict "place" (printf "%s.anyOf.%s" $place .name)) .) }}{{ end -}}
{{- end -}}
{{- $checks | toJson -}}
{{- end }}

{{- /* Refuses what the API server would take and the coordinator or an agent would not; (list $ name spec). */}}
{{- define "rollcall.services.check" -}}
{{- $root := index . 0 -}}
{{- $spec := index . 2 -}}
{{- $place := printf "services.%s" (index . 1) -}}
{{- $publish := $spec.publish | default dict -}}
{{- $taint := $publish.taint | default dict -}}
{{- $allowed := $root.Values.services.allowedPrefixes -}}
{{- $forTaints := include "rollcall.source.taintPrefixes" $root | fromJsonArray -}}
{{- range $field, $key := dict "label" $publish.label "taint.key" $taint.key "condition" $publish.condition -}}
{{- if $key -}}
{{- $isKnown := eq $field "condition" -}}
{{- range $forTaints }}{{ if and (hasPrefix . $key) (eq $field "taint.key") }}{{ $isKnown = true }}{{ end }}{{ end -}}
{{- $domain := include "rollcall.reservedDomain" $key -}}
{{- if and $domain (not $isKnown) -}}
{{- fail (printf "%s.publish.%s: %s is in the domain %s, which belongs to Kubernetes: choose another" $place $field $key $domain) -}}
{{- end -}}
{{- $isAllowed := false -}}
{{- range $allowed }}{{ if and (hasPrefix . $key) (or (ne $field "condition") (not (has . $forTaints))) }}{{ $isAllowed = true }}{{ end }}{{ end -}}
{{- if not $isAllowed -}}
{{- $prefix := ternary (printf "%s/" (first (splitList "/" $key))) $key (contains "/" $key) -}}
{{- if has $prefix $forTaints -}}
{{- fail (printf "%s.publish.%s: %s begins with a prefix that is for taints only: choose another" $place $field $key) -}}
{{- end -}}
{{- fail (printf "%s.publish.%s: %s begins with none of services.allowedPrefixes (%s): add %s to them" $place $field $key (join ", " $allowed) $prefix) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- if and (eq ($taint.effect | default "") "NoExecute") (not $root.Values.coordinator.config.allowNoExecute) -}}
{{- fail (printf "%s.publish.taint.effect: NoExecute evicts pods: set coordinator.config.allowNoExecute, or take NoSchedule" $place) -}}
{{- end -}}
{{- range $check := include "rollcall.services.checks" $spec | fromJsonArray -}}
{{- range $kind, $settings := omit $check "place" "pods" -}}
{{- if kindIs "map" $settings -}}
{{- $field := printf "%s.%s.%s" $place $check.place $kind -}}
{{- if not (or $root.Values.agent.enabled (has $kind (include "rollcall.source.agentlessKinds" $root | fromJsonArray))) -}}
{{- fail (printf "%s: needs an agent on each node: set agent.enabled, or use checks of the kinds %s" $field (join ", " (include "rollcall.source.agentlessKinds" $root | fromJsonArray))) -}}
{{- end -}}
{{- if and (eq ($settings.host | default "") "Loopback") (not $root.Values.agent.hostNetwork) -}}
{{- fail (printf "%s.host: Loopback is the loopback of the agent's own pod: set agent.hostNetwork, or leave host out" $field) -}}
{{- end -}}
{{- if and (has $kind (list "dns" "kubernetesService")) $root.Values.agent.hostNetwork -}}
{{- fail (printf "%s: agents on the network of the host cannot tell what pods reach: set agent.hostNetwork to false, or remove the check" $field) -}}
{{- end -}}
{{- $paths := dict "socket" $settings.socket -}}
{{- if has $kind (list "unix" "file") }}{{ $_ := set $paths "path" $settings.path }}{{ end -}}
{{- range $name, $path := $paths -}}
{{- if $path -}}
{{- $isBelow := false -}}
{{- range $root.Values.agent.probePaths }}{{ if hasPrefix (printf "%s/" .) $path }}{{ $isBelow = true }}{{ end }}{{ end -}}
{{- if not $isBelow -}}
{{- fail (printf "%s.%s: %s is below none of agent.probePaths: add %s to them, which takes uid 0 (or agent.supplementalGroups) and the Pod Security level privileged" $field $name $path (dir $path)) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end }}
