import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { badRequest } from '../../api/errors/index.ts';
import type { ConfigFile } from '../../client/index.ts';

const embedded = ['certificate-authority', 'client-certificate', 'client-key'] as const;

/**
 * The contexts file of that path with the content of the files that it names. A file with a token stays named, as it
 * may change. Throws INVALID_ARGUMENT for one that cannot be read.
 */
export function flattenConfig(file: ConfigFile, path: string): ConfigFile {
  return {
    ...file,
    clusters: file.clusters.map((entry) => ({ ...entry, cluster: withContent(entry.cluster, path) })),
    users: file.users.map((entry) => ({ ...entry, user: withContent(entry.user, path) })),
  };
}

function withContent<T extends object>(fields: T, path: string): T {
  const flat = { ...fields } as Record<string, unknown>;
  for (const name of embedded) {
    const named = flat[name];
    if (typeof named !== 'string') continue;
    flat[`${name}-data`] ??= read(resolve(dirname(path), named)).toString('base64');
    delete flat[name];
  }
  return flat as T;
}

function read(file: string): Buffer {
  try {
    return readFileSync(file);
  } catch (error) {
    throw badRequest(`cannot read ${file}: ${(error as Error).message}`);
  }
}
