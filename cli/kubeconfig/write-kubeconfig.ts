import { X509Certificate } from 'node:crypto';
import { networkInterfaces } from 'node:os';
import { resolve } from 'node:path';
import type { Command } from 'commander';
import { badRequest } from '../../api/errors/index.ts';
import type { Context } from '../../client/config/context.ts';
import { type GlobalFlags, givenNamespace, withSession } from '../session.ts';
import { readServerVersion } from '../version/show-versions.ts';
import { computeDoorAddress, doorIsOff } from './door-address.ts';
import { changeKubeconfig, isReadByKubectl, kubeconfigPath } from './kubeconfig-file.ts';
import { type KubeconfigEntry, mergeKubeconfig, readKubeconfig } from './merge-kubeconfig.ts';

export interface KubeconfigFlags extends GlobalFlags {
  readonly output?: string;
  /** True: into the file that kubectl reads first. */
  readonly merge?: string | true;
  readonly keepCurrent?: boolean;
  readonly user?: string;
  readonly name?: string;
  readonly server?: string;
}

/** Prints a kubeconfig for the context in use, or writes it into a file. */
export async function writeKubeconfig(command: Command, flags: KubeconfigFlags): Promise<void> {
  checkFlags(flags);
  const { loadContext, loadContextAs } = await import('../../client/config/config.ts');
  const context = flags.user === undefined ? await loadContext(flags.context) : await loadContextAs(flags.user, flags.context);
  const server = flags.server ?? (await findServer(command, context));
  const entry = entryOf(context, { ...flags, server, isNamed: flags.server !== undefined });
  const what = firstKind(context);
  if (flags.merge !== undefined)
    return await mergeInto(flags.merge === true ? kubeconfigPath() : resolve(flags.merge), entry, { ...flags, what });
  if (flags.output !== undefined && flags.output !== '-') return await writeAlone(resolve(flags.output), entry, what);
  process.stdout.write(mergeKubeconfig('', entry, { path: 'standard output', use: true }));
}

function checkFlags({ output, merge, keepCurrent, server, name, as, asGroup }: KubeconfigFlags): void {
  if (output !== undefined && merge !== undefined)
    throw badRequest('-o writes a file of its own and --merge adds to one: give one of them');
  if (keepCurrent && merge === undefined) throw badRequest('--keep-current is for --merge');
  if (name === '') throw badRequest('--name cannot be empty');
  if (as !== undefined || asGroup !== undefined)
    throw badRequest('--as is not written into a kubeconfig: give it to kubectl, which has the same flag');
  if (server !== undefined && !isServerUrl(server))
    throw badRequest(`--server takes a URL, e.g. https://192.0.2.10:6443, not "${server}"`);
}

function isServerUrl(text: string): boolean {
  return URL.canParse(text) && new URL(text).protocol === 'https:' && new URL(text).search === '' && new URL(text).hash === '';
}

/** Asks the server, as it alone knows where it listens for kubectl. */
async function findServer(command: Command, { name, options }: Context): Promise<string> {
  let served: readonly string[] | undefined;
  await withSession(command, async ({ client }) => {
    served = (await readServerVersion(client.pages)).kubernetesAddresses;
  });
  if (served === undefined)
    throw badRequest('the server is older than this command and does not tell where kubectl reaches it: give --server URL');
  if (served.length === 0) throw doorIsOff();
  // A pod reaches it by its Service alone.
  if (name === 'in-cluster') return 'https://kubernetes.default.svc';
  const own = new Set(Object.values(networkInterfaces()).flatMap((list) => list?.map(({ address }) => address) ?? []));
  return `https://${computeDoorAddress(served, options.address, (host) => own.has(host))}`;
}

/** A name that each certificate of the server has; what --server says may be one that the server knows nothing of. */
const certificateName = 'kubernetes';

const encode = (text: string): string => Buffer.from(text, 'utf8').toString('base64');

interface Door {
  readonly server: string;
  /** The user gave the address. */
  readonly isNamed: boolean;
}

function entryOf(context: Context, { isNamed, ...flags }: KubeconfigFlags & Door): KubeconfigEntry {
  const { ca, cert, key, token } = context.options;
  const user = {
    ...(cert !== undefined && { 'client-certificate-data': encode(cert) }),
    ...(key !== undefined && { 'client-key-data': encode(key) }),
    ...(typeof token === 'string' && { token }),
    ...(context.tokenFile !== undefined && { tokenFile: context.tokenFile }),
  };
  if (Object.keys(user).length === 0)
    throw badRequest(`the user of the context "${context.name}" has neither a certificate nor a token: kubectl could not use it`);
  const namespace = givenNamespace(flags) ?? (context.namespace === 'default' ? undefined : context.namespace);
  return {
    name: flags.name ?? flags.user ?? context.name,
    cluster: {
      server: flags.server.replace(/\/+$/, ''),
      'certificate-authority-data': encode(ca),
      ...(isNamed && { 'tls-server-name': certificateName }),
    },
    user,
    namespace,
  };
}

/** A kind that the user may list: an administrator nodes, another user most likely only what namespaces hold. */
function firstKind({ options: { cert } }: Context): string {
  if (cert === undefined) return 'pods';
  try {
    return new X509Certificate(cert).subject.split('\n').includes('O=system:masters') ? 'nodes' : 'pods';
  } catch {
    // No certificate, which the server tells better.
    return 'pods';
  }
}

interface MergeFlags {
  readonly keepCurrent?: boolean;
  /** The kind that the command to try gets. */
  readonly what: string;
}

async function mergeInto(path: string, entry: KubeconfigEntry, { keepCurrent, what }: MergeFlags): Promise<void> {
  await changeKubeconfig(path, (text) => mergeKubeconfig(text, entry, { path, use: !keepCurrent }));
  const flags = [...(isReadByKubectl(path) ? [] : ['--kubeconfig', path]), ...(keepCurrent ? ['--context', entry.name] : [])];
  const use = keepCurrent ? 'the context in use is as before' : 'it is the context in use';
  process.stdout.write(
    `context "${entry.name}" written to ${path}; ${use}\ntry it: ${['kubectl', ...flags, 'get', what].join(' ')}\n`,
  );
}

/** A file that has anything else than this entry is not overwritten. */
async function writeAlone(path: string, entry: KubeconfigEntry, what: string): Promise<void> {
  await changeKubeconfig(path, (text) => {
    const known = readKubeconfig(text, path);
    const others = Object.values(known ?? {}).some((list) => list.some(({ name }) => name !== entry.name));
    if (others) throw badRequest(`${path} has other contexts; nothing was changed: --merge ${path} adds to it`);
    return mergeKubeconfig('', entry, { path, use: true });
  });
  process.stdout.write(`context "${entry.name}" written to ${path}\ntry it: kubectl --kubeconfig ${path} get ${what}\n`);
}
