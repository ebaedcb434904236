import { X509Certificate } from 'node:crypto';
import { constants } from 'node:fs';
import { access, readdir, readFile, stat, statfs } from 'node:fs/promises';
import { createServer } from 'node:net';
import { release } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { givenEntries, ownEntries } from '../data-dir.ts';
import { neededPrograms } from '../pod-network/programs.ts';
import { identifyEngine } from '../runtime/docker/identify.ts';
import type { Firewall, NetworkFacts } from './decide-network.ts';
import type { CertificateFacts, Facts, FolderFacts, OtherBerth, PortFacts } from './facts.ts';
import { findPortHolder } from './port-holder.ts';

export interface PreflightInput {
  readonly dataDir: string;
  /** Where a server is to listen; undefined: none is to. */
  readonly listen: { readonly host: string; readonly port: number } | undefined;
  readonly nodeName: string;
  /** Whether the installation's own server runs: then its port is taken as it should be. */
  readonly serverRuns: boolean;
  readonly others: readonly OtherBerth[];
  /** Whether pods are to have the routed network. */
  readonly isRouted?: boolean | undefined;
}

/** Reads the machine. Changes nothing on it. */
export async function probe(input: PreflightInput): Promise<Facts> {
  const { dataDir, nodeName } = input;
  const [engine, controllers, certificates, folder, port, ranNodeBefore, network] = await Promise.all([
    identifyEngine(nodeName),
    readControllers(),
    readCertificates(join(dataDir, 'pki')),
    readFolder(dataDir),
    readPort(input),
    exists(join(dataDir, 'node', nodeName)),
    input.isRouted ? readNetwork() : undefined,
  ]);
  return {
    nodeVersion: process.versions.node,
    uid: process.getuid?.() ?? 0,
    dockerAddress: process.env.DOCKER_HOST || 'unix:///var/run/docker.sock',
    engine,
    controllers,
    nowMs: Date.now(),
    certificates,
    dataDir: folder,
    dockerRoot: engine.kind === 'answers' ? await readDockerRoot(engine.rootDir) : undefined,
    port,
    nodeName,
    ranNodeBefore,
    others: input.others,
    network,
  };
}

const codeOf = (error: unknown): string => (error as NodeJS.ErrnoException).code ?? String(error);

async function exists(path: string): Promise<boolean> {
  try {
    await stat(path);
    return true;
  } catch {
    // Not there, or not for us to see: no proof that it ran.
    return false;
  }
}

async function readText(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch {
    // Unreadable facts are omitted from the decision.
    return undefined;
  }
}

async function readNetwork(): Promise<NetworkFacts> {
  const folders = (process.env.PATH ?? '').split(delimiter).filter(Boolean);
  const isThere = async (name: string): Promise<boolean> =>
    (await Promise.all(folders.map((folder) => exists(join(folder, name))))).includes(true);
  const found = await Promise.all(neededPrograms.map(({ name }) => isThere(name)));
  return { kernel: release(), missing: neededPrograms.filter((_, index) => !found[index]), firewall: await readFirewall() };
}

async function readFirewall(): Promise<Firewall | undefined> {
  if (/^ENABLED=yes$/im.test((await readText('/etc/ufw/ufw.conf')) ?? '')) return 'ufw';
  const processes = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const names = await Promise.all(processes.map((pid) => readText(`/proc/${pid}/comm`)));
  return names.some((name) => name?.trim() === 'firewalld') ? 'firewalld' : undefined;
}

/** cgroup v2 lists its controllers in one file; else the kernel's table says which are enabled. */
async function readControllers(): Promise<string[]> {
  const unified = await readText('/sys/fs/cgroup/cgroup.controllers');
  return unified === undefined ? parseControllers((await readText('/proc/cgroups')) ?? '') : unified.split(/\s+/).filter(Boolean);
}

/** Lines of "name hierarchy number enabled". */
export function parseControllers(table: string): string[] {
  return table
    .split('\n')
    .map((line) => line.split(/\s+/))
    .filter(([name, , , enabled]) => name && !name.startsWith('#') && enabled === '1')
    .map(([name]) => name as string);
}

async function readCertificates(pki: string): Promise<CertificateFacts[]> {
  const found: CertificateFacts[] = [];
  for (const name of ['ca.crt', 'server.crt', 'admin.crt']) {
    const text = await readText(join(pki, name));
    if (text === undefined) continue;
    try {
      const { validFrom, validTo } = new X509Certificate(text);
      found.push({ name, notBeforeMs: Date.parse(validFrom), notAfterMs: Date.parse(validTo) });
    } catch {
      // A damaged certificate says nothing about the clock; the server names it when it starts.
    }
  }
  return found;
}

/** The folder, or the nearest one above it that exists: there it would be made. */
async function readFolder(path: string): Promise<FolderFacts> {
  const facts = { path, ownerUid: undefined, strangers: [], freeBytes: undefined, freeInodes: undefined };
  for (let at = path; ; at = dirname(at)) {
    try {
      const { uid } = await stat(at);
      const names = await readdir(at);
      await access(at, constants.W_OK | constants.X_OK);
      const isOurs = names.some((name) => ownEntries.includes(name));
      const strangers = at !== path || isOurs ? [] : names.filter((name) => ![...givenEntries, 'lost+found'].includes(name));
      return { ...facts, errno: undefined, ownerUid: at === path ? uid : undefined, strangers, ...(await readSpace(at)) };
    } catch (error) {
      if (codeOf(error) !== 'ENOENT' || at === dirname(at)) return { ...facts, errno: codeOf(error) };
    }
  }
}

async function readDockerRoot(path: string): Promise<FolderFacts | undefined> {
  try {
    return { path, errno: undefined, ownerUid: undefined, strangers: [], ...(await readSpace(path)) };
  } catch {
    // Only root may look there on some machines; the engine itself then tells when it is full.
    return undefined;
  }
}

/** Some file systems have no number of files: they say 0 of 0. */
async function readSpace(path: string): Promise<Pick<FolderFacts, 'freeBytes' | 'freeInodes'>> {
  const { bavail, bsize, files, ffree } = await statfs(path);
  return { freeBytes: bavail * bsize, freeInodes: files > 0 ? ffree : undefined };
}

/** Listens for a moment: nothing else tells for sure. */
async function readPort({ listen, serverRuns }: PreflightInput): Promise<PortFacts | undefined> {
  if (listen === undefined) return undefined;
  const address = `${listen.host.includes(':') ? `[${listen.host}]` : listen.host}:${listen.port}`;
  const free = { address, errno: undefined, holder: undefined };
  if (serverRuns) return free;
  const server = createServer();
  try {
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen({ host: listen.host, port: listen.port, exclusive: true }, resolve);
    });
    return free;
  } catch (error) {
    const errno = codeOf(error);
    return { address, errno, holder: errno === 'EADDRINUSE' ? await findPortHolder(listen.port) : undefined };
  } finally {
    if (server.listening) await new Promise((resolve) => server.close(resolve));
  }
}
