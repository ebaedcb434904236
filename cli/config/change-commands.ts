import { readFile } from 'node:fs/promises';
import { badRequest } from '../../api/errors/index.ts';
import { changeConfig, configPath, readConfig } from '../../client/config/config.ts';
import type { ConfigFile } from '../../client/index.ts';
import { findEntry, type ListName, lists, usersOf, withFields, withoutEntry } from './entries.ts';
import { setProperty, unsetProperty } from './property.ts';

export interface ContextChange {
  readonly cluster?: string | undefined;
  readonly user?: string | undefined;
  readonly namespace?: string | undefined;
}

/** Makes a context, or changes one; without a name, the one in use. */
export async function setContext(name: string | undefined, change: ContextChange): Promise<void> {
  for (const part of ['cluster', 'user'] as const) if (change[part] === '') throw badRequest(`--${part} cannot be empty`);
  const { path, file } = await readConfig();
  const chosen = name ?? file?.['current-context'];
  if (!chosen) throw badRequest(`${path} has no current-context; choose one with "berth config use-context NAME"`);
  const isNew = file === undefined || findEntry(file, 'contexts', chosen) === undefined;
  if (isNew && name === undefined) throw badRequest(`${path} has no context "${chosen}", which its current-context names`);
  // What the command line does not name stays; an empty namespace is none, as for kubectl.
  const named = Object.entries(change).filter(([, value]) => value !== undefined);
  const given = Object.fromEntries(named.map(([field, value]) => [field, value === '' ? undefined : value]));
  await changeConfig((before) => withFields(before, 'contexts', chosen, given));
  process.stdout.write(`Context "${chosen}" ${isNew ? 'created' : 'modified'}.\n`);
}

export async function renameContext(from: string, to: string): Promise<void> {
  if (to === '') throw badRequest('a name cannot be empty');
  const path = configPath();
  await changeConfig((file) => {
    if (!findEntry(file, 'contexts', from)) throw badRequest(`cannot rename the context "${from}", it's not in ${path}`);
    if (findEntry(file, 'contexts', to))
      throw badRequest(`cannot rename the context "${from}", the context "${to}" already exists in ${path}`);
    return {
      ...file,
      contexts: file.contexts.map((entry) => (entry.name === from ? { ...entry, name: to } : entry)),
      'current-context': file['current-context'] === from ? to : file['current-context'],
    };
  });
  process.stdout.write(`Context "${from}" renamed to "${to}".\n`);
}

export async function deleteEntry(list: 'clusters' | 'users', name: string): Promise<void> {
  const { noun } = lists[list];
  const path = configPath();
  let using: string[] = [];
  await changeConfig((file) => {
    if (!findEntry(file, list, name)) throw badRequest(`cannot delete ${noun} ${name}, not in ${path}`);
    using = usersOf(file, noun, name);
    return withoutEntry(file, list, name);
  });
  for (const context of using) process.stderr.write(`warning: context "${context}" names it and no longer works\n`);
  process.stdout.write(`deleted ${noun} ${name} from ${path}\n`);
}

export interface ClusterFlags {
  readonly server?: string;
  readonly certificateAuthority?: string;
}

export async function setCluster(name: string, { server, certificateAuthority }: ClusterFlags): Promise<void> {
  if (server === undefined && certificateAuthority === undefined)
    throw badRequest('give --server, --certificate-authority, or both');
  const address = server?.replace(/^https:\/\//, '').replace(/\/+$/, '');
  if (address !== undefined && !/^[^/\s]+:\d+$/.test(address))
    throw badRequest(`--server takes HOST:PORT, e.g. 192.0.2.10:7443 or https://192.0.2.10:7443, not "${server}"`);
  await setFields('clusters', name, {
    ...(address !== undefined && { server: `https://${address}` }),
    ...(certificateAuthority !== undefined && { 'certificate-authority': undefined }),
    ...(await dataOf('certificate-authority-data', '--certificate-authority', certificateAuthority)),
  });
  process.stdout.write(`Cluster "${name}" set.\n`);
}

export interface CredentialFlags {
  readonly clientCertificate?: string;
  readonly clientKey?: string;
  readonly token?: string;
}

export async function setCredentials(name: string, { clientCertificate, clientKey, token }: CredentialFlags): Promise<void> {
  if (clientCertificate === undefined && clientKey === undefined && token === undefined)
    throw badRequest('give --client-certificate and --client-key, or --token');
  if (token === '') throw badRequest('--token cannot be empty');
  await setFields('users', name, {
    ...(clientCertificate !== undefined && { 'client-certificate': undefined }),
    ...(clientKey !== undefined && { 'client-key': undefined }),
    ...(token !== undefined && { tokenFile: undefined }),
    ...(await dataOf('client-certificate-data', '--client-certificate', clientCertificate)),
    ...(await dataOf('client-key-data', '--client-key', clientKey)),
    ...(token !== undefined && { token }),
  });
  process.stdout.write(`User "${name}" set.\n`);
}

/** Undefined takes a field away. */
async function setFields(list: ListName, name: string, fields: Readonly<Record<string, string | undefined>>): Promise<void> {
  if (name === '') throw badRequest('a name cannot be empty');
  await changeConfig((file) => withFields(file, list, name, fields));
}

/** The content of a PEM file as the contexts file holds it: files elsewhere may go, so it names none. */
async function dataOf(field: string, flag: string, path: string | undefined): Promise<Record<string, string>> {
  if (path === undefined) return {};
  const content = await readFile(path, 'utf8').catch((error: Error) => {
    throw badRequest(`${flag}: cannot read ${path}: ${error.message}`);
  });
  if (!content.includes('-----BEGIN ')) throw badRequest(`${flag}: ${path} is no PEM file`);
  return { [field]: Buffer.from(content).toString('base64') };
}

export async function set(property: string, value: string, raw: boolean): Promise<void> {
  await changeConfig((file: ConfigFile) => setProperty(file, property, value, raw));
  process.stdout.write(`Property "${property}" set.\n`);
}

export async function unset(property: string): Promise<void> {
  await changeConfig((file: ConfigFile) => unsetProperty(file, property));
  process.stdout.write(`Property "${property}" unset.\n`);
}
