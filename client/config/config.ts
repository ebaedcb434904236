import { createReadStream, readdirSync, readFileSync, rmdirSync, rmSync, statSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { maxSettingsBytes, settingsText } from '../../api/codec/settings-text.ts';
import { privateFileProblem } from '../../api/meta/private-file.ts';
import type { ConnectOptions } from '../client.ts';
import { ConfigError } from './config-error.ts';
import { type ConfigCluster, type ConfigFile, emptyConfig, parseConfig, printConfig } from './config-file.ts';
import { configPath } from './config-path.ts';
import type { Context } from './context.ts';
import { readCredentials } from './context-files.ts';
import { loadInCluster } from './in-cluster.ts';

export { ConfigError } from './config-error.ts';
export { configPath } from './config-path.ts';
export type { Context } from './context.ts';

export interface ContextSummary {
  readonly name: string;
  readonly cluster: string;
  readonly user: string;
  readonly namespace: string;
  readonly current: boolean;
}

/** What `upsertContext` writes: the context and, under the same name, its cluster and its user. */
export interface NewContext {
  readonly name: string;
  readonly options: ConnectOptions;
  /** Where its server listens for programs of the same user. */
  readonly socket?: string | undefined;
  readonly namespace?: string;
  /** Whether it becomes the current context. */
  readonly use: boolean;
}

async function read(path: string): Promise<ConfigFile | undefined> {
  let text: string;
  try {
    text = await settingsText(bytesOf(path));
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw new ConfigError(`read ${path}: ${(cause as Error).message}`, { cause });
  }
  return parseConfig(text, path);
}

/** A file at once, which takes a short command less time than a stream; what may never end (a pipe) as a stream. */
function bytesOf(path: string): Iterable<Uint8Array> | AsyncIterable<Uint8Array> {
  const facts = statSync(path);
  return facts.isFile() && facts.size <= maxSettingsBytes
    ? [readFileSync(path)]
    : createReadStream(path, { end: maxSettingsBytes });
}

/** Most commands only read: what writes is loaded when it is needed. */
async function write(path: string, content: string): Promise<void> {
  const { writeSecretFile } = await import('./write-secret-file.ts');
  await writeSecretFile(path, content);
}

const encode = (text: string): string => Buffer.from(text, 'utf8').toString('base64');

const howToGetOne =
  'start a cluster with "berth up", take a file that "berth create user NAME --file FILE" writes where one runs, or set BERTH_CONFIG';

const howToGetToken = 'in a pod, automountServiceAccountToken: true gives it a token';

/**
 * Reads a context, by default the current one; without a file, in a pod, its service account. Throws ConfigError saying
 * which file and what to do.
 */
export async function loadContext(
  name?: string,
  path: string = configPath(),
  inCluster: () => Context | undefined = loadInCluster,
): Promise<Context> {
  const file = await read(path);
  const own = file || name !== undefined ? undefined : inCluster();
  if (own) return own;
  if (!file) {
    const remedy = process.env.BERTH_ADDRESS ? howToGetToken : howToGetOne;
    throw new ConfigError(`read ${path}: no such file; ${remedy}`);
  }
  return await resolveContext({ path, file }, name, undefined);
}

/** The same with another user of the file in place of the context's. */
export async function loadContextAs(user: string, name?: string, path: string = configPath()): Promise<Context> {
  const file = await read(path);
  if (!file) throw new ConfigError(`read ${path}: no such file; it would name the user "${user}"`);
  return await resolveContext({ path, file }, name, user);
}

async function resolveContext(
  { path, file }: { readonly path: string; readonly file: ConfigFile },
  name: string | undefined,
  userName: string | undefined,
): Promise<Context> {
  const wanted = name ?? file['current-context'];
  const known = file.contexts.map((context) => context.name).join(', ') || 'none';
  if (!wanted)
    throw new ConfigError(`${path} has no current-context; choose one with "berth config use-context NAME" (known: ${known})`);
  const context = file.contexts.find((entry) => entry.name === wanted)?.context;
  if (!context) throw new ConfigError(`${path} has no context "${wanted}" (known: ${known})`);
  const cluster = file.clusters.find((entry) => entry.name === context.cluster)?.cluster;
  if (!cluster)
    throw new ConfigError(`${path}: context "${wanted}" names cluster "${context.cluster}", which the file does not have`);
  const user = file.users.find((entry) => entry.name === (userName ?? context.user))?.user;
  if (!user && userName !== undefined) {
    const users = file.users.map((entry) => entry.name).join(', ') || 'none';
    throw new ConfigError(`${path} has no user "${userName}" (known: ${users})`);
  }
  if (!user) throw new ConfigError(`${path}: context "${wanted}" names user "${context.user}", which the file does not have`);
  const exposed = privateFileProblem(path, statSync(path), process.getuid?.());
  const { options, tokenFile, warnings } = await readCredentials(path, cluster, user);
  return {
    name: wanted,
    namespace: context.namespace ?? 'default',
    warnings: [...(exposed === undefined ? [] : [exposed]), ...warnings],
    options,
    socket: cluster['berth-socket'],
    tokenFile,
  };
}

/** The whole file, with what is secret in it, and where it is; no file: undefined. */
export async function readConfig(path: string = configPath()): Promise<{ path: string; file: ConfigFile | undefined }> {
  return { path, file: await read(path) };
}

/** All contexts; none when there is no file. */
export async function listContexts(path: string = configPath()): Promise<ContextSummary[]> {
  const file = await read(path);
  return (file?.contexts ?? []).map(({ name, context }) => ({
    name,
    cluster: context.cluster,
    user: context.user,
    namespace: context.namespace ?? 'default',
    current: name === file?.['current-context'],
  }));
}

/**
 * Adds or replaces a context with its cluster and user; makes the file where there is none. What else it holds stays.
 */
export async function upsertContext(context: NewContext, path: string = configPath()): Promise<void> {
  const { name, options, socket, namespace, use } = context;
  const file = (await read(path)) ?? emptyConfig();
  const others = <E extends { name: string }>(entries: readonly E[]) => entries.filter((entry) => entry.name !== name);
  const user = {
    ...(options.cert === undefined ? {} : { 'client-certificate-data': encode(options.cert) }),
    ...(options.key === undefined ? {} : { 'client-key-data': encode(options.key) }),
    ...(typeof options.token === 'string' ? { token: options.token } : {}),
  };
  const cluster = {
    server: `https://${options.address}`,
    'certificate-authority-data': encode(options.ca),
    ...(socket === undefined ? {} : { 'berth-socket': socket }),
  };
  await write(
    path,
    await printConfig({
      ...file,
      clusters: [...others(file.clusters), { name, cluster }],
      users: [...others(file.users), { name, user }],
      contexts: [...others(file.contexts), { name, context: { cluster: name, user: name, ...(namespace ? { namespace } : {}) } }],
      'current-context': use ? name : file['current-context'],
    }),
  );
}

/**
 * Writes the file anew as `change` makes it of the present one; of none, of an empty one.
 * What `change` throws leaves the file as it is.
 */
export async function changeConfig(change: (file: ConfigFile) => ConfigFile, path: string = configPath()): Promise<void> {
  const next = change((await read(path)) ?? emptyConfig());
  await write(path, await printConfig(next));
}

/** Makes a context the current one. */
export async function useContext(name: string, path: string = configPath()): Promise<void> {
  const file = await read(path);
  if (!file?.contexts.some((entry) => entry.name === name)) throw noContext(`use context "${name}"`, path, file);
  await write(path, await printConfig({ ...file, 'current-context': name }));
}

/** Changes the namespace that commands of a context work in when they name none. */
export async function setContextNamespace(name: string, namespace: string, path: string = configPath()): Promise<void> {
  const file = await read(path);
  if (!file?.contexts.some((entry) => entry.name === name)) throw noContext(`set context "${name}"`, path, file);
  const contexts = file.contexts.map((entry) =>
    entry.name === name ? { ...entry, context: { ...entry.context, namespace } } : entry,
  );
  await write(path, await printConfig({ ...file, contexts }));
}

/** Changes whom a context trusts (PEM), and with it the others that share its cluster. */
export async function setContextAuthorities(name: string, ca: string, path: string = configPath()): Promise<void> {
  const file = await read(path);
  const context = file?.contexts.find((entry) => entry.name === name)?.context;
  if (!file || !context) throw noContext(`change context "${name}"`, path, file);
  const clusters = file.clusters.map((entry) =>
    entry.name === context.cluster
      ? { ...entry, cluster: { ...withoutFile(entry.cluster), 'certificate-authority-data': encode(ca) } }
      : entry,
  );
  await write(path, await printConfig({ ...file, clusters }));
}

function withoutFile({ 'certificate-authority': _file, ...others }: ConfigCluster): ConfigCluster {
  return others;
}

function noContext(what: string, path: string, file: ConfigFile | undefined): ConfigError {
  const known = file?.contexts.map((entry) => entry.name).join(', ') || 'none';
  return new ConfigError(`${what}: ${path} has no such context (known: ${known})`);
}

/**
 * Removes a context, and its cluster and user unless another context uses them; the file goes with the last one. Does
 * nothing when there is none of this name.
 */
export async function removeContext(name: string, path: string = configPath()): Promise<void> {
  const file = await read(path);
  if (!file?.contexts.some((entry) => entry.name === name)) return;
  const contexts = file.contexts.filter((entry) => entry.name !== name);
  if (contexts.length === 0) return removeFile(path);
  const used = (part: 'cluster' | 'user') => new Set(contexts.map((entry) => entry.context[part]));
  const was = file.contexts.find((entry) => entry.name === name)!.context;
  await write(
    path,
    await printConfig({
      ...file,
      contexts,
      clusters: file.clusters.filter((entry) => entry.name !== was.cluster || used('cluster').has(entry.name)),
      users: file.users.filter((entry) => entry.name !== was.user || used('user').has(entry.name)),
      'current-context': file['current-context'] === name ? undefined : file['current-context'],
    }),
  );
}

/** The folder goes too when it is Berth's own and nothing else is in it. */
function removeFile(path: string): void {
  rmSync(path, { force: true });
  const folder = dirname(path);
  if (basename(folder) !== '.berth') return;
  if (readdirSync(folder).length === 0) rmdirSync(folder);
}
