{{- /*
After everything of the release is deleted, a Job takes what rollcall has set off the nodes. By then no coordinator leads,
or will take the Lease back, and no policy adds labels to new nodes: so it needs no right to stop anything. What it needs
to know, and to be allowed, is made for it and goes with it.
*/}}

{{- /* (list . weight), a smaller one comes first. */}}
{{- define "rollcall.uninstall.annotations" -}}
helm.sh/hook: post-delete
helm.sh/hook-weight: {{ index . 1 | quote }}
helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded
{{- end }}
