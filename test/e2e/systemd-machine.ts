import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually, type Outcome, run } from './installation.ts';

/**
 * A set of namespaces whose first process is systemd, with an /etc, a Docker Engine and a data directory of its own.
 */
export interface SystemdMachine {
  exec(...words: readonly string[]): Promise<Outcome>;
  /** As a power failure, and gone. */
  destroy(): Promise<void>;
}

/**
 * What has no business in a machine of this kind: the real one's devices, terminals, networks,
 * kernel settings and housekeeping.
 */
const masked = [
  'apache2.service',
  'console-getty.service',
  'cron.service',
  'dev-hugepages.mount',
  'dev-mqueue.mount',
  'docker-registry.service',
  'e2scrub_reap.service',
  'getty.target',
  'sys-kernel-debug.mount',
  'systemd-logind.service',
  'systemd-modules-load.service',
  'systemd-networkd.service',
  'systemd-remount-fs.service',
  'systemd-resolved.service',
  'systemd-sysctl.service',
  'systemd-timesyncd.service',
  'systemd-tmpfiles-setup.service',
  'systemd-udev-trigger.service',
  'systemd-udevd.service',
  'timers.target',
];

/**
 * Into a control group of the machine's own in every hierarchy, so that it takes that for the whole; then into its
 * namespaces, to run $2 there.
 */
const leave = `
set -e
# As a whole: it says something else once the first group is left.
places=$(cat /proc/self/cgroup)
while IFS=: read -r _ names path; do
  case $names in
    '') base=/sys/fs/cgroup; [ ! -d $base/unified ] || base=$base/unified ;;
    *) base=/sys/fs/cgroup/\${names#name=} ;;
  esac
  group=$base\${path%/}
  own=$group/\${1##*/}
  mkdir "$own"
  echo "$own" >>"$1/groups"
  for each in cpuset.cpus cpuset.mems; do [ "$names" != cpuset ] || cat "$group/$each" >"$own/$each"; done
  echo $$ >"$own/cgroup.procs"
done <<<"$places"
exec unshare --net --mount --pid --uts --ipc --cgroup --propagation private --fork --kill-child bash -c "$2" boot "$1"
`;

/** The first steps inside, with the folder of the machine's disks as $1; systemd then takes the place of this shell. */
const boot = `
set -e
mount -t proc proc /proc
mount -t tmpfs tmpfs /run
mkdir /run/lock
for each in docker containerd; do mkdir -p "$1/$each" /var/lib/$each; mount --bind "$1/$each" /var/lib/$each; done
cp -a /etc "$1/etc"
for unit in ${masked.join(' ')}; do ln -sf /dev/null "$1/etc/systemd/system/$unit"; done
: >"$1/etc/fstab"
mount --bind "$1/etc" /etc
# The machine's own hierarchies: what is new in them is below its own place.
hierarchies=$(awk '$3 == "cgroup" { print $2 ":" $4 }' /proc/mounts)
if [ -n "$hierarchies" ]; then
  mount -t tmpfs tmpfs /sys/fs/cgroup
  for each in $hierarchies; do
    options=$(echo "\${each#*:}" | tr , '\\n' | grep -vE '^(rw|ro|relatime|nosuid|nodev|noexec|xattr|release_agent.*)$' | paste -sd,)
    case $options in name=*) options=none,$options ;; esac
    mkdir -p "\${each%%:*}"
    mount -t cgroup -o "$options" cgroup "\${each%%:*}"
  done
else
  mount -t cgroup2 cgroup2 /sys/fs/cgroup
fi
export container=other
exec /lib/systemd/systemd --system --unit=multi-user.target --log-target=journal --show-status=no
`;

export async function startSystemdMachine(): Promise<SystemdMachine> {
  const disks = mkdtempSync(join(tmpdir(), 'berth-e2e-systemd-'));
  const launcher = spawn('bash', ['-c', leave, 'leave', disks, boot], { stdio: ['ignore', 'ignore', 'pipe'] });
  let said = '';
  launcher.stderr.on('data', (chunk: Buffer) => (said += chunk.toString('utf8')));
  const first = await eventually('the first process', () => firstProcess(launcher)).catch((error: unknown) => {
    throw new Error(`${String(error)}: ${said}`);
  });
  const entered = ['--target', first, '--net', '--mount', '--pid', '--uts', '--ipc', '--cgroup'];
  const exec = (...words: readonly string[]) => run('nsenter', [...entered, ...words]);
  const machine: SystemdMachine = {
    exec,
    async destroy() {
      process.kill(Number(first), 'SIGKILL');
      await eventually(
        'the end of all its processes',
        async () => (launcher.exitCode ?? launcher.signalCode) !== null || undefined,
      );
      const groups = readFileSync(join(disks, 'groups'), 'utf8').trim().split('\n');
      await eventually('the end of its control groups', async () => {
        await run('find', [...groups, '-depth', '-type', 'd', '-exec', 'rmdir', '{}', ';']);
        return groups.every((group) => !existsSync(group)) || undefined;
      });
      rmSync(disks, { recursive: true, force: true });
    },
  };
  try {
    await eventually('systemd with an engine', async () => (await exec('docker', 'version')).code === 0 || undefined);
  } catch (error) {
    const { stdout } = await exec('systemctl', '--no-pager', 'list-units', '--failed', '--plain');
    await machine.destroy();
    throw new Error(`${String(error)}; failed units: ${stdout}`);
  }
  return machine;
}

async function firstProcess(launcher: ChildProcess): Promise<string | undefined> {
  const { stdout } = await run('pgrep', ['--parent', String(launcher.pid)]);
  const pid = stdout.trim();
  if (pid === '') return undefined;
  return (await run('cat', [`/proc/${pid}/comm`])).stdout.trim() === 'systemd' ? pid : undefined;
}
