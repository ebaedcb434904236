import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ConfigError } from './config-error.ts';
import type { Context } from './context.ts';

/** Where a pod has its service account's token, the authorities' certificates, and the name of its namespace. */
const podFolder = '/var/run/secrets/kubernetes.io/serviceaccount';

/**
 * How a program in a pod reaches the API server as its pod's service account; undefined where there is no such pod: no
 * BERTH_ADDRESS, or no token. The token is read with each call, as it is renewed. Throws ConfigError when a file cannot
 * be read.
 */
export function loadInCluster(env: NodeJS.ProcessEnv = process.env, folder: string = podFolder): Context | undefined {
  const address = env.BERTH_ADDRESS;
  if (!address) return undefined;
  let last = readFile(folder, 'token');
  if (last === undefined) return undefined;
  const ca = readFile(folder, 'ca.crt');
  if (ca === undefined) throw new ConfigError(`read ${join(folder, 'ca.crt')}: no such file, beside the token of this pod`);
  const token = (): string => {
    last = readNow(folder) ?? last!;
    return last;
  };
  return {
    ...{ name: 'in-cluster', namespace: readFile(folder, 'namespace')?.trim() || 'default', warnings: [] },
    options: { address, ca, token },
    tokenFile: join(folder, 'token'),
  };
}

function readFile(folder: string, name: string): string | undefined {
  const path = join(folder, name);
  try {
    return readFileSync(path, 'utf8');
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw new ConfigError(`read ${path}: ${(cause as Error).message}`, { cause });
  }
}

/** The token as it is now; undefined where it cannot be read: the server judges the one before. */
function readNow(folder: string): string | undefined {
  try {
    return readFile(folder, 'token');
  } catch {
    return undefined;
  }
}
