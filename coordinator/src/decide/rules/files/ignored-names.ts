/**
 * Names that editors, copying programs and kubelets use for what is not there to stay, or is not for others to read. A
 * `4913` is how vim tries whether it may write. Everything that begins with a dot is among them, `..data` included.
 */
const IGNORED = [
  /^\./,
  /~$/,
  /\.(?:sw[a-z]|tmp|temp|bak|backup|orig|rej|old|part)$/i,
  /\.(?:dpkg|rpm|ucf)-?[a-z]+$/,
  /^#.*#$/,
  /___jb_(?:tmp|old)___$/,
  /^4913$/,
  /^lost\+found$/,
];

export function isIgnoredName(name: string): boolean {
  return IGNORED.some((pattern) => pattern.test(name));
}
