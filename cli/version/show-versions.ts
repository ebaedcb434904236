import type { Command } from 'commander';
import { badRequest, isNotFound, isUnimplemented } from '../../api/errors/index.ts';
import { readVersionInfo, type VersionInfo, versionInfo } from '../../api/meta/version-info.ts';
import { areTooFarApart } from '../../api/meta/version-skew.ts';
import type { PagesClient } from '../../client/index.ts';
import { withSession } from '../session.ts';

export interface VersionFlags {
  readonly client?: boolean;
  readonly output?: 'json' | 'yaml';
}

interface Versions {
  readonly clientVersion: VersionInfo;
  readonly serverVersion?: VersionInfo;
}

/**
 * Prints the versions of both sides. That of this program is shown also where the server's cannot be had,
 * whose error is thrown then.
 */
export async function showVersions(command: Command, version: string, { client, output }: VersionFlags): Promise<void> {
  const clientVersion = versionInfo(version);
  if (client) return await print({ clientVersion }, output);
  let serverVersion: VersionInfo;
  try {
    serverVersion = await askVersion(command);
  } catch (error) {
    await print({ clientVersion }, output);
    throw error;
  }
  await print({ clientVersion, serverVersion }, output);
  const warning = describeSkew(clientVersion, serverVersion);
  if (warning) process.stderr.write(`${warning}\n`);
}

async function askVersion(command: Command): Promise<VersionInfo> {
  let found: VersionInfo | undefined;
  await withSession(command, async (session) => {
    found = await readServerVersion(session.client.pages);
  });
  return found!;
}

/** What the server says of itself. Throws ApiError. */
export async function readServerVersion(pages: PagesClient): Promise<VersionInfo> {
  try {
    const { body } = await pages.get('/version');
    const info = readVersionInfo(body.toString('utf8'));
    if (info === undefined) throw badRequest(`the server's version cannot be read: ${body.toString('utf8', 0, 100)}`);
    return info;
  } catch (error) {
    if (!isUnimplemented(error) && !isNotFound(error)) throw error;
    throw badRequest('the server is older than this command and does not tell its version');
  }
}

/** kubectl's warning; undefined for versions that go together. */
export function describeSkew(client: VersionInfo, server: VersionInfo): string | undefined {
  if (!areTooFarApart(client.gitVersion, server.gitVersion)) return undefined;
  const [ours, theirs] = [client, server].map(({ major, minor }) => `${major}.${minor}`);
  return `WARNING: version difference between client (${ours}) and server (${theirs}) exceeds the supported minor version skew of +/-1`;
}

async function print(versions: Versions, output: VersionFlags['output']): Promise<void> {
  process.stdout.write(await versionText(versions, output));
}

async function versionText(versions: Versions, output: VersionFlags['output']): Promise<string> {
  if (output === 'json') return `${JSON.stringify(versions, null, 2)}\n`;
  if (output === 'yaml') return (await import('yaml')).stringify(versions);
  const { clientVersion, serverVersion } = versions;
  const server = serverVersion ? `Server Version: ${serverVersion.gitVersion}\n` : '';
  return `Client Version: ${clientVersion.gitVersion}\n${server}`;
}
