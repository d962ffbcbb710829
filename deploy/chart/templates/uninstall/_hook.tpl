{{- /*
After everything of the release is deleted, a Job takes what rollcall has set off the nodes. By then no coordinator leads,
or will take the Lease back, and no policy adds labels to new nodes: so it needs no right to stop anything. While the
Deployment of the coordinator has replicas, as where kubectl applies this with the rest, the Job does nothing.

It is behind a fence of its own, which is the same as the coordinator's: that one goes with the release.

What it needs to know, and to be allowed, is one hook with it. As hooks of their own, Helm would delete them as having
succeeded once it gives up waiting for the Job (since version 3.17), and take its rights away while it runs. The items
have the annotations as well, for tools that take a List apart, such as Argo CD.
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
