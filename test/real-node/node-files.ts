import { stringify } from 'yaml';

/** Under this name containerd finds the image of the first container of each pod. */
export const pauseImage = 'localhost/rollcall-pause:1';

export interface NodeSettings {
  readonly name: string;
  readonly ip: string;
  readonly podCidr: string;
  /** Pod CIDR of all nodes. */
  readonly clusterCidr: string;
  readonly cgroup: string;
  /** Everything of the node is below it. */
  readonly dir: string;
  readonly pluginDir: string;
  /** Configuration of registries for containerd, by host. */
  readonly registriesDir: string;
  /** Paths. */
  readonly caFile: string;
  readonly certFile: string;
  readonly keyFile: string;
  readonly proxyKubeconfig: string;
}

/** Version 2 of the configuration is what containerd 1.6, 1.7 and 2 read. */
export function containerdConfig({ dir, pluginDir, registriesDir }: NodeSettings): string {
  const unused = ['snapshotter.v1.aufs', 'snapshotter.v1.btrfs', 'snapshotter.v1.devmapper', 'snapshotter.v1.zfs'];
  const disabled = [...unused, 'internal.v1.opt', 'internal.v1.tracing', 'tracing.processor.v1.otlp'];
  return `version = 2
root = "${dir}/containerd"
disabled_plugins = [${disabled.map((name) => `"io.containerd.${name}"`).join(', ')}]
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "${pauseImage}"
  # A container may lack CAP_SYS_RESOURCE, without which no process gets a better score than its parent's.
  restrict_oom_score_adj = true
  disable_apparmor = true
  disable_hugetlb_controller = true
  tolerate_missing_hugetlb_controller = true
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "overlayfs"
    default_runtime_name = "runc"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
        SystemdCgroup = false
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "${pluginDir}"
    conf_dir = "${dir}/cni"
  [plugins."io.containerd.grpc.v1.cri".registry]
    config_path = "${registriesDir}"
`;
}

/** Pods keep their addresses on the way to other nodes, which have routes to them. */
export function networkConfig({ podCidr }: NodeSettings): string {
  const ipam = { type: 'host-local', ranges: [[{ subnet: podCidr }]], routes: [{ dst: '0.0.0.0/0' }] };
  const bridge = { type: 'bridge', bridge: 'pods', isGateway: true, hairpinMode: true };
  return JSON.stringify({
    cniVersion: '0.4.0',
    name: 'rollcall',
    plugins: [
      { ...bridge, ipam: { ...ipam, dataDir: '/run/cni-ipam' } },
      { type: 'portmap', capabilities: { portMappings: true } },
    ],
  });
}

export function kubeletConfig(settings: NodeSettings): string {
  const { ip, dir, cgroup, caFile, certFile, keyFile } = settings;
  return stringify({
    apiVersion: 'kubelet.config.k8s.io/v1beta1',
    kind: 'KubeletConfiguration',
    address: ip,
    healthzBindAddress: '127.0.0.1',
    tlsCertFile: certFile,
    tlsPrivateKeyFile: keyFile,
    authentication: { anonymous: { enabled: false }, webhook: { enabled: true }, x509: { clientCAFile: caFile } },
    authorization: { mode: 'Webhook' },
    cgroupDriver: 'cgroupfs',
    cgroupRoot: cgroup,
    enforceNodeAllocatable: ['pods'],
    failSwapOn: false,
    failCgroupV1: false,
    containerRuntimeEndpoint: 'unix:///run/containerd/containerd.sock',
    clusterDomain: 'cluster.local',
    resolvConf: `${dir}/resolv.conf`,
    evictionHard: {
      'memory.available': '100Mi',
      'nodefs.available': '1%',
      'imagefs.available': '1%',
      'nodefs.inodesFree': '0%',
    },
    // Images are imported, and could not be pulled again.
    imageGCHighThresholdPercent: 100,
    // The number of pod addresses of the node.
    maxPods: 60,
    nodeStatusUpdateFrequency: '5s',
    syncFrequency: '10s',
    volumePluginDir: '/var/lib/kubelet/volumeplugins',
  });
}

export function proxyConfig({ name, ip, clusterCidr, proxyKubeconfig }: NodeSettings): string {
  return stringify({
    apiVersion: 'kubeproxy.config.k8s.io/v1alpha1',
    kind: 'KubeProxyConfiguration',
    mode: 'nftables',
    hostnameOverride: name,
    clientConnection: { kubeconfig: proxyKubeconfig },
    clusterCIDR: clusterCidr,
    bindAddress: ip,
    healthzBindAddress: '127.0.0.1:10256',
    metricsBindAddress: '127.0.0.1:10249',
    conntrack: { maxPerCore: 0, min: 0, tcpEstablishedTimeout: '0s', tcpCloseWaitTimeout: '0s' },
    nftables: { minSyncPeriod: '100ms', syncPeriod: '10s' },
  });
}

/** Kernel settings that a kubelet wants so, and that belong to the whole machine. */
const kernelSettings: Readonly<Record<string, number>> = {
  'vm/overcommit_memory': 1,
  'vm/panic_on_oom': 0,
  'kernel/panic': 10,
  'kernel/panic_on_oops': 1,
  'kernel/keys/root_maxkeys': 1_000_000,
  'kernel/keys/root_maxbytes': 25_000_000,
};

/**
 * What the first process of a node does (a script for sh): gives the node a private view of the directories in which
 * its components write, and of the kernel's settings, so that the machine keeps its own; then becomes `node-tool`.
 * Says that it is ready by the file `ready`.
 */
export function initScript({ name, dir }: Pick<NodeSettings, 'name' | 'dir'>, nodeTool: string): string {
  const overlay = (lower: string, place: string) =>
    `mkdir -p ${dir}/${place}/upper ${dir}/${place}/work
mount -t overlay -o lowerdir=${lower},upperdir=${dir}/${place}/upper,workdir=${dir}/${place}/work ${place} ${lower}`;
  const settings = Object.entries(kernelSettings).map(([path, value]) => {
    const file = `${dir}/kernel-${path.replaceAll('/', '-')}`;
    return `echo ${value} > ${file}; mount --bind ${file} /proc/sys/${path}`;
  });
  return `
mount --make-rshared /
mkdir -p ${dir}/log ${dir}/kubelet ${dir}/containerd
${overlay('/var/lib', 'var-lib')}
mkdir -p /var/lib/kubelet
mount --bind ${dir}/kubelet /var/lib/kubelet
mount --bind ${dir}/log /var/log
${overlay('/sys/bus', 'sys-bus')}
mkdir -p /sys/bus/usb/devices
mount -t tmpfs -o mode=755 tmpfs /run
mkdir -p /run/netns /run/lock
${settings.join('\n')}
echo ${name} > /proc/sys/kernel/hostname
ip link set lo up
echo 1 > /proc/sys/net/ipv4/ip_forward
touch ${dir}/ready
exec ${nodeTool} init
`;
}
