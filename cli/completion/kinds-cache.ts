import { readFile } from 'node:fs/promises';
import { crc32 } from 'node:zlib';
import type { KindInfo } from '../../api/generated/types.ts';
import type { ConnectOptions } from '../../client/client.ts';
import { cachePath } from './cache-path.ts';

/** Which server it was: another one may come to have the same address, with an authority of its own. */
type Server = Pick<ConnectOptions, 'address' | 'ca'>;

/** What is known for so long is offered without asking again, as kubectl does. */
const keptMs = 10 * 60_000;

/** `$XDG_CACHE_HOME/berth/kinds.json`, or that below `~/.cache`. */
export function kindsCachePath(env: NodeJS.ProcessEnv = process.env): string {
  return cachePath('kinds.json', env);
}

/**
 * The kinds that the server told a completion not long ago; undefined where the file has those of another server, is
 * too old or cannot be read.
 */
export async function readKindsCache(server: Server, now: number, path: string): Promise<KindInfo[] | undefined> {
  try {
    const kept: unknown = JSON.parse(await readFile(path, 'utf8'));
    const { of, at, kinds } = kept as { of?: unknown; at?: number; kinds?: unknown };
    // One from the future was written by a clock that was wrong.
    if (of !== nameOf(server) || typeof at !== 'number' || at > now || now - at >= keptMs) return undefined;
    return Array.isArray(kinds) && kinds.every(isKind) ? kinds : undefined;
  } catch {
    return undefined;
  }
}

/** Keeps the kinds of one server, that of the last answer. Where no file can be written every completion asks. */
export async function writeKindsCache(server: Server, kinds: readonly KindInfo[], now: number, path: string): Promise<void> {
  try {
    const { writeSecretFile } = await import('../../client/config/write-secret-file.ts');
    await writeSecretFile(path, JSON.stringify({ of: nameOf(server), at: now, kinds }));
  } catch {
    return;
  }
}

const nameOf = ({ address, ca }: Server): string => `${address} ${crc32(ca)}`;

function isKind(value: unknown): value is KindInfo {
  if (typeof value !== 'object' || value === null) return false;
  const { apiVersion, kind, plural, singular, shortNames = [] } = value as KindInfo;
  return (
    [apiVersion, kind, plural, singular].every((text) => typeof text === 'string') &&
    Array.isArray(shortNames) &&
    shortNames.every((text) => typeof text === 'string')
  );
}
