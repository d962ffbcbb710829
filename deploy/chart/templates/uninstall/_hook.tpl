{{- /*
After everything of the release is deleted, a Job takes what rollcall has set off the nodes. By then no coordinator leads,
or will take the Lease back, and no policy adds labels to new nodes: so it needs no right to stop anything.

It is behind a fence of its own, which is the same as the coordinator's: that one goes with the release.

What it needs to know, and to be allowed, is one hook with it. As hooks of their own, Helm would delete them as having
succeeded once it gives up waiting for the Job (since version 3.17), and take its rights away while it runs. The items
have the annotations as well, for tools that take a List apart, such as Argo CD.

Once it has given up, Helm deletes nothing of the hook. A Deployment does, for which Helm does not wait, some seconds after
the Job. It has an account of its own, since one that may delete its own fence has none: neither of the two accounts alone
can write Nodes without the fence. For the same reason this one may not patch the Deployment, and so run as the other.
*/}}

{{- /* (list . weight), a smaller one comes first. */}}
{{- define "rollcall.uninstall.annotations" -}}
helm.sh/hook: post-delete
helm.sh/hook-weight: {{ index . 1 | quote }}
helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded
{{- end }}

{{- /* Labels and annotations of an object of the hook; (list . weight). */}}
{{- define "rollcall.uninstall.metadata" -}}
labels:
  {{- include "rollcall.labels" (list (index . 0) "uninstall") | nindent 2 }}
annotations:
  {{- include "rollcall.uninstall.annotations" . | nindent 2 }}
{{- end }}

{{- /* Labels and annotations of an object of the cleanup. Argo CD deletes hooks itself, however long they take, and would
create again what it does not find: it leaves these objects out. To Helm the annotations of the List are those that count. */}}
{{- define "rollcall.uninstall.cleanupMetadata" -}}
{{- include "rollcall.metadata" (list . "uninstall" dict (dict "argocd.argoproj.io/hook" "Skip")) }}
{{- end }}

{{- /* The spec of a pod of the hook; (list . "its account" "its container" (list "argument")). */}}
{{- define "rollcall.uninstall.pod" -}}
{{- $root := index . 0 -}}
{{- with $root -}}
serviceAccountName: {{ index $ 1 }}
automountServiceAccountToken: true
enableServiceLinks: false
{{- include "rollcall.pod" (list . .Values.coordinator) | trimSuffix "\n" }}
tolerations:
  {{- include "rollcall.tolerations" . | nindent 2 }}
  {{- with .Values.coordinator.tolerations }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- with include "rollcall.coordinator.affinity" . }}
affinity:
  {{- . | nindent 2 }}
{{- end }}
securityContext:
  {{- include "rollcall.podSecurity" . | nindent 2 }}
containers:
  - name: {{ index $ 2 }}
    image: {{ include "rollcall.image" . }}
    imagePullPolicy: {{ .Values.image.pullPolicy }}
    command:
      {{- toYaml .Values.coordinator.command | nindent 6 }}
    args:
      {{- toYaml (index $ 3) | nindent 6 }}
    env:
      {{- include "rollcall.env" . | nindent 6 }}
    resources:
      {{- toYaml .Values.coordinator.resources | nindent 6 }}
    securityContext:
      {{- include "rollcall.containerSecurity" . | nindent 6 }}
{{- end }}
{{- end }}
