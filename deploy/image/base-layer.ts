import type { DebianPackage, DebianPin } from './debian-packages.ts';
import { addFile, type Tree } from './tree.ts';

/** User of the programs, as in distroless images. */
export const USER_ID = 65532;

/**
 * What of each package is in the image. Node.js links libc, libm, libdl, libpthread, libatomic, libstdc++ and
 * libgcc_s; the native part of `usb` librt as well. Host names are resolved by libc itself since glibc 2.34.
 */
export const BASE_FILES: Readonly<Record<string, RegExp>> = {
  'base-files': /^usr\/lib\/os-release$/,
  'ca-certificates': /^usr\/share\/ca-certificates\/.+\.crt$/,
  // Only for its copyright file: the copyright files of libatomic1, libgcc-s1 and libstdc++6 refer to it.
  'gcc-14-base': /^$/,
  libatomic1: /^usr\/lib\/[^/]+\/libatomic\.so\.[\d.]+$/,
  libc6: /^usr\/lib(64)?\/([^/]+-linux-gnu\/)?(ld-linux[^/]*|lib(c|m|dl|pthread|rt))\.so\.\d+$/,
  'libgcc-s1': /^usr\/lib\/[^/]+\/libgcc_s\.so\.\d+$/,
  'libstdc++6': /^usr\/lib\/[^/]+\/libstdc\+\+\.so\.[\d.]+$/,
};

const COPYRIGHT = /^usr\/share\/doc\/[^/]+\/copyright$/;
const CERTIFICATES = 'usr/share/ca-certificates/';

export function isBaseFile(name: string, path: string): boolean {
  // A package may have a link to the documentation of another.
  return BASE_FILES[name]?.test(path) || COPYRIGHT.test(path) || path === `usr/share/doc/${name}`;
}

/** The bottom of the image: C and C++ libraries, certificates, a user. Changes when Debian mends one of them. */
export function baseLayer(packages: readonly (DebianPackage & { pin: DebianPin })[]): Tree {
  const tree: Tree = new Map();
  const certificates: string[] = [];
  for (const { files, control, pin } of packages) {
    for (const [path, entry] of [...files].sort()) {
      if (path.startsWith(CERTIFICATES) && entry.type === 'file') certificates.push(`${entry.content}`.trimEnd(), '\n');
      else if (entry.type !== 'directory') tree.set(path, entry);
    }
    // Where scanners of images without a package manager look.
    addFile(tree, `var/lib/dpkg/status.d/${pin.name}`, control);
  }
  addFile(tree, 'etc/ssl/certs/ca-certificates.crt', certificates.join(''));
  addFile(tree, 'etc/passwd', `root:x:0:0:root:/:/nologin\nnonroot:x:${USER_ID}:${USER_ID}:nonroot:/tmp:/nologin\n`);
  addFile(tree, 'etc/group', `root:x:0:\nnonroot:x:${USER_ID}:\n`);
  addFile(tree, 'etc/nsswitch.conf', 'passwd: files\ngroup: files\nhosts: files dns\n');
  tree.set('etc/os-release', { type: 'symlink', target: '../usr/lib/os-release' });
  tree.set('lib', { type: 'symlink', target: 'usr/lib' });
  // The dynamic loader of x86-64 has its fixed path there.
  if ([...tree.keys()].some((path) => path.startsWith('usr/lib64/')))
    tree.set('lib64', { type: 'symlink', target: 'usr/lib64' });
  tree.set('tmp', { type: 'directory', mode: 0o1777 });
  return tree;
}
