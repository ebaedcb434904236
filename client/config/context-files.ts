import { readFileSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { privateFileProblem } from '../../api/meta/private-file.ts';
import type { ConnectOptions } from '../client.ts';
import { ConfigError } from './config-error.ts';
import type { ConfigCluster, ConfigUser } from './config-file.ts';

/** What a cluster and a user of a file come to. */
export interface Credentials {
  readonly options: ConnectOptions;
  /** Where the token is read from with each call. */
  readonly tokenFile: string | undefined;
  /** What its user should know of the files that it names. */
  readonly warnings: readonly string[];
}

const decode = (base64: string | undefined): string | undefined =>
  base64 === undefined ? undefined : Buffer.from(base64, 'base64').toString('utf8');

/**
 * How a user reaches a cluster, with what is in the files that they name; a path is relative to the folder of the
 * configuration. As in Kubernetes: data in the configuration come before a file of the same, the token of a file before
 * one in the configuration. Throws ConfigError for a file that cannot be read.
 */
export async function readCredentials(path: string, cluster: ConfigCluster, user: ConfigUser): Promise<Credentials> {
  const place = (file: string): string => resolve(dirname(path), file);
  const pem = (data: string | undefined, file: string | undefined): string | undefined =>
    data === undefined && file !== undefined ? readNamed(path, place(file)) : decode(data);
  const keyFile = user['client-key-data'] === undefined && user['client-key'] ? place(user['client-key']) : undefined;
  const tokenFile = user.tokenFile === undefined ? undefined : place(user.tokenFile);
  const options = {
    address: cluster.server.replace(/^https:\/\//, '').replace(/\/+$/, ''),
    ca: pem(cluster['certificate-authority-data'], cluster['certificate-authority'])!,
    cert: pem(user['client-certificate-data'], user['client-certificate']),
    key: pem(user['client-key-data'], user['client-key']),
    token: tokenFile === undefined ? user.token : tokenOf(path, tokenFile, user.token),
  };
  const exposed = keyFile && privateFileProblem(keyFile, statSync(keyFile), process.getuid?.());
  return { options, tokenFile, warnings: exposed ? [exposed] : [] };
}

function readNamed(path: string, file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (cause) {
    throw new ConfigError(`read ${file}, which ${path} names: ${(cause as Error).message}`, { cause });
  }
}

/** The token as it is in its file with each call; while that cannot be read, the one before. */
function tokenOf(path: string, file: string, otherwise: string | undefined): () => string {
  let last = otherwise;
  const read = (): string => {
    try {
      last = readNamed(path, file).trim();
    } catch (error) {
      if (last === undefined) throw error;
    }
    return last;
  };
  read();
  return read;
}
