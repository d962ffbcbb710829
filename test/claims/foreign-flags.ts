/** Flags of other programs that the documents name: of kubectl, Helm, the kubelet, autoscalers, Node.js and the like. */
export const FOREIGN_FLAGS: readonly string[] = `
  all as audience bound-object-kind bound-object-name cascade context create-namespace disable-network-policy
  emulated-version field-selector force-conflicts for frozen-lockfile from-file http2 ignore-not-found ignore-taint no-hooks
  node-labels max-node-startup-time max-total-unready-percentage name ok-total-unready-count overwrite patch-file previous print-architecture raw recursive
  register-with-taints replicas reporter reset-then-reuse-values reuse-values root-dir scale-down-unready-time server-side set show-labels
  show-managed-fields show-only startup-taint startup-taint-prefix status-taint tail take-ownership timeout type values wait yes

  always-sparkplug build-sea build-snapshot compact-on-every-full-gc heap-growing-percent jitless lite-mode max-old-space-size max-semi-space-size no-maglev no-opt single-threaded single-threaded-gc
  optimize-for-size project sign

  build-arg cert-file certificate-identity-regexp certificate-oidc-issuer key-file
`
  .split(/\s+/)
  .filter(Boolean);

/** Flags of scripts in this repository, which document them themselves. */
export const SCRIPT_FLAGS: readonly string[] = `
  app-only audit-log beside binaries-only check compare console-url debian-mirror edit file help idle-seconds list minutes nodes once only platform pre
  kind nth port plugin print-config profile reference relock rounds sample scheduler seed serve socket verify version without-real-nodes write
`
  .split(/\s+/)
  .filter(Boolean);
