/** Whether requests to `url` cross a network without TLS, so that credentials can be read on the way. */
export function isClearText(url: URL): boolean {
  return url.protocol === 'http:' && !isLoopback(url.hostname);
}

/** Whether a host name or address (IPv6 with or without brackets) can only mean this machine. */
export function isLoopback(host: string): boolean {
  return /^(localhost|127(\.\d{1,3}){3}|::1|\[::1\])$/i.test(host);
}
