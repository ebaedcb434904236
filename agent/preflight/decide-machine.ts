import { subdomainNameError } from '../../api/meta/names.ts';
import { type Check, fail, ok, warn } from './check.ts';
import type { CertificateFacts, FolderFacts, OtherBerth, PortFacts } from './facts.ts';

const oldestNode = [20, 19] as const;

export function decideNodeVersion(version: string): Check {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const isOld = major < oldestNode[0] || (major === oldestNode[0] && minor < oldestNode[1]);
  return isOld
    ? fail(
        `Node.js ${version} is too old: ${oldestNode.join('.')} or newer is needed`,
        'install Node.js 20, 22 or 24 (https://nodejs.org/en/download, or your distribution)',
      )
    : ok(`Node.js ${version}`);
}

export function decidePrivileges(uid: number): Check {
  return uid === 0
    ? ok('running as root')
    : warn(
        `running as user ${uid}, not as root: volumes in memory are kept on disk, host paths may not be made, files that containers write as root cannot be removed, and pods stay in the engine's network, without Services, names and network policies`,
        'run it with sudo',
      );
}

/** No machine that runs this version can have a clock before it was made. */
export const madeAtMs = Date.UTC(2026, 0, 1);
const time = (ms: number): string => `${new Date(ms).toISOString().slice(0, 16).replace('T', ' ')} UTC`;
const setClock = 'set the clock (timedatectl set-ntp true, chronyc makestep, or date -s) and try again';

/** A clock that is wrong makes certificates that are not valid, or refuses those that are there. */
export function decideClock(nowMs: number, certificates: readonly CertificateFacts[]): Check {
  if (nowMs < madeAtMs) return fail(`the clock says ${time(nowMs)}, which is before this version of Berth was made`, setClock);
  const future = certificates.find(({ notBeforeMs }) => notBeforeMs > nowMs);
  if (future)
    return fail(
      `the clock says ${time(nowMs)}, but the certificate ${future.name} was made for ${time(future.notBeforeMs)} and later: the clock has jumped back`,
      setClock,
    );
  const authority = certificates.find(({ name, notAfterMs }) => name === 'ca.crt' && notAfterMs < nowMs);
  if (authority)
    return fail(
      `the clock says ${time(nowMs)}, but the certificate authority ended on ${time(authority.notAfterMs)}`,
      `${setClock}; if the clock is right, move the folder "pki" of the data directory away: it is made anew`,
    );
  return ok(`the clock says ${time(nowMs)}`);
}

const mebi = 1024 * 1024;
const gibi = 1024 * mebi;
export interface DiskBounds {
  readonly leastBytes: number;
  readonly lowBytes: number;
}
/** The store and its reserve, certificates and the first logs. */
export const dataDirBounds: DiskBounds = { leastBytes: 32 * mebi, lowBytes: gibi };
/** Room for one small image; room for a few of usual size. */
export const dockerRootBounds: DiskBounds = { leastBytes: 64 * mebi, lowBytes: 2 * gibi };
const leastInodes = 200;
const lowInodes = 10_000;

export function decideDisk(what: string, folder: FolderFacts, bounds: DiskBounds): Check {
  const { path, freeBytes, freeInodes } = folder;
  const free = freeBytes === undefined ? '' : `: ${formatBytes(freeBytes)} free`;
  const make = `free some space there (docker system df, du -xh ${path} | sort -h | tail), or use a larger disk`;
  if (freeBytes !== undefined && freeBytes < bounds.leastBytes)
    return fail(
      `the disk of ${what} ${path} is full: ${formatBytes(freeBytes)} free, at least ${formatBytes(bounds.leastBytes)} are needed`,
      make,
    );
  if (freeInodes !== undefined && freeInodes < leastInodes)
    return fail(`the disk of ${what} ${path} has room for ${freeInodes} more files only (inodes)`, 'remove files there');
  if (freeBytes !== undefined && freeBytes < bounds.lowBytes) return warn(`${what} ${path}${free}, which is little`, make);
  if (freeInodes !== undefined && freeInodes < lowInodes)
    return warn(`${what} ${path} has room for ${freeInodes} more files only (inodes)`, 'remove files there');
  return ok(`${what} ${path}${free}`);
}

const folderFailures: Readonly<Record<string, (path: string) => readonly [string, string]>> = {
  EROFS: (path) => [`${path} is on a read-only file system`, 'remount it writable, or name another folder with --data-dir'],
  EACCES: (path) => [`${path} may not be written by this user`, 'run it with sudo, or name another folder with --data-dir'],
  ENOTDIR: (path) => [`${path} is not a folder`, 'remove that file, or name another folder with --data-dir'],
};

/** Whether Berth may have the folder to itself, before its disk is looked at. Undefined: nothing to object. */
export function decideDataDir(folder: FolderFacts, uid: number): Check | undefined {
  const { path, errno, ownerUid, strangers } = folder;
  if (errno !== undefined) {
    const [message, advice] = folderFailures[errno]?.(path) ?? [`${path} cannot be used: ${errno}`, 'name another folder'];
    return fail(`data directory: ${message}`, advice);
  }
  if (strangers.length > 0)
    return fail(
      `data directory: ${path} holds files that are not Berth's (${strangers.slice(0, 3).join(', ')}${strangers.length > 3 ? ', ...' : ''})`,
      'name an empty or new folder with --data-dir',
    );
  if (ownerUid !== undefined && uid !== 0 && ownerUid !== uid)
    return fail(
      `data directory: ${path} belongs to user ${ownerUid}, and this is user ${uid}`,
      'run it as that user, or name another folder with --data-dir',
    );
  return undefined;
}

export function decidePort(port: PortFacts, others: readonly OtherBerth[]): Check {
  const { address, errno, holder } = port;
  if (errno === undefined) return ok(`${address} is free`);
  if (errno === 'EADDRINUSE') {
    const other = others.find(({ name, pid }) => name === 'server' && pid === holder?.pid);
    if (other)
      return fail(
        `${address} is taken by another Berth (process ${other.pid}, data directory ${other.dataDir})`,
        `use that one, stop it (berth down --data-dir ${other.dataDir}), or choose another address with --listen`,
      );
    const [who, find] = holder
      ? [`by ${holder.command} (process ${holder.pid})`, '']
      : ['by another program', ' (ss -ltnp shows it to root)'];
    return fail(`${address} is taken ${who}`, `stop that program${find}, or choose another address with --listen`);
  }
  if (errno === 'EADDRNOTAVAIL' || errno === 'ENOTFOUND')
    return fail(
      `this machine has no address ${address}`,
      'listen on one it has (ip addr shows them), on 127.0.0.1, or on all with --listen 0.0.0.0:7443',
    );
  if (errno === 'EACCES')
    return fail(`${address}: this user may not listen on ports below 1024`, 'run it with sudo, or choose a higher port');
  return fail(`${address} cannot be listened on: ${errno}`, 'choose another address with --listen');
}

export function decideNodeName(nodeName: string): Check {
  const rule = subdomainNameError(nodeName);
  if (rule) return fail(`node name "${nodeName}" ${rule}`, 'name the node with --node-name, or set a host name (hostnamectl)');
  if (/^localhost(\.|$)/.test(nodeName))
    return warn(
      `the node is called ${nodeName}, a name that other machines may have as well`,
      'give the machine a name (hostnamectl set-hostname NAME), or name the node with --node-name',
    );
  return ok(`node name ${nodeName}`);
}

/** Two agents of one name on one engine would each take the other's containers for their own. */
export function decideOthers(facts: {
  readonly nodeName: string;
  readonly others: readonly OtherBerth[];
  readonly ranNodeBefore: boolean;
  readonly containersOfNode: number;
}): Check | undefined {
  const { nodeName, others } = facts;
  const twin = others.find((other) => other.name === 'agent' && other.nodeName === nodeName);
  if (twin)
    return fail(
      `another Berth on this machine runs node ${nodeName} already (process ${twin.pid}, data directory ${twin.dataDir})`,
      `use that one, stop it (berth down --data-dir ${twin.dataDir}), or choose another --node-name`,
    );
  if (!facts.ranNodeBefore && facts.containersOfNode > 0)
    return fail(
      `there are ${facts.containersOfNode} containers of a node ${nodeName} that another data directory made; they would be removed`,
      `name that folder with --data-dir, choose another --node-name, or remove them: docker rm -f $(docker ps -aq --filter label=io.berth.node=${nodeName})`,
    );
  return undefined;
}

export function formatBytes(bytes: number): string {
  if (bytes >= gibi) return `${(bytes / gibi).toFixed(1)} GiB`;
  return `${Math.floor(bytes / mebi)} MiB`;
}
