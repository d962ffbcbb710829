import type { BinaryName } from './binaries.ts';

/** An official release archive (gzipped tar) that holds some of the binaries. */
export interface ReleaseArchive {
  /** `<os>-<arch>`, in Go's words. */
  readonly platform: string;
  readonly url: string;
  /** Hex digest of the archive. An archive whose digest is not known here is never downloaded. */
  readonly sha512: string;
  /** Path of each binary inside the archive. */
  readonly members: Partial<Record<BinaryName, string>>;
}

/*
 * The digests are those that the Kubernetes project itself publishes: of the envtest archives in envtest-releases.yaml
 * of kubernetes-sigs/controller-tools, of the server archives in CHANGELOG-1.36.md of kubernetes/kubernetes. Each is the
 * newest release for which such a list was found: no digest of 1.37 was. kube-scheduler is in no smaller archive, and no
 * official archive has it for macOS.
 */
const envtest = 'https://github.com/kubernetes-sigs/controller-tools/releases/download/envtest-v1.36.2';
const envtestMembers = {
  etcd: 'controller-tools/envtest/etcd',
  'kube-apiserver': 'controller-tools/envtest/kube-apiserver',
  kubectl: 'controller-tools/envtest/kubectl',
};
const server = 'https://dl.k8s.io/v1.36.0';
const serverMembers = { 'kube-scheduler': 'kubernetes/server/bin/kube-scheduler' };

export const releaseArchives: readonly ReleaseArchive[] = [
  {
    platform: 'linux-amd64',
    url: `${envtest}/envtest-v1.36.2-linux-amd64.tar.gz`,
    sha512:
      'ea743186c8a799f5cf8faf16969f86189d003cb7d130e0ac4b58789f1e5748dcf30ebe91c837a10d5ac415383da3e10b9e64d65785c938c23e739781cfb76f08',
    members: envtestMembers,
  },
  {
    platform: 'linux-arm64',
    url: `${envtest}/envtest-v1.36.2-linux-arm64.tar.gz`,
    sha512:
      '2d72ee985a8e262a3c57dc9f7f0fd891f6a8c7bf7ebaa2db6dc6d8eac8ae28181afe51c1f368b67756cdb40b10de9b205609e1726e5f27f7c6d824dd9c6649ac',
    members: envtestMembers,
  },
  {
    platform: 'darwin-amd64',
    url: `${envtest}/envtest-v1.36.2-darwin-amd64.tar.gz`,
    sha512:
      'b4fe9f973cd1992e3880f8b230ed32c0c243b83371591e3e3315f4404df2cdbef8ee94eeb9bb245b7e5feb987d5c4a76c43e0877654ab73f00d7bbc2b9984514',
    members: envtestMembers,
  },
  {
    platform: 'darwin-arm64',
    url: `${envtest}/envtest-v1.36.2-darwin-arm64.tar.gz`,
    sha512:
      '9278f9e5af556b2f1f2d139769c1f0d717c7b4426917fdebdba898bcb725a916e4910d6160886194ff9be9589ea7c5c32c2b8ae0754703874b7c8ba8ddfc41ce',
    members: envtestMembers,
  },
  {
    platform: 'linux-amd64',
    url: `${server}/kubernetes-server-linux-amd64.tar.gz`,
    sha512:
      '1c64da92575451c2c7ff97c79b772e603995f8e76da1371a6b0746aaa27b65dce81c4d734cbb50f40e71486a8e08df36f14e12974f97d4d29e41f23a172a6a25',
    members: serverMembers,
  },
  {
    platform: 'linux-arm64',
    url: `${server}/kubernetes-server-linux-arm64.tar.gz`,
    sha512:
      '7f95e451baedd9368a2fa637afa84c9ed1b958736540ca27a379e5e292e1a10c5d9a29539f833047574bf5d3b6f907f32dee5735acecc11aa4686f078108dcf8',
    members: serverMembers,
  },
];
